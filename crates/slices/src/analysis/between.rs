//! The spread between starts of a target: heap layout, hash seeds and ports differ from launch to launch, and no number of
//! rounds of one start shows it.

use super::within::Within;
use brunt_results::Figure;
use brunt_results::comparison::{Ratio, StartSpread, UNKNOWN};
use brunt_statistics::hodges_lehmann::{normal_two_sided, p};
use brunt_statistics::student::{two_sided, two_sided_quantile};
use brunt_statistics::{CONFIDENCE, Interval, chi_square, f};

/// Fewer starts tell the spread to no better than a factor of three.
const LEAST_STARTS: usize = 6;

/// The part of an interval that is due to starts is wider by this, because no further start is made once it is narrow, which chooses
/// narrow ones.
const STOPPING: f64 = 1.2;

/// A target whose starts spread more than those of the others is judged by them alone, if chance explains that this rarely.
const OWN: f64 = 0.01;

/// Variance of one figure between starts, beyond what rounds explain.
#[derive(Debug, Clone, Copy, Default)]
pub struct Between {
    variance: f64,
    /// Degrees of freedom of the variance; 0 with single starts only.
    df: f64,
    /// Student's t for them.
    t: f64,
}

/// A difference with its whole interval, in logarithms.
#[derive(Debug, Clone, Copy)]
pub struct Widened {
    estimate: f64,
    interval: Interval,
    p: f64,
}

impl Between {
    /// Of each target of a load: pooled over all that spread alike. One whose starts differ much more, a server with two modes for
    /// example, neither widens the others' intervals nor borrows their precision.
    pub fn of_load(all: &[Option<&Within>]) -> Vec<Self> {
        let parts: Vec<Option<Parts>> = all.iter().map(|within| within.and_then(Parts::of)).collect();
        let mut alike: Vec<Parts> = parts.iter().flatten().copied().collect();
        alike.sort_by(|one, other| one.variance().total_cmp(&other.variance()));
        let mut largest = f64::INFINITY;
        while let Some((last, others)) = alike.split_last().filter(|(_, others)| others.len() > 1) {
            let rest = Parts::sum(others);
            if f::beyond(last.variance() / rest.variance(), last.df, rest.df) > OWN {
                break;
            }
            largest = last.variance();
            alike.pop();
        }
        let pooled = Self::from(Parts::sum(&alike));
        let of = |parts: Option<Parts>| parts.filter(|parts| parts.variance() >= largest).map_or(pooled, Self::from);
        parts.into_iter().map(of).collect()
    }

    pub fn widen(&self, within: &Within) -> Widened {
        let interval = self.interval(within);
        Widened { estimate: within.estimate, interval, p: self.p(within, interval) }
    }

    /// That of the difference with the spread between starts.
    pub fn interval(&self, within: &Within) -> Interval {
        let fixed = STOPPING * self.t * self.of_a_mean(within).sqrt();
        let (estimate, Interval { low, high }) = (within.estimate, within.interval);
        Interval { low: estimate - (estimate - low).hypot(fixed), high: estimate + (high - estimate).hypot(fixed) }
    }

    /// Variance of the mean over the starts.
    fn of_a_mean(&self, within: &Within) -> f64 {
        let starts = within.starts.len();
        if starts > 1 { self.variance / starts as f64 } else { 0.0 }
    }

    /// The signed-rank p knows of no starts: at least that of a t whose 95 % interval is the whole one. Degrees of freedom after
    /// Satterthwaite, those of the rounds taken as infinite.
    fn p(&self, within: &Within, interval: Interval) -> f64 {
        let of_a_mean = self.of_a_mean(within);
        let half = if within.estimate > 0.0 { within.estimate - interval.low } else { interval.high - within.estimate };
        let rounds = p(&within.centred);
        if half <= 0.0 {
            return rounds;
        }
        let distance = within.estimate.abs() / half;
        let all = of_a_mean + within.standard_error().powi(2);
        let df = if of_a_mean > 0.0 { self.df * (all / of_a_mean).powi(2) } else { f64::INFINITY };
        let whole = match df < 1e4 {
            true => two_sided(distance * two_sided_quantile(CONFIDENCE, df), df),
            false => normal_two_sided(distance * 1.959_964),
        };
        rounds.max(whole)
    }
}

impl From<Parts> for Between {
    fn from(Parts { squares, explained, df }: Parts) -> Self {
        let variance = if df > 0.0 { ((squares - explained) / df).max(0.0) } else { 0.0 };
        let t = if variance > 0.0 { two_sided_quantile(CONFIDENCE, df) } else { 0.0 };
        Self { variance, df, t }
    }
}

/// What the variance between starts is made of.
#[derive(Debug, Clone, Copy)]
struct Parts {
    /// Sum of the squared distances of the starts' estimates from their mean, and the part of it that rounds explain.
    squares: f64,
    explained: f64,
    df: f64,
}

impl Parts {
    /// `None` for a single start.
    fn of(within: &Within) -> Option<Self> {
        let count = within.starts.len() as f64;
        let mean = within.starts.iter().map(|(estimate, _)| estimate).sum::<f64>() / count;
        let squares = within.starts.iter().map(|(estimate, _)| (estimate - mean).powi(2)).sum();
        // Squared error of one start's estimate, from that of all rounds.
        let fewer =
            within.starts.iter().map(|(_, rounds)| within.rounds() as f64 / *rounds as f64).sum::<f64>() / count;
        let df = count - 1.0;
        let explained = df * within.standard_error().powi(2) * fewer;
        (within.starts.len() > 1).then_some(Self { squares, explained, df })
    }

    fn sum(all: &[Self]) -> Self {
        let add = |sum: Self, one: &Self| Self {
            squares: sum.squares + one.squares,
            explained: sum.explained + one.explained,
            df: sum.df + one.df,
        };
        all.iter().fold(Self { squares: 0.0, explained: 0.0, df: 0.0 }, add)
    }

    /// What rounds explain included.
    fn variance(self) -> f64 {
        self.squares / self.df
    }
}

/// The spread between starts of one comparison alone, with the interval of a variance of normal values.
pub fn spread(within: &Within) -> Option<StartSpread> {
    let Parts { squares, explained, df } = Parts::of(within).filter(|_| within.starts.len() >= LEAST_STARTS)?;
    let beyond = |count: f64| (squares / count - explained / df).max(0.0).sqrt();
    let [low, high] = [1.0 + CONFIDENCE, 1.0 - CONFIDENCE].map(|p| beyond(chi_square::quantile(p / 2.0, df)));
    Some(StartSpread { deviation: beyond(df), low, high })
}

impl Widened {
    /// The verdict and the adjusted p follow once all comparisons are known.
    pub fn ratio(&self, figure: &'static Figure, within: &Within) -> Ratio {
        Ratio {
            figure,
            starts: spread(within),
            ratio: self.estimate.exp(),
            low: self.interval.low.exp(),
            high: self.interval.high.exp(),
            p: self.p,
            p_adjusted: self.p,
            samples: within.rounds(),
            verdict: UNKNOWN,
        }
    }
}
