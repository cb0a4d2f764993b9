//! CPU time a second over the rate: standing and marginal cost, and whether they are all that there is.

use super::estimate::{Estimate, estimates};
use super::record::CostSlice;
use super::rounds::PointRound;
use brunt_statistics::line::{Line, Point, bent, fit, p_of_line};
use serde::{Deserialize, Serialize};

/// A misfit is said below this p value, if some point is also off the line by this share.
const CERTAIN: f64 = 0.01;
const OFF: f64 = 0.02;

/// `CPU/s = standing + marginal x rate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostLine {
    /// CPU time that is used without any request, in microseconds a second.
    pub standing_us_per_s: Estimate,
    /// CPU time of one request more, in microseconds.
    pub marginal_us: Estimate,
    /// Rates of its points.
    pub rates: Vec<f64>,
    /// Rounds that have all of its points.
    pub rounds: usize,
    /// `None` with two rates, through which there is always a line.
    pub misfit: Option<Misfit>,
}

/// How far the points are off the line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Misfit {
    /// Probability of points as far off, if there is a line; absent for too few rounds.
    pub p: Option<f64>,
    /// The point farthest off: its rate, and its distance as a share of the line.
    pub rate: f64,
    pub off: f64,
    /// Where the points are certainly on no line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bend: Option<Bend>,
}

/// The best two lines that meet at a rate that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bend {
    pub rate: f64,
    pub below: Terms,
    pub above: Terms,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    pub standing_us_per_s: f64,
    pub marginal_us: f64,
}

impl Terms {
    fn of(line: Line) -> Self {
        Self { standing_us_per_s: line.intercept, marginal_us: line.slope }
    }
}

/// CPU time of a slice, in microseconds a second.
pub(super) type CpuOf = fn(&CostSlice) -> Option<f64>;

/// The line of this CPU time through the points of these rates, in ascending order. The error says why there is none.
pub(super) fn line(rates: &[f64], points: &[Vec<PointRound>], cpu_of: CpuOf) -> Result<CostLine, String> {
    if rates.len() < 2 {
        return Err(format!("a line takes two rates, and {} held", rates.len()));
    }
    let rounds = points.first().map_or(0, Vec::len);
    let row = |round: usize| -> Option<(u32, Vec<f64>)> {
        let of = |of: &dyn Fn(&CostSlice) -> Option<f64>| -> Option<Vec<f64>> {
            points.iter().map(|point| point[round].mean(of)).collect()
        };
        let cpu = of(&cpu_of)?;
        let replies = of(&|slice| Some(slice.replies_per_s()))?;
        Some((points[0][round].start, [cpu, replies].concat()))
    };
    let (starts, rows): (Vec<u32>, Vec<Vec<f64>>) = (0..rounds).filter_map(row).unzip();
    through(rates, &starts, &rows)
}

/// The line through the points of these rates, in ascending order, of servers that were started several times: a row for each
/// start, with CPU time in microseconds a second and requests a second at each rate.
///
/// # Errors
/// Why there is no line, in a few words.
pub fn line_over_starts(rates: &[f64], starts: &[Vec<(f64, f64)>]) -> Result<CostLine, String> {
    if rates.len() < 2 {
        return Err("a line takes two rates".to_owned());
    }
    let row = |points: &Vec<(f64, f64)>| {
        let (cpu, replies): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        [cpu, replies].concat()
    };
    let numbers: Vec<u32> = (1..).take(starts.len()).collect();
    through(rates, &numbers, &starts.iter().map(row).collect::<Vec<_>>())
}

/// Each row has CPU times, then replies.
fn through(rates: &[f64], starts: &[u32], rows: &[Vec<f64>]) -> Result<CostLine, String> {
    let weights = weights(rows, rates.len());
    let points = |centres: &[f64]| -> Vec<Point> {
        let (cpu, replies) = centres.split_at(rates.len());
        let point = |((y, x), weight): ((&f64, &f64), &f64)| Point { x: *x, y: *y, weight: *weight };
        cpu.iter().zip(replies).zip(&weights).map(point).collect()
    };
    let terms = |centres: &[f64]| {
        let line = fit(&points(centres))?;
        Some([&[line.intercept, line.slope][..], centres].concat())
    };
    let found = estimates(rows, starts, terms).ok_or("no round has all rates that held")?;
    let line = Line { intercept: found[0].value, slope: found[1].value };
    let centres: Vec<f64> = found[2..].iter().map(|centre| centre.value).collect();
    let misfit = (rates.len() > 2).then(|| misfit(rates, line, &points(&centres), rows));
    let (standing_us_per_s, marginal_us) = (found[0], found[1]);
    Ok(CostLine { standing_us_per_s, marginal_us, rates: rates.to_vec(), rounds: rows.len(), misfit })
}

/// Weights of the points, the first `points` columns of each round. A variance is the mean of the point's own, which few rounds do
/// not know well, and of that which follows from the relative spread of all points together.
fn weights(rows: &[Vec<f64>], points: usize) -> Vec<f64> {
    let n = rows.len() as f64;
    let moments = |column: usize| {
        let mean = rows.iter().map(|row| row[column]).sum::<f64>() / n;
        let squares: f64 = rows.iter().map(|row| (row[column] - mean).powi(2)).sum();
        (mean, squares / (n - 1.0).max(1.0))
    };
    let moments: Vec<(f64, f64)> = (0..points).map(moments).collect();
    let relative = moments.iter().map(|(mean, variance)| variance / mean.powi(2)).sum::<f64>() / points as f64;
    let variance = |(mean, own): &(f64, f64)| (own + relative * mean.powi(2)) / 2.0;
    // Without any spread, errors are taken to be shares of the values.
    let weight = |moments: &(f64, f64)| match variance(moments) {
        variance if variance > 0.0 => 1.0 / variance,
        _ => 1.0 / moments.0.powi(2).max(f64::MIN_POSITIVE),
    };
    moments.iter().map(weight).collect()
}

fn misfit(rates: &[f64], line: Line, points: &[Point], rows: &[Vec<f64>]) -> Misfit {
    let cpu: Vec<Vec<f64>> = rows.iter().map(|row| row[..rates.len()].to_vec()).collect();
    let x: Vec<f64> = points.iter().map(|point| point.x).collect();
    let p = p_of_line(&x, &cpu);
    let off = |point: &Point| point.y / line.at(point.x) - 1.0;
    let farthest = points.iter().zip(rates).max_by(|a, b| off(a.0).abs().total_cmp(&off(b.0).abs()));
    let (rate, off) = farthest.map_or((0.0, 0.0), |(point, rate)| (*rate, off(point)));
    // Rounds that do not vary have no p value, and leave no doubt.
    let is_certain = p.map_or(rows.len() > rates.len(), |p| p < CERTAIN);
    let found = bent(points).filter(|_| is_certain && off.abs() > OFF);
    let bend = found.map(|bent| {
        let nearest = rates.iter().copied().min_by(|a, b| (a - bent.at).abs().total_cmp(&(b - bent.at).abs()));
        Bend { rate: nearest.unwrap_or(bent.at), below: Terms::of(bent.before), above: Terms::of(bent.after) }
    });
    Misfit { p, rate, off, bend }
}
