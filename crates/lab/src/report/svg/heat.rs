//! Drawing of heat maps: a grid for each policy, loads from left to right, the share in percent in each cell.

use super::{Area, Drawn, FAINT, HEADING, HPos, INK, LABEL, MARGIN, Type, WIDTH, text};
use crate::format::ABSENT;
use crate::report::charts::Heat;
use plotters::prelude::{Color, RGBColor, Rectangle};

const ROW: i32 = 24;
const HEADING_HEIGHT: i32 = 28;
const AXIS_HEIGHT: i32 = 24;
const GAP: i32 = 8;

pub fn height(heat: &Heat) -> i32 {
    heat.panels.iter().map(|panel| HEADING_HEIGHT + panel.rows.len() as i32 * ROW + GAP).sum::<i32>() + AXIS_HEIGHT
}

pub fn draw(heat: &Heat, area: &Area, top: i32) -> Drawn {
    let names = heat.panels.iter().flat_map(|panel| &panel.rows).map(|(name, _)| LABEL.width(name));
    let names = names.max().unwrap_or(0).min(WIDTH / 5);
    let left = MARGIN + names + 10;
    let wide = f64::from(WIDTH - MARGIN - left) / heat.loads.len().max(1) as f64;
    let column = |index: usize| left + (wide * index as f64).round() as i32;
    let mut y = top;
    for panel in &heat.panels {
        let heading = HEADING.cut(&panel.policy, WIDTH - 2 * MARGIN);
        text(area, (MARGIN, y + HEADING_HEIGHT / 2), &heading, HEADING, HPos::Left)?;
        y += HEADING_HEIGHT;
        for (name, shares) in &panel.rows {
            text(area, (left - 8, y + ROW / 2), &LABEL.cut(name, names), LABEL, HPos::Right)?;
            for (index, share) in shares.iter().enumerate() {
                draw_cell(area, *share, (column(index), column(index + 1)), y)?;
            }
            y += ROW;
        }
        y += GAP;
    }
    for (index, load) in heat.loads.iter().enumerate() {
        let middle = (column(index) + column(index + 1)) / 2;
        text(area, (middle, y + AXIS_HEIGHT / 2 - 4), load, FAINT, HPos::Center)?;
    }
    Ok(())
}

fn draw_cell(area: &Area, share: Option<f64>, (left, right): (i32, i32), y: i32) -> Drawn {
    let middle = ((left + right) / 2, y + ROW / 2);
    let Some(share) = share else { return text(area, middle, ABSENT, FAINT, HPos::Center) };
    let (ground, ink) = colours(share);
    area.draw(&Rectangle::new([(left + 1, y + 1), (right - 1, y + ROW - 1)], ground.filled()))?;
    text(area, middle, &format!("{:.0}", share * 100.0), Type { colour: ink, ..LABEL }, HPos::Center)
}

/// Blue up to the limit, from light to dark; beyond it from orange to dark red at ten times the limit.
fn colours(share: f64) -> (RGBColor, RGBColor) {
    let mix = |from: RGBColor, to: RGBColor, part: f64| {
        let of = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
        RGBColor(of(from.0, to.0), of(from.1, to.1), of(from.2, to.2))
    };
    if share <= 1.0 {
        return (mix(RGBColor(0xEE, 0xF5, 0xFB), RGBColor(0x7F, 0xB3, 0xDE), share.max(0.0)), INK);
    }
    let part = share.log10().min(1.0);
    let ink = if part > 0.5 { RGBColor(0xFF, 0xFF, 0xFF) } else { INK };
    (mix(RGBColor(0xF5, 0xB0, 0x5A), RGBColor(0x8E, 0x1B, 0x1B), part), ink)
}
