//! Colours and marker shapes of the targets, the same in every chart of a report.
//!
//! Colours are those of Okabe and Ito ("Color Universal Design", 2008), without the yellow, which is illegible on white, and
//! with darker ones added. The two lists differ in length, so targets of one colour differ in shape.

pub const COLOURS: [(u8, u8, u8); 11] = [
    (0x00, 0x72, 0xB2),
    (0xD5, 0x5E, 0x00),
    (0x00, 0x9E, 0x73),
    (0xCC, 0x79, 0xA7),
    (0xE6, 0x9F, 0x00),
    (0x56, 0xB4, 0xE9),
    (0x33, 0x33, 0x33),
    (0x88, 0x22, 0x55),
    (0x99, 0x99, 0x33),
    (0x33, 0x22, 0x88),
    (0x8C, 0x56, 0x4B),
];

/// Corners of the markers around their centre, in tenths of the radius; an empty list is a circle.
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
