//! The answer on one load in one sentence.

use crate::format;
use crate::slices::comparison::{Figure, LoadComparison, Ratio, TargetComparison, Verdict};

/// `uring serves 1.20x epoll [1.18 1.23] at 0.83x its CPU a request [0.82 0.84]; tokio ...`. Of an open loop CPU a request and
/// p50, because rates are those offered.
pub fn sentence(comparison: &LoadComparison) -> String {
    let others = comparison.targets.iter().filter(|target| target.target != comparison.baseline);
    let clauses: Vec<String> = others.map(|target| clause(target, comparison)).collect();
    clauses.join("; ")
}

fn clause(target: &TargetComparison, comparison: &LoadComparison) -> String {
    let (name, base, margin) = (&target.target, &comparison.baseline, comparison.margin);
    let of_base = comparison.targets.iter().find(|other| other.target == *base).map_or(0, |base| base.failed);
    match (target.failed, of_base) {
        (0, 0) => {}
        (0, failed) => return format!("{name}: {} of {base} failed", requests(failed)),
        (failed, _) => return format!("{name}: {} failed", requests(failed)),
    }
    let (cost, p50) = (target.ratio(Figure::Cost), target.ratio(Figure::P50));
    let serves = target.ratio(Figure::Rate).filter(|rate| rate.verdict == Verdict::Different);
    let mut parts: Vec<String> = Vec::new();
    if comparison.open_loop {
        parts.extend(cost.map(|cost| words("CPU a request", cost, margin)));
        parts.extend(p50.map(|p50| words("p50", p50, margin)));
    } else if let (Some(rate), Some(cost)) = (serves, cost.filter(|cost| cost.verdict == Verdict::Different)) {
        let (rate, rate_range) = times(rate);
        let (cost, cost_range) = times(cost);
        return format!("{name} serves {rate}x {base} {rate_range} at {cost}x its CPU a request {cost_range}");
    } else if let Some(rate) = serves {
        let (rate, range) = times(rate);
        let cost = cost.map_or(String::new(), |cost| format!(", {}", words("CPU a request", cost, margin)));
        return format!("{name} serves {rate}x {base} {range}{cost}");
    } else {
        parts.extend(target.ratio(Figure::Rate).map(|rate| words("rate", rate, margin)));
        parts.extend(cost.map(|cost| words("CPU a request", cost, margin)));
    }
    if parts.is_empty() {
        return format!("{name} against {base}: too few rounds ({})", comparison.rounds);
    }
    format!("{name} against {base}: {}", parts.join(", "))
}

fn requests(count: u64) -> String {
    if count == 1 { "1 request".into() } else { format!("{count} requests") }
}

/// The verdict on a figure, with what was measured.
fn words(figure: &str, ratio: &Ratio, margin: f64) -> String {
    let (times, range) = times(ratio);
    let rounds =
        |rounds: &Option<usize>| rounds.map_or(String::new(), |rounds| format!(": about {rounds} rounds would"));
    match &ratio.verdict {
        Verdict::NoDifference => {
            format!("{figure} no difference within {} (x{:.3})", format::share(margin), ratio.ratio)
        }
        Verdict::Different => format!("{figure} x{times} {range}"),
        Verdict::CannotTell { rounds: more } => format!("{figure} cannot tell (x{times} {range}){}", rounds(more)),
        Verdict::Imprecise { rounds: more } => format!("{figure} imprecise (x{times} {range}){}", rounds(more)),
        Verdict::ClientLimited => format!("{figure} client-limited (x{times} {range})"),
        Verdict::Errors => format!("{figure}: requests failed"),
    }
}

/// A ratio and its interval, with the digits that the interval supports.
fn times(ratio: &Ratio) -> (String, String) {
    let digits = match ratio.high - ratio.low {
        width if width < 0.02 => 3,
        width if width < 1.0 => 2,
        _ => 1,
    };
    (format!("{:.digits$}", ratio.ratio), format!("[{:.digits$} {:.digits$}]", ratio.low, ratio.high))
}
