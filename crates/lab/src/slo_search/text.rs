//! The search as text: one line per step, sorted by rate, and a closing line.

use super::{SearchReport, SearchResult, SloOutcome, Step};
use crate::format::{self, time};
use crate::group::distinct;

const HEADER: [&str; 7] = ["offered /s", "answered /s", "p50", "p99", "failed", "verdict", "SLO"];
/// Index of the first text column.
const WORDS: usize = 5;

pub fn text(found: &SearchReport) -> String {
    let mut steps: Vec<&Step> = found.steps.iter().collect();
    // Stable: steps of one rate stay in execution order.
    steps.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    let confirmed = found.end.confirmed();
    let lines = format::table(&HEADER, |column| column < WORDS, steps.into_iter().map(|step| row(step, confirmed)));
    let times = found.times.as_ref().map_or(String::new(), |times| format!("{times}\n"));
    format!("{}: the highest rate at which {} holds\n{times}\n{lines}\n{}\n", found.url, found.slo, closing(found))
}

/// `confirmed`: the rate that is the result of the search.
fn row(step: &Step, confirmed: Option<f64>) -> Vec<String> {
    let word = match step.outcome {
        SloOutcome::Holds if step.confirms && confirmed == Some(step.rate) => "holds, confirmed".to_owned(),
        SloOutcome::Holds => "holds".to_owned(),
        SloOutcome::Breaks => format!("breaks: {}", step.broken.join("; ")),
        SloOutcome::GeneratorLimited => format!("generator-limited: {}", step.broken.join("; ")),
    };
    vec![
        rate(step.rate),
        rate(step.answered),
        time(step.p50_us),
        time(step.p99_us),
        if step.errors > 0.0 { format!("{:.2} %", step.errors * 100.0) } else { "0".to_owned() },
        step.verdict.word().to_owned(),
        word,
    ]
}

/// The result in one line.
pub fn closing(found: &SearchReport) -> String {
    let slo = &found.slo;
    match found.end {
        SearchResult::Holds { rate: highest, breaks } => format!(
            "{slo} holds up to {} requests/s, confirmed; it breaks at {}: the limit lies between them",
            rate(highest),
            rate(breaks)
        ),
        SearchResult::HoldsAtMost { rate: highest } => {
            format!(
                "{slo} holds at {} requests/s, the highest rate that was to be tried (--to), confirmed",
                rate(highest)
            )
        }
        SearchResult::GeneratorLimited { rate: Some(highest), limited } => format!(
            "client-limited: {slo} holds at {} requests/s; at {} the generator was the limit, so the target's own limit is \
             not known: {}",
            rate(highest),
            rate(limited),
            remedy(found, limited)
        ),
        SearchResult::GeneratorLimited { rate: None, limited } => format!(
            "client-limited: down to {} requests/s the generator was the limit, so nothing is known of the target: {}",
            rate(limited),
            remedy(found, limited)
        ),
        SearchResult::Never { lowest } => {
            format!("{slo} does not hold at any rate down to {} requests/s; --from begins lower", rate(lowest))
        }
    }
}

/// What to do about the generator that was the limit at this rate.
fn remedy(found: &SearchReport, limited: f64) -> String {
    let steps = found.steps.iter().filter(|step| step.rate == limited && step.outcome == SloOutcome::GeneratorLimited);
    distinct(steps.flat_map(|step| step.remedy.iter().map(String::as_str))).join("; ")
}

/// Three significant digits.
fn rate(per_second: f64) -> String {
    match per_second {
        r if r >= 999.5e3 => format!("{:.2}M", r / 1e6),
        r if r >= 99.95e3 => format!("{:.0}k", r / 1e3),
        r if r >= 9.995e3 => format!("{:.1}k", r / 1e3),
        r if r >= 999.5 => format!("{:.2}k", r / 1e3),
        r if r >= 99.95 => format!("{r:.0}"),
        r => format!("{r:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::verdict::Kind;

    #[test]
    fn the_knee_is_in_the_order_of_its_rates() {
        let step = |(rate, confirms, broken): (f64, bool, &[&str])| Step {
            dir: "steps/01".into(),
            rate,
            confirms,
            answered: rate * 0.999,
            p50_us: Some(41.2),
            p99_us: Some(rate / 2.0),
            errors: 0.0,
            verdict: Kind::Ok,
            broken: broken.iter().map(|why| (*why).to_owned()).collect(),
            remedy: Vec::new(),
            outcome: if broken.is_empty() { SloOutcome::Holds } else { SloOutcome::Breaks },
        };
        let broken = ["p99<6ms: it was 8000.0 us"];
        let steps = [(1e3, false, &[][..]), (16e3, false, &broken), (12.5e3, false, &[]), (12.5e3, true, &[])];
        let steps = steps.map(step).to_vec();
        let end = SearchResult::Holds { rate: 12_500.0, breaks: 13_100.0 };
        let page = text(&SearchReport { url: "tcp://h:1".into(), times: None, slo: "p99<6ms".into(), end, steps });
        let expected = "\
tcp://h:1: the highest rate at which p99<6ms holds

 offered /s  answered /s      p50      p99  failed  verdict  SLO
      1.00k          999  41.2 us   500 us       0  ok       holds
      12.5k        12.5k  41.2 us  6.25 ms       0  ok       holds
      12.5k        12.5k  41.2 us  6.25 ms       0  ok       holds, confirmed
      16.0k        16.0k  41.2 us  8.00 ms       0  ok       breaks: p99<6ms: it was 8000.0 us

p99<6ms holds up to 12.5k requests/s, confirmed; it breaks at 13.1k: the limit lies between them
";
        assert_eq!(page, expected);
    }

    #[test]
    fn only_the_result_is_called_confirmed() {
        let step = |(rate, confirms, outcome): (f64, bool, SloOutcome)| Step {
            dir: "steps/01".into(),
            rate,
            confirms,
            answered: rate,
            p50_us: None,
            p99_us: None,
            errors: 0.0,
            verdict: Kind::ClientLimited,
            broken: Vec::new(),
            remedy: vec!["stop other programs on these cores".to_owned()],
            outcome,
        };
        let steps =
            [(2e3, true, SloOutcome::Holds), (2e3, true, SloOutcome::GeneratorLimited), (1e3, true, SloOutcome::Holds)];
        let page = |end| {
            let steps = steps.map(step).to_vec();
            text(&SearchReport { url: "tcp://h:1".into(), times: None, slo: "p99<6ms".into(), end, steps })
        };
        let limited = page(SearchResult::GeneratorLimited { rate: Some(1e3), limited: 2e3 });
        assert!(!limited.contains("confirmed"), "{limited}");
        assert!(limited.trim_end().ends_with("is not known: stop other programs on these cores"), "{limited}");
        let holds = page(SearchResult::Holds { rate: 1e3, breaks: 2e3 });
        assert_eq!(holds.matches("holds, confirmed").count(), 1, "{holds}");
    }
}
