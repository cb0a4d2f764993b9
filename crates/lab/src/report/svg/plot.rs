//! A plot of points over two scales: places, horizontal lines with their labels, the frame, and labels below.

use super::{Area, Drawn, FAINT, GRID, HPos, LINE, MARGIN, WIDTH, line, text};
use crate::report::charts::Scale;

pub(super) const LEFT: i32 = MARGIN + 62;
pub(super) const RIGHT: i32 = WIDTH - MARGIN;

/// A plot and its scales.
pub(super) struct Plot<'a> {
    pub top: i32,
    pub height: i32,
    /// Distance of the outermost points from the frame.
    pub inset: i32,
    pub x: &'a Scale,
    pub y: &'a Scale,
}

impl Plot<'_> {
    pub fn x(&self, x: f64) -> i32 {
        let width = f64::from(RIGHT - LEFT - 2 * self.inset);
        LEFT + self.inset + (self.x.place(x) * width).round() as i32
    }

    pub fn y(&self, y: f64) -> i32 {
        self.bottom() - (self.y.place(y) * f64::from(self.height)).round() as i32
    }

    pub fn at(&self, x: f64, y: f64) -> (i32, i32) {
        (self.x(x), self.y(y))
    }

    pub fn bottom(&self) -> i32 {
        self.top + self.height
    }

    /// Horizontal lines with their labels, and the frame.
    pub fn ground(&self, area: &Area, label: impl Fn(f64) -> String) -> Drawn {
        for tick in &self.y.ticks {
            let y = self.y(*tick);
            line(area, (LEFT, y), (RIGHT, y), GRID, 1)?;
            text(area, (LEFT - 6, y), &tick_label(*tick, &label), FAINT, HPos::Right)?;
        }
        line(area, (LEFT, self.top), (LEFT, self.bottom()), LINE, 1)?;
        line(area, (LEFT, self.bottom()), (RIGHT, self.bottom()), LINE, 1)
    }

    /// Labels below, as many as fit, and what they are.
    pub fn axis(&self, area: &Area, label: impl Fn(f64) -> String, title: &str) -> Drawn {
        let y = self.bottom() + 12;
        let mut free = i32::MIN;
        for tick in &self.x.ticks {
            let (label, x) = (tick_label(*tick, &label), self.x(*tick));
            if x - FAINT.width(&label) / 2 > free {
                text(area, (x, y), &label, FAINT, HPos::Center)?;
                free = x + FAINT.width(&label) / 2 + 6;
            }
        }
        let scale = if self.x.is_log { " (log scale)" } else { "" };
        text(area, ((LEFT + RIGHT) / 2, y + 18), &format!("{title}{scale}"), FAINT, HPos::Center)
    }
}

fn tick_label(tick: f64, label: impl Fn(f64) -> String) -> String {
    if tick == 0.0 { "0".to_owned() } else { label(tick) }
}
