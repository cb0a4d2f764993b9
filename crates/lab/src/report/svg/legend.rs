//! Legend of a line chart, beneath the plots in as many columns as the longest name allows.

use super::markers::{RADIUS, colour, marker};
use super::{Area, Drawn, FAINT, LABEL, MARGIN, Side, WIDTH, line, text};

#[derive(Debug, Clone, PartialEq)]
pub struct Legend {
    targets: Vec<(usize, String)>,
    remark: String,
}

const ROW: i32 = 21;
const LINE: i32 = 24;
/// Space between line and name, and between name and next line.
const GAPS: (i32, i32) = (8, 16);

impl Legend {
    /// Removes duplicate targets and sorts them in plan order.
    pub fn new<'a>(targets: impl Iterator<Item = (usize, &'a str)>, remarks: &[&str]) -> Self {
        let mut targets: Vec<_> = targets.map(|(number, name)| (number, LABEL.cut(name, WIDTH / 2))).collect();
        targets.sort();
        targets.dedup();
        Self { targets, remark: remarks.join("; ") }
    }

    fn step(&self) -> i32 {
        LINE + GAPS.0 + GAPS.1 + self.targets.iter().map(|(_, name)| LABEL.width(name)).max().unwrap_or(0)
    }

    fn columns(&self) -> i32 {
        ((WIDTH - 2 * MARGIN) / self.step()).max(1)
    }

    fn rows(&self) -> i32 {
        (self.targets.len() as i32 + self.columns() - 1) / self.columns()
    }

    pub fn height(&self) -> i32 {
        ROW * (self.rows() + i32::from(!self.remark.is_empty()))
    }

    /// Draws the legend; `top` is the middle of its first row.
    pub fn draw(&self, area: &Area, top: i32) -> Drawn {
        for (index, (number, name)) in (0..).zip(&self.targets) {
            let (x, y) = (MARGIN + index % self.columns() * self.step(), top + index / self.columns() * ROW);
            line(area, (x, y), (x + LINE, y), colour(*number), 2)?;
            marker(area, *number, (x + LINE / 2, y), RADIUS, false)?;
            text(area, (x + LINE + GAPS.0, y), name, LABEL, Side::Left)?;
        }
        if self.remark.is_empty() {
            return Ok(());
        }
        text(area, (MARGIN, top + self.rows() * ROW), &self.remark, FAINT, Side::Left)
    }
}
