//! Drawing of target markers.

use super::{Area, Drawn};
use crate::report::charts::{COLOURS, SHAPES};
use plotters::prelude::{Circle, PathElement, Polygon, RGBColor, Rectangle, ShapeStyle};

pub const RADIUS: i32 = 4;

pub fn colour(number: usize) -> RGBColor {
    let (red, green, blue) = COLOURS[number % COLOURS.len()];
    RGBColor(red, green, blue)
}

/// Draws the marker of a target; a hollow one marks an untrusted figure.
pub fn marker(area: &Area, number: usize, (x, y): (i32, i32), radius: i32, is_hollow: bool) -> Drawn {
    let colour = colour(number);
    let corners: Vec<(i32, i32)> = SHAPES[number % SHAPES.len()]
        .iter()
        .map(|(dx, dy)| (x + scaled(*dx, radius), y + scaled(*dy, radius)))
        .collect();
    let ground = if is_hollow { RGBColor(255, 255, 255) } else { colour };
    let outline = ShapeStyle { color: colour.into(), filled: false, stroke_width: 2 };
    for (style, fill) in [(ShapeStyle::from(ground).filled(), true), (outline, false)] {
        match corners.as_slice() {
            _ if !fill && !is_hollow => {}
            [] => area.draw(&Circle::new((x, y), radius, style))?,
            &[low, _, high, _] if low.0 < high.0 && low.1 < high.1 && low.0 - x == low.1 - y => {
                area.draw(&Rectangle::new([low, high], style))?;
            }
            _ if fill => area.draw(&Polygon::new(corners.clone(), ground))?,
            _ => area.draw(&PathElement::new([&corners[..], &corners[..1]].concat(), style))?,
        }
    }
    Ok(())
}

/// Tenths of a radius in pixels, rounded away from the centre to keep markers symmetric.
fn scaled(tenths: i32, radius: i32) -> i32 {
    (f64::from(tenths * radius) / 10.0).round() as i32
}
