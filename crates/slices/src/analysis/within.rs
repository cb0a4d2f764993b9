//! What the rounds of all starts together say, without the spread between starts.

use brunt_statistics::hodges_lehmann::{centre, estimate};
use brunt_statistics::{Interval, median};

/// Standard errors of a 95 % interval.
pub(crate) const Z: f64 = 1.96;
/// The same for a single start, whose rounds end when the interval is narrow, which chooses narrow ones.
pub(crate) const Z_OF_ONE_START: f64 = 2.10;
/// Standard deviation of normal values of MAD 1.
const NORMAL_MAD: f64 = 1.4826;

/// Hodges-Lehmann over the differences, after each start's own estimate has been taken off and their mean added back.
#[derive(Debug, Clone)]
pub struct Within {
    pub estimate: f64,
    pub interval: Interval,
    /// Half the width of the interval is this many standard errors.
    z: f64,
    /// The differences without the spread between starts.
    pub centred: Vec<f64>,
    /// The starts' own estimates and numbers of rounds.
    pub starts: Vec<(f64, usize)>,
}

impl Within {
    /// `None` for too few differences. Those of one start must be neighbours.
    pub fn of(values: &[f64], starts: &[u32]) -> Option<Self> {
        if starts.first() == starts.last() {
            let found = centre(values, Z_OF_ONE_START)?;
            let starts = vec![(found.estimate, values.len())];
            let centred = values.to_vec();
            return Some(Self {
                estimate: found.estimate,
                interval: found.interval,
                z: Z_OF_ONE_START,
                centred,
                starts,
            });
        }
        let mut own: Vec<(f64, usize)> = Vec::new();
        let mut rest = values;
        for start in starts.chunk_by(|a, b| a == b) {
            let (these, others) = rest.split_at(start.len());
            own.push((estimate(these)?, these.len()));
            rest = others;
        }
        let mean = own.iter().map(|(estimate, _)| estimate).sum::<f64>() / own.len() as f64;
        let shifts = own.iter().flat_map(|(estimate, count)| std::iter::repeat_n(mean - estimate, *count));
        let centred: Vec<f64> = values.iter().zip(shifts).map(|(value, shift)| value + shift).collect();
        let found = centre(&centred, Z)?;
        // Centring by each start leaves less spread than there is, by the degrees of freedom that it takes.
        let (n, taken) = (values.len() as f64, own.len() as f64);
        let wider = ((n - 1.0) / (n - taken).max(1.0)).sqrt();
        let interval = Interval {
            low: found.estimate - (found.estimate - found.interval.low) * wider,
            high: found.estimate + (found.interval.high - found.estimate) * wider,
        };
        Some(Self { estimate: found.estimate, interval, z: Z, centred, starts: own })
    }

    pub fn rounds(&self) -> usize {
        self.centred.len()
    }

    /// Half the width of the interval.
    pub fn half(&self) -> f64 {
        (self.interval.high - self.interval.low) / 2.0
    }

    pub fn standard_error(&self) -> f64 {
        self.half() / self.z
    }

    /// Standard deviation of one difference, from the median distance.
    pub fn sigma(&self) -> f64 {
        let distances = self.centred.iter().map(|value| Some((value - self.estimate).abs()));
        NORMAL_MAD * median(distances).unwrap_or(0.0)
    }
}
