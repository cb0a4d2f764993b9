//! The course of a load in bounded memory.
//!
//! A point holds one second until there are [`MOST`] of them; then neighbours are merged, and each holds twice as many.
//! Counts are added. Percentiles cannot be: a point has the highest of its seconds.

use brunt_results::series::Line;

/// Most points: an hour and eight minutes of single seconds, half a megabyte.
pub(super) const MOST: usize = 4096;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Point {
    pub from_s: f64,
    pub to_s: f64,
    pub warmup: bool,
    pub offered: Option<u64>,
    pub completed: Option<u64>,
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub p999_us: Option<f64>,
}

impl Point {
    fn of(line: &Line, from_s: f64) -> Self {
        let Line { at_s, warmup, offered, completed, p50_us, p99_us, p999_us, .. } = *line;
        Self { from_s, to_s: at_s, warmup, offered, completed, p50_us, p99_us, p999_us }
    }

    pub fn per_second(&self, count: Option<u64>) -> Option<f64> {
        count.map(|count| count as f64 / (self.to_s - self.from_s).max(1e-3))
    }

    /// Adds the point that follows.
    fn merge(&mut self, next: &Self) {
        let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        let most = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::max);
        *self = Self {
            from_s: self.from_s,
            to_s: next.to_s,
            warmup: self.warmup && next.warmup,
            offered: add(self.offered, next.offered),
            completed: add(self.completed, next.completed),
            p50_us: most(self.p50_us, next.p50_us),
            p99_us: most(self.p99_us, next.p99_us),
            p999_us: most(self.p999_us, next.p999_us),
        };
    }
}

#[derive(Debug)]
pub(super) struct Points {
    points: Vec<Point>,
    /// Lines of a whole point.
    each: usize,
    /// Lines of the last point.
    in_last: usize,
}

impl Default for Points {
    fn default() -> Self {
        Self { points: Vec::new(), each: 1, in_last: 1 }
    }
}

impl Points {
    /// Adds a line, which must be later than those before.
    pub fn push(&mut self, line: &Line) {
        let point = Point::of(line, self.end_s());
        match self.points.last_mut() {
            Some(last) if self.in_last < self.each => {
                last.merge(&point);
                self.in_last += 1;
            }
            _ => {
                self.points.push(point);
                self.in_last = 1;
            }
        }
        if self.points.len() == MOST {
            self.points = self.points.chunks(2).map(merged).collect();
            (self.each, self.in_last) = (2 * self.each, self.in_last + self.each);
        }
    }

    /// The course in at most so many points.
    pub fn thinned(&self, most: usize) -> Vec<Point> {
        let each = self.points.len().div_ceil(most).max(1);
        self.points.chunks(each).map(merged).collect()
    }

    pub fn end_s(&self) -> f64 {
        self.points.last().map_or(0.0, |last| last.to_s)
    }

    pub fn all(&self) -> &[Point] {
        &self.points
    }

    /// Whether each point is one line.
    pub fn are_seconds(&self) -> bool {
        self.each == 1
    }
}

fn merged(points: &[Point]) -> Point {
    let mut point = points[0];
    points[1..].iter().for_each(|next| point.merge(next));
    point
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_of_seconds_fits_and_loses_no_request() {
        let mut points = Points::default();
        for second in 1..=86_400_u64 {
            let p99_us = Some(if second == 40_000 { 1e6 } else { second as f64 });
            points.push(&Line { at_s: second as f64, completed: Some(second), p99_us, ..Line::default() });
            assert!(points.all().len() < MOST);
        }
        let all = points.all();
        assert!(all.len() > MOST / 4 && !points.are_seconds());
        assert_eq!(all.iter().filter_map(|point| point.completed).sum::<u64>(), 86_400 * 86_401 / 2);
        assert!(all.windows(2).all(|pair| pair[0].to_s == pair[1].from_s));
        assert_eq!((all[0].from_s, points.end_s()), (0.0, 86_400.0));
        assert_eq!(all.iter().filter_map(|point| point.p99_us).reduce(f64::max), Some(1e6));
        let lengths = all[..all.len() - 1].iter().map(|point| point.to_s - point.from_s);
        let thin = points.thinned(400);
        assert!(thin.len() <= 400 && thin.len() > 200 && thin.last().unwrap().to_s == 86_400.0);
        assert!(lengths.clone().all(|length| length == all[0].to_s), "{:?}", lengths.collect::<Vec<_>>());
    }
}
