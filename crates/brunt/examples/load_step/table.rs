//! Lines of figures, and the median and worst of each column.

use crate::figures::Figures;

const WIDTHS: [usize; 14] = [6, 12, 5, 6, 5, 5, 10, 12, 6, 5, 6, 6, 7, 6];

pub fn head() -> String {
    let names = [
        "step", "policy", "cores", "over", "age", "jobs", "less", "by", "freeze", "ran", "back", "slow", "slow %",
        "lost %",
    ];
    joined(&names.map(str::to_owned))
}

pub fn line(step: &str, policy: &str, figures: &Figures) -> String {
    let Figures { cores, over, age, jobs, less, reason, freeze, ran, back, count, slow, lost } = figures;
    let reason = reason.and_then(|reason| Some(serde_json::to_value(reason).ok()?.as_str()?.to_owned()));
    let less = match less {
        Some(_) => ms(*less),
        None if cores.is_some() && over.is_none() => "not needed".to_owned(),
        None if cores.is_some() => "never".to_owned(),
        None => "-".to_owned(),
    };
    joined(&[
        step.to_owned(),
        policy.to_owned(),
        hundredths(*cores),
        ms(*over),
        ms(*age),
        hundredths(*jobs),
        less,
        reason.unwrap_or("-".to_owned()),
        ms(*freeze),
        tenths(*ran),
        ms(Some(*back)),
        slow.to_string(),
        format!("{:.2}", share(*count, *slow)),
        lost.map_or("-".to_owned(), |lost| format!("{:.1}", lost * 100.0)),
    ])
}

/// Two lines: the median and the worst of each figure, of the steps that have it.
pub fn summary(policy: &str, steps: &[Figures]) -> [String; 2] {
    ["median", "worst"].map(|which| {
        let is_median = which == "median";
        let of = |figure: fn(&Figures) -> Option<f64>| pick(steps.iter().filter_map(figure).collect(), is_median);
        let cells = [
            hundredths(of(|step| step.cores)),
            ms(of(|step| step.over)),
            ms(of(|step| step.age)),
            hundredths(of(|step| step.jobs)),
            ms(of(|step| step.less)),
            "-".to_owned(),
            ms(of(|step| step.freeze)),
            tenths(of(|step| step.ran)),
            ms(of(|step| Some(step.back))),
            of(|step| Some(step.slow as f64)).map_or("-".to_owned(), |slow| format!("{slow:.0}")),
            of(|step| Some(share(step.count, step.slow))).map_or("-".to_owned(), |share| format!("{share:.2}")),
            of(|step| step.lost).map_or("-".to_owned(), |lost| format!("{:.1}", lost * 100.0)),
        ];
        joined(&[&[which.to_owned(), policy.to_owned()], &cells[..]].concat())
    })
}

/// The upper median, or the largest.
fn pick(mut values: Vec<f64>, is_median: bool) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    if is_median { values.get(values.len() / 2).copied() } else { values.last().copied() }
}

fn share(count: u64, slow: u64) -> f64 {
    slow as f64 / count.max(1) as f64 * 100.0
}

fn ms(seconds: Option<f64>) -> String {
    match seconds {
        None => "-".to_owned(),
        Some(seconds) if seconds.is_infinite() => "never".to_owned(),
        Some(seconds) => format!("{:.0}", seconds * 1e3),
    }
}

/// Milliseconds.
fn tenths(seconds: Option<f64>) -> String {
    seconds.map_or("-".to_owned(), |seconds| format!("{:.1}", seconds * 1e3))
}

fn hundredths(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

fn joined(cells: &[String]) -> String {
    let cells = cells.iter().zip(WIDTHS).map(|(cell, width)| format!("{cell:>width$}"));
    cells.collect::<Vec<_>>().join(" ")
}
