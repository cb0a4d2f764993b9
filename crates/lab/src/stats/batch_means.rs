//! How sure a quantile of one run is: order statistics on the effective sample size.
//!
//! Requests that are near in time meet the same queue, so a million of them tell less than a million independent ones
//! would. How much less is seen in the seconds of the run: if requests were independent, the share of them below the
//! quantile would vary from second to second as binomial counts do. What it varies by instead gives the error of the
//! share (batch means, with seconds as the batches), and so the ranks between which the true quantile lies.

use super::{Interval, student::two_sided_quantile};

/// One second of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Requests.
    pub count: u64,
    /// Requests at or below the quantile of the whole run.
    pub below: u64,
}

/// What the seconds tell of the share below a quantile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// The share itself.
    pub share: f64,
    /// Its standard error.
    pub error: f64,
    /// So many independent requests would have the same error; never more than there were.
    pub effective: f64,
    /// Degrees of freedom of the error.
    pub df: f64,
}

/// Fewer seconds do not tell how much seconds vary.
pub const LEAST: usize = 3;

/// The share of requests below a quantile; `None` for fewer than [`LEAST`] seconds with requests, or if all or none of
/// the requests are below it.
pub fn share(batches: &[Batch]) -> Option<Share> {
    let batches: Vec<&Batch> = batches.iter().filter(|batch| batch.count > 0).collect();
    let (k, n) = (batches.len() as f64, batches.iter().map(|batch| batch.count as f64).sum::<f64>());
    let share = batches.iter().map(|batch| batch.below as f64).sum::<f64>() / n;
    if batches.len() < LEAST || share <= 0.0 || share >= 1.0 {
        return None;
    }
    // The ratio estimator, for seconds do not all hold as many requests (Cochran 1977, 6.13).
    let squares: f64 = batches.iter().map(|batch| (batch.below as f64 - share * batch.count as f64).powi(2)).sum();
    let independent = share * (1.0 - share) / n;
    let variance = (k / (k - 1.0) * squares / (n * n)).max(independent);
    Some(Share { share, error: variance.sqrt(), effective: n * independent / variance, df: k - 1.0 })
}

/// The shares whose quantiles enclose the true quantile `q`.
pub fn ranks(q: f64, share: &Share, confidence: f64) -> Interval {
    let half = two_sided_quantile(confidence, share.df) * share.error;
    Interval { low: (q - half).max(0.0), high: (q + half).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_that_differ_more_than_chance_are_worth_fewer_requests() {
        let alike = [Batch { count: 1000, below: 990 }; 10];
        let sure = share(&alike).unwrap();
        assert_eq!((sure.share, sure.effective, sure.df), (0.99, 10_000.0, 9.0));
        // The same requests, all the slow ones in one second.
        let mut one_bad = [Batch { count: 1000, below: 1000 }; 10];
        one_bad[3].below = 900;
        let unsure = share(&one_bad).unwrap();
        assert!((unsure.share - 0.99).abs() < 1e-12 && (99.0..=101.0).contains(&unsure.effective), "{unsure:?}");
        let (narrow, wide) = (ranks(0.99, &sure, 0.95), ranks(0.99, &unsure, 0.95));
        assert!(wide.low < narrow.low && narrow.low < 0.99 && wide.high == 1.0, "{narrow:?} {wide:?}");
    }

    #[test]
    fn too_little_says_nothing() {
        let batch = Batch { count: 100, below: 50 };
        assert_eq!(share(&[batch; 2]), None);
        assert_eq!(share(&[Batch { count: 100, below: 100 }; 9]), None);
        assert_eq!(share(&[batch, batch, Batch { count: 0, below: 0 }]), None);
        assert_eq!(share(&[]), None);
    }
}
