//! Curves over time, drawn with characters: a column has the highest value of its time, and a curve that hides another is
//! the later one of the list.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

/// Columns of the labels and the axis.
pub(super) const GUTTER: u16 = 10;

/// A value from one time to another, in seconds.
pub(super) type Piece = (f64, f64, f64);

pub(super) struct Curve {
    pub mark: char,
    pub style: Style,
    pub pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    /// From 0.
    Linear,
    /// Whole decades.
    Log,
}

pub(super) struct Plot {
    pub curves: Vec<Curve>,
    pub scale: Scale,
    /// Time at the right edge, in seconds.
    pub span_s: f64,
    pub label: fn(f64) -> String,
}

/// The range of an axis, in the logarithm of values if it is logarithmic.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Axis {
    fn of(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let (least, most) =
            values.fold((f64::MAX, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
        match scale {
            Scale::Linear => Self { scale, low: 0.0, high: round_up(most) },
            Scale::Log => {
                let low = least.min(most).max(1e-3).log10().floor();
                Self { scale, low, high: most.max(1e-3).log10().ceil().max(low + 1.0) }
            }
        }
    }

    /// Distance from the top of a plot of this height, in rows.
    fn row(self, value: f64, height: u16) -> u16 {
        let value = if self.scale == Scale::Log { value.max(1e-9).log10() } else { value };
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        ((1.0 - share) * f64::from(height.saturating_sub(1))).round() as u16
    }

    /// Values to name beside the axis.
    fn named(self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => vec![0.0, self.high / 2.0, self.high],
            Scale::Log => (self.low as i32..=self.high as i32).map(|power| 10_f64.powi(power)).collect(),
        }
    }
}

/// The next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, ...
fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.max(1.0).log10().floor());
    [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0]
        .map(|digit| digit * power)
        .into_iter()
        .find(|round| *round >= value)
        .unwrap_or(value)
}

impl Plot {
    /// The highest value in each column.
    fn columns(&self, curve: &Curve, width: u16) -> Vec<Option<f64>> {
        let mut columns: Vec<Option<f64>> = vec![None; usize::from(width)];
        let at = |time_s: f64| time_s / self.span_s.max(1e-3) * f64::from(width);
        for (from_s, to_s, value) in &curve.pieces {
            let first = at(*from_s).max(0.0) as usize;
            let last = (at(*to_s).ceil().max(0.0) as usize).clamp(first, columns.len());
            for column in columns.get_mut(first..last).unwrap_or_default() {
                *column = Some(column.map_or(*value, |other| other.max(*value)));
            }
        }
        columns
    }
}

impl Widget for &Plot {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.width <= GUTTER || area.height == 0 {
            return;
        }
        let width = area.width - GUTTER;
        let curves: Vec<_> = self.curves.iter().map(|curve| (curve, self.columns(curve, width))).collect();
        let values = curves.iter().flat_map(|(_, columns)| columns.iter().flatten().copied());
        let axis = Axis::of(self.scale, values.clone());
        for row in 0..area.height {
            buffer.set_string(area.x + GUTTER - 1, area.y + row, "|", Style::default());
        }
        if values.clone().next().is_none() {
            return;
        }
        for value in axis.named() {
            let label = format!("{:>8}", (self.label)(value));
            buffer.set_stringn(area.x, area.y + axis.row(value, area.height), label, 8, Style::default());
        }
        for (curve, columns) in curves {
            for (column, value) in (0..).zip(columns) {
                let Some(value) = value else { continue };
                let place = (area.x + GUTTER + column, area.y + axis.row(value, area.height));
                if let Some(cell) = buffer.cell_mut(place) {
                    cell.set_char(curve.mark).set_style(curve.style);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(scale: Scale, pieces: &[Piece], span_s: f64) -> Vec<String> {
        let curve = Curve { mark: 'o', style: Style::default(), pieces: pieces.to_vec() };
        let plot = Plot { curves: vec![curve], scale, span_s, label: |value| format!("{value}") };
        let area = Rect::new(0, 0, 18, 5);
        let mut buffer = Buffer::empty(area);
        plot.render(area, &mut buffer);
        let row = |y| (0..area.width).map(|x| buffer[(x, y)].symbol().to_owned()).collect::<String>();
        (0..area.height).map(|y| row(y).trim_end().to_owned()).collect()
    }

    #[test]
    fn values_stand_at_their_row_from_their_time_on() {
        let pieces = [(0.0, 1.0, 10.0), (1.0, 2.0, 100.0), (2.0, 3.0, 1000.0)];
        assert_eq!(
            drawn(Scale::Log, &pieces, 4.0),
            ["    1000 |    oo", "         |", "     100 |  oo", "         |", "      10 |oo"]
        );
        assert_eq!(
            drawn(Scale::Linear, &[(0.0, 2.0, 350.0), (2.0, 4.0, 0.0)], 4.0),
            ["     400 |", "         |oooo", "     200 |", "         |", "       0 |    oooo"]
        );
        assert_eq!(drawn(Scale::Log, &[], 4.0), ["         |"; 5]);
    }

    #[test]
    fn many_values_of_a_column_are_drawn_as_the_highest() {
        let pieces: Vec<Piece> =
            (0..800).map(|n| (f64::from(n), f64::from(n + 1), if n == 450 { 100.0 } else { 1.0 })).collect();
        let rows = drawn(Scale::Log, &pieces, 800.0);
        assert_eq!((rows[0].as_str(), rows[4].as_str()), ("     100 |    o", "       1 |oooo ooo"));
    }

    #[test]
    fn one_value_and_impossible_ones_have_an_axis() {
        for value in [0.0, 1.0, 7.0, 1e300, f64::MAX] {
            for scale in [Scale::Log, Scale::Linear] {
                assert!(drawn(scale, &[(0.0, 1.0, value)], 0.0).join("").contains('o'), "{value}");
            }
        }
    }
}
