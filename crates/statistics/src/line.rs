//! Straight lines through points of different weight: least squares, where a bent line bends, and whether a line fits at all.

use crate::hotelling;
use crate::linear::solve;

/// `y = intercept + slope * x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    pub intercept: f64,
    pub slope: f64,
}

impl Line {
    pub fn at(self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

/// A point of a fit; its weight is the inverse of its variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub weight: f64,
}

/// Two lines that meet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bent {
    /// Where they meet.
    pub at: f64,
    pub before: Line,
    pub after: Line,
}

/// The line with the least sum of weighted squares. `None` for fewer than two different `x`.
pub fn fit(points: &[Point]) -> Option<Line> {
    let sum = |of: &dyn Fn(&Point) -> f64| points.iter().map(|point| point.weight * of(point)).sum::<f64>();
    let all = sum(&|_| 1.0);
    let (x, y) = (sum(&|point| point.x) / all, sum(&|point| point.y) / all);
    let spread = sum(&|point| (point.x - x).powi(2));
    let largest = sum(&|point| point.x.powi(2));
    // Also false for values that are not finite.
    let is_spread = spread > 1e-12 * largest;
    if !is_spread {
        return None;
    }
    let slope = sum(&|point| (point.x - x) * (point.y - y)) / spread;
    Some(Line { intercept: y - slope * x, slope })
}

/// The best of the lines that bend at one of the inner points, which are in the order of `x`. `None` for fewer than three points.
pub fn bent(points: &[Point]) -> Option<Bent> {
    let inner = points.len().checked_sub(1)?;
    let all = (1..inner).filter_map(|knot| bent_at(points, points[knot].x));
    all.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(bent, _)| bent)
}

/// The best line that bends at `at`, and its sum of weighted squares.
fn bent_at(points: &[Point], at: f64) -> Option<(Bent, f64)> {
    // In units of the largest `x`.
    let unit = points.iter().fold(0.0, |most: f64, point| most.max(point.x.abs()));
    let columns = |x: f64| [1.0, x / unit, (x - at).max(0.0) / unit];
    let sum = |of: &dyn Fn(&Point) -> f64| points.iter().map(|point| point.weight * of(point)).sum::<f64>();
    let matrix = (0..3).map(|a| (0..3).map(|b| sum(&|point| columns(point.x)[a] * columns(point.x)[b])).collect());
    let right = (0..3).map(|a| sum(&|point| columns(point.x)[a] * point.y)).collect();
    let found = solve(matrix.collect(), right)?;
    let squares = sum(&|point| {
        let fitted: f64 = columns(point.x).iter().zip(&found).map(|(column, factor)| column * factor).sum();
        (point.y - fitted).powi(2)
    });
    let (slope, more) = (found[1] / unit, found[2] / unit);
    let before = Line { intercept: found[0], slope };
    let after = Line { intercept: found[0] - more * at, slope: slope + more };
    Some((Bent { at, before, after }, squares))
}

/// p value that the means of `y` lie on a line over `x`: that no inner point is off the line through its neighbours. Each round has
/// a `y` for each `x`, in ascending order of `x`; what all of a round have in common does not matter. `None` for fewer than three
/// points, too few rounds, or values that do not vary.
pub fn p_of_line(x: &[f64], rounds: &[Vec<f64>]) -> Option<f64> {
    let off = |y: &[f64], inner: usize| {
        let share = (x[inner] - x[inner - 1]) / (x[inner + 1] - x[inner - 1]);
        y[inner] - (y[inner - 1] + share * (y[inner + 1] - y[inner - 1]))
    };
    let inner = 1..x.len().checked_sub(1)?;
    let rows: Vec<Vec<f64>> =
        rounds.iter().map(|round| inner.clone().map(|inner| off(round, inner)).collect()).collect();
    hotelling::p(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points(x: &[f64], y: impl Fn(f64) -> f64) -> Vec<Point> {
        x.iter().enumerate().map(|(index, x)| Point { x: *x, y: y(*x), weight: 1.0 + index as f64 }).collect()
    }

    #[test]
    fn fewer_points_than_a_line_needs_have_none() {
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&points(&[5.0, 5.0], |_| 1.0)), None);
        assert_eq!(bent(&points(&[1.0, 2.0], |x| x)), None);
        assert_eq!(bent(&[]), None);
        assert_eq!(p_of_line(&[1.0, 2.0], &[vec![1.0, 2.0], vec![1.0, 3.0]]), None);
    }

    #[test]
    fn a_heavy_point_draws_the_line() {
        let of = |weight: f64| {
            let points = [(0.0, 0.0, 1.0), (1.0, 1.0, weight), (2.0, 0.0, 1.0)];
            fit(&points.map(|(x, y, weight)| Point { x, y, weight })).unwrap().at(1.0)
        };
        assert!((of(1.0) - 1.0 / 3.0).abs() < 1e-12 && of(1e6) > 0.999);
    }

    const X: [f64; 5] = [1e3, 5e3, 20e3, 50e3, 80e3];

    proptest! {
        #[test]
        fn a_line_and_a_bent_one_are_found(
            intercept in 0.0f64..1e6, slope in -100.0f64..100.0, more in 1.0f64..50.0, knot in 1usize..4,
        ) {
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * (1.0 + a.abs() + b.abs() + intercept);
            let line = fit(&points(&X, |x| intercept + slope * x)).unwrap();
            prop_assert!(near(line.intercept, intercept) && near(line.slope, slope), "{line:?}");
            let found = bent(&points(&X, |x| intercept + slope * x + more * (x - X[knot]).max(0.0))).unwrap();
            prop_assert_eq!(found.at, X[knot]);
            prop_assert!(near(found.before.slope, slope) && near(found.after.slope, slope + more), "{found:?}");
            prop_assert!(near(found.before.at(found.at), found.after.at(found.at)));
        }
    }
}
