//! The answer on one load in one sentence.

use crate::comparison::{LoadComparison, TargetComparison};
use brunt_results::comparison::{Ratio, Verdict};
use brunt_results::figure::{COST, P50, RATE};

/// `uring serves 1.20x epoll [1.18 1.23] at 0.83x its CPU a request [0.82 0.84]; tokio ...`. Of an open loop CPU a request and
/// p50, because rates are those offered.
pub fn sentence(comparison: &LoadComparison) -> String {
    let others = comparison.targets.iter().filter(|target| target.target != comparison.baseline);
    let clauses: Vec<String> = others.map(|target| clause(target, comparison)).collect();
    clauses.join("; ")
}

fn clause(target: &TargetComparison, comparison: &LoadComparison) -> String {
    let (name, base, margin) = (&target.target, &comparison.baseline, comparison.margin);
    if let Some(failures) = target.failures() {
        return format!("{name}: {failures}");
    }
    let of_base = comparison.targets.iter().find(|other| other.target == *base).and_then(TargetComparison::failures);
    if let Some(failures) = of_base {
        return format!("{name}: {failures} of {base}");
    }
    let (cost, p50) = (target.ratio(&COST), target.ratio(&P50));
    let serves = target.ratio(&RATE).filter(|rate| rate.verdict == Verdict::Different);
    let mut parts: Vec<String> = Vec::new();
    if comparison.open_loop {
        parts.extend(cost.map(|cost| words("CPU a request", cost, margin)));
        parts.extend(p50.map(|p50| words("p50", p50, margin)));
    } else if let (Some(rate), Some(cost)) = (serves, cost.filter(|cost| cost.verdict == Verdict::Different)) {
        let (rate, rate_range) = rate.parts();
        let (cost, cost_range) = cost.parts();
        return format!("{name} serves {rate}x {base} {rate_range} at {cost}x its CPU a request {cost_range}");
    } else if let Some(rate) = serves {
        let (rate, range) = rate.parts();
        let cost = cost.map_or(String::new(), |cost| format!(", {}", words("CPU a request", cost, margin)));
        return format!("{name} serves {rate}x {base} {range}{cost}");
    } else {
        parts.extend(target.ratio(&RATE).map(|rate| words("rate", rate, margin)));
        parts.extend(cost.map(|cost| words("CPU a request", cost, margin)));
    }
    if parts.is_empty() {
        return format!("{name} against {base}: too few rounds ({}), a longer time has more", comparison.rounds);
    }
    format!("{name} against {base}: {}", parts.join(", "))
}

/// The verdict on a figure, with what was measured.
fn words(figure: &str, ratio: &Ratio, margin: f64) -> String {
    let (verdict, shown) = (&ratio.verdict, ratio.text());
    match verdict {
        Verdict::NoDifference => format!("{figure} {} (x{:.3})", verdict.clause(margin), ratio.ratio),
        Verdict::Different => format!("{figure} {shown}"),
        Verdict::Errors => format!("{figure}: {}", verdict.clause(margin)),
        _ => format!("{figure} {} ({shown}){}", verdict.word(), verdict.remedy("round")),
    }
}
