//! How a target looks: a colour and a shape of marker, the same in every chart of a report. The colours are those of
//! Okabe and Ito ("Color Universal Design", 2008) without the yellow, which a white ground swallows, then darker ones;
//! shapes and colours have different periods, so that two targets of one colour differ in shape.

use super::svg::{Area, Drawn};
use plotters::prelude::{Circle, PathElement, Polygon, RGBColor, Rectangle, ShapeStyle};

/// The colours, of which the first is that of the first target.
pub const COLOURS: [RGBColor; 11] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0x33, 0x33, 0x33),
    RGBColor(0x88, 0x22, 0x55),
    RGBColor(0x99, 0x99, 0x33),
    RGBColor(0x33, 0x22, 0x88),
    RGBColor(0x8C, 0x56, 0x4B),
];

/// Corners of the markers around their middle, in tenths of the radius; none is a circle.
pub const SHAPES: [&[(i32, i32)]; 8] = [
    &[],
    &[(-9, -9), (9, -9), (9, 9), (-9, 9)],
    &[(0, -12), (11, 8), (-11, 8)],
    &[(0, -13), (11, 0), (0, 13), (-11, 0)],
    &[(0, 12), (11, -8), (-11, -8)],
    &[
        (-4, -12),
        (4, -12),
        (4, -4),
        (12, -4),
        (12, 4),
        (4, 4),
        (4, 12),
        (-4, 12),
        (-4, 4),
        (-12, 4),
        (-12, -4),
        (-4, -4),
    ],
    &[(-11, -10), (11, 10), (11, -10), (-11, 10)],
    &[(-10, -11), (10, -11), (-10, 11), (10, 11)],
];

/// The radius of a marker on a line, in pixels.
pub const RADIUS: i32 = 4;

/// The colour of the target of that number.
pub fn colour(number: usize) -> RGBColor {
    COLOURS[number % COLOURS.len()]
}

/// The marker of the target of that number; a hollow one stands for a figure that is not to be trusted.
pub fn marker(area: &Area, number: usize, (x, y): (i32, i32), radius: i32, is_hollow: bool) -> Drawn {
    let colour = colour(number);
    let corners: Vec<(i32, i32)> = SHAPES[number % SHAPES.len()]
        .iter()
        .map(|(dx, dy)| (x + scaled(*dx, radius), y + scaled(*dy, radius)))
        .collect();
    let ground = if is_hollow { RGBColor(255, 255, 255) } else { colour };
    let outline = ShapeStyle { color: colour.into(), filled: false, stroke_width: 2 };
    match corners.as_slice() {
        [] => {
            area.draw(&Circle::new((x, y), radius, ShapeStyle::from(ground).filled()))?;
            if is_hollow {
                area.draw(&Circle::new((x, y), radius, outline))?;
            }
        }
        &[low, _, high, _] if low.0 < high.0 && low.1 < high.1 && low.0 - x == low.1 - y => {
            area.draw(&Rectangle::new([low, high], ShapeStyle::from(ground).filled()))?;
            if is_hollow {
                area.draw(&Rectangle::new([low, high], outline))?;
            }
        }
        _ => {
            area.draw(&Polygon::new(corners.clone(), ground))?;
            if is_hollow {
                let closed: Vec<(i32, i32)> = corners.iter().chain(corners.first()).copied().collect();
                area.draw(&PathElement::new(closed, outline))?;
            }
        }
    }
    Ok(())
}

/// Tenths of a radius in pixels, rounded away from the middle so that a marker stays symmetric.
fn scaled(tenths: i32, radius: i32) -> i32 {
    (f64::from(tenths * radius) / 10.0).round() as i32
}
