//! Drawing of ratios to the baseline: a panel for each figure, a dot and a whisker a target.

use super::{
    Area, Drawn, FAINT, FAINT_INK, GRID, HEADING, HPos, INK, LABEL, LINE, MARGIN, RADIUS, WIDTH, line, marker, text,
};
use crate::report::charts::{RatioGroup, RatioMark, Ratios};
use plotters::prelude::{Color, Rectangle};

const ROW: i32 = 24;
const HEADING_HEIGHT: i32 = 26;
const FIGURE_HEIGHT: i32 = 20;
const GAP: i32 = 8;
const AXIS_HEIGHT: i32 = 26;

pub fn height(ratios: &Ratios) -> i32 {
    ratios.groups.iter().map(group_height).sum::<i32>() + AXIS_HEIGHT
}

fn group_height(group: &RatioGroup) -> i32 {
    let heading = if group.heading.is_empty() { 0 } else { HEADING_HEIGHT };
    heading + FIGURE_HEIGHT + group.rows.len() as i32 * ROW + GAP
}

/// Left and right end of a panel's axis; labels stand to the right of it.
type Panel = (i32, i32);

pub fn draw(ratios: &Ratios, area: &Area, top: i32) -> Drawn {
    let rows = || ratios.groups.iter().flat_map(|group| &group.rows);
    let names = rows().map(|row| LABEL.width(&row.name)).max().unwrap_or(0).min(WIDTH / 6);
    let marks = rows().flat_map(|row| row.marks.iter().flatten());
    let labels = marks.map(|mark| LABEL.width(&mark.label)).max().unwrap_or(0).min(WIDTH / 5);
    let left = MARGIN + names + 10;
    let count = ratios.groups.iter().map(|group| group.figures.len()).max().unwrap_or(1).max(1) as i32;
    let each = (WIDTH - MARGIN - left) / count;
    let panel = |number: i32| (left + number * each, left + (number + 1) * each - labels - 20);
    let panels: Vec<Panel> = (0..count).map(panel).collect();
    let mut y = top;
    for group in &ratios.groups {
        draw_group(group, ratios, area, &panels, names, y)?;
        y += group_height(group);
    }
    for (left, right) in panels {
        for (ratio, label) in ratios.scale.ticks() {
            text(area, (place(ratios, (left, right), ratio), y + 11), &label, FAINT, HPos::Center)?;
        }
    }
    Ok(())
}

fn place(ratios: &Ratios, (left, right): Panel, ratio: f64) -> i32 {
    left + (ratios.scale.place(ratio) * f64::from(right - left)).round() as i32
}

fn draw_group(group: &RatioGroup, ratios: &Ratios, area: &Area, panels: &[Panel], names: i32, top: i32) -> Drawn {
    let mut y = top;
    if !group.heading.is_empty() {
        let heading = HEADING.cut(&group.heading, WIDTH - 2 * MARGIN);
        text(area, (MARGIN, y + HEADING_HEIGHT / 2), &heading, HEADING, HPos::Left)?;
        y += HEADING_HEIGHT;
    }
    let (rows, bottom) = (y + FIGURE_HEIGHT, y + FIGURE_HEIGHT + group.rows.len() as i32 * ROW);
    for (panel, figure) in panels.iter().zip(&group.figures) {
        text(area, (panel.0, y + FIGURE_HEIGHT / 2), figure, FAINT, HPos::Left)?;
        let of = |ratio: f64| place(ratios, *panel, ratio);
        let (from, to) = (of(1.0 / (1.0 + ratios.margin)), of(1.0 + ratios.margin));
        area.draw(&Rectangle::new([(from, rows), (to, bottom)], FAINT_INK.mix(0.12).filled()))?;
        for (ratio, _) in ratios.scale.ticks() {
            line(area, (of(ratio), rows), (of(ratio), bottom), if ratio == 1.0 { LINE } else { GRID }, 1)?;
        }
    }
    for (index, row) in group.rows.iter().enumerate() {
        let y = rows + index as i32 * ROW + ROW / 2;
        text(area, (panels[0].0 - 10, y), &LABEL.cut(&row.name, names), LABEL, HPos::Right)?;
        for (panel, mark) in panels.iter().zip(&row.marks) {
            if let Some(mark) = mark {
                draw_mark(mark, row.number, area, (panel.1, y), |ratio| place(ratios, *panel, ratio))?;
            }
        }
    }
    Ok(())
}

fn draw_mark(mark: &RatioMark, number: usize, area: &Area, (right, y): (i32, i32), of: impl Fn(f64) -> i32) -> Drawn {
    let (low, high) = (of(mark.low), of(mark.high));
    line(area, (low, y), (high, y), INK, 1)?;
    for end in [low, high] {
        line(area, (end, y - 3), (end, y + 3), INK, 1)?;
    }
    marker(area, number, (of(mark.ratio), y), RADIUS, !mark.is_answered)?;
    text(area, (right + 10, y), &mark.label, LABEL, HPos::Left)
}
