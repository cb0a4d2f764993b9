//! The search as text: one line per rate or run in the order of trying, a closing line, and the doubts.

use super::{SearchReport, SearchResult, SloOutcome, Step};
use crate::format::{self, three_digits, time_unit};
use crate::group::distinct;

/// Index of the first text column.
pub(super) const WORDS: usize = 6;

pub fn text(found: &SearchReport) -> String {
    let Table { head, rows } = table(found);
    let lines = format::table(&head, |column| column < WORDS, rows);
    let times = found.times.as_ref().map_or(String::new(), |times| format!("{times}\n"));
    let doubts: String = found.doubts.iter().map(|doubt| format!("note: {doubt}\n")).collect();
    format!(
        "{}: the highest rate at which {} holds; rates in the order of trying\n{times}\n{lines}\n{}\n{doubts}",
        found.url,
        found.slo,
        closing(found)
    )
}

/// The steps, in the order of trying; the rates are in one unit, as are the times.
pub(super) struct Table {
    pub head: [String; 8],
    pub rows: Vec<Vec<String>>,
}

pub(super) fn table(found: &SearchReport) -> Table {
    let times = found.steps.iter().flat_map(|step| [step.p50_us, step.p99_us]).flatten();
    let (time, time_us) = time_unit(times);
    let is_thousands = found.steps.iter().all(|step| step.rate >= 10e3);
    let (rate, per_second) = if is_thousands { ("k/s", 1e3) } else { ("/s", 1.0) };
    let [offered, answered, p50, p99] = [("offered", rate), ("answered", rate), ("p50", time), ("p99", time)]
        .map(|(name, unit)| format!("{name} {unit}"));
    let [failed, slices, verdict, slo] = ["failed", "slices", "verdict", "SLO"].map(str::to_owned);
    let head = [offered, answered, p50, p99, failed, slices, verdict, slo];
    let row = |step: &Step| {
        vec![
            three_digits(Some(step.rate / per_second)),
            three_digits(Some(step.answered / per_second)),
            three_digits(step.p50_us.map(|us| us / time_us)),
            three_digits(step.p99_us.map(|us| us / time_us)),
            if step.errors > 0.0 { format!("{:.2} %", step.errors * 100.0) } else { "0".to_owned() },
            step.slices.map_or(format::ABSENT.to_owned(), |slices| slices.to_string()),
            step.verdict.word().to_owned(),
            answer(step, found),
        ]
    };
    Table { head, rows: found.steps.iter().map(row).collect() }
}

/// In few words: the columns have the figures, and the report all of `broken`.
fn answer(step: &Step, found: &SearchReport) -> String {
    let crossed = || {
        let bounds = step.broken.iter().filter_map(|why| why.split_once(": it was").map(|(bound, _)| bound));
        let bounds = distinct(bounds).join(", ");
        if bounds.is_empty() { bounds } else { format!(": {bounds}") }
    };
    match step.outcome {
        SloOutcome::Holds if step.confirms && found.end.confirmed() == Some(step.rate) => "holds, confirmed".to_owned(),
        SloOutcome::Holds => "holds".to_owned(),
        SloOutcome::Breaks => format!("breaks{}", crossed()),
        SloOutcome::GeneratorLimited => "generator-limited".to_owned(),
        SloOutcome::Unclear => format!("unclear{}", crossed()),
    }
}

/// The result in one line.
pub fn closing(found: &SearchReport) -> String {
    let slo = &found.slo;
    let confirmed = |rate: f64| {
        let is_confirmed = found.steps.iter().any(|step| step.rate == rate && step.confirms);
        if is_confirmed { ", confirmed" } else { "" }
    };
    match found.end {
        SearchResult::Holds { rate: highest, breaks } => format!(
            "{slo} holds up to {} requests/s{}; it breaks at {}: the limit lies between them",
            rate(highest),
            confirmed(highest),
            rate(breaks)
        ),
        SearchResult::HoldsAtMost { rate: highest } => {
            format!(
                "{slo} holds at {} requests/s, the highest rate that was to be tried (--to){}",
                rate(highest),
                confirmed(highest)
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
        SearchResult::Undecided { rate: Some(highest), breaks: None } => {
            format!("{slo} holds at {} requests/s; where it breaks is not known", rate(highest))
        }
        SearchResult::Undecided { breaks: Some(breaks), .. } => {
            format!("{slo} breaks at {} requests/s; where it holds is not known", rate(breaks))
        }
        SearchResult::Undecided { .. } => format!("{slo}: no rate is certain to hold or to break"),
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

    fn step(rate: f64, confirms: bool, outcome: SloOutcome) -> Step {
        let is_broken = outcome != SloOutcome::Holds;
        Step {
            dir: "steps/01".into(),
            rate,
            confirms,
            slices: Some(25),
            measured_s: 5.0,
            answered: rate * 0.999,
            p50_us: Some(41.2),
            p99_us: Some(rate / 2.0),
            slo_us: Some(rate / 2.0),
            errors: 0.0,
            verdict: Kind::Ok,
            broken: is_broken.then(|| "p99<6ms: it was 8.000 ms".to_owned()).into_iter().collect(),
            remedy: is_broken.then(|| "stop other programs on these cores".to_owned()).into_iter().collect(),
            outcome,
        }
    }

    fn found(end: SearchResult, steps: &[Step]) -> SearchReport {
        SearchReport {
            url: "tcp://h:1".into(),
            times: None,
            slo: "p99<6ms".into(),
            bound: Some(("p99".into(), 6000.0)),
            end,
            confidence: 0.99,
            rounds: 25,
            doubts: vec!["one start of the target was measured".to_owned()],
            steps: steps.to_vec(),
        }
    }

    #[test]
    fn rates_are_in_the_order_of_trying_and_in_one_unit() {
        let steps = [
            step(1e3, false, SloOutcome::Holds),
            step(13.1e3, true, SloOutcome::Breaks),
            step(12.8e3, false, SloOutcome::Unclear),
            step(12.5e3, true, SloOutcome::Holds),
        ];
        let found = found(SearchResult::Holds { rate: 12_500.0, breaks: 13_100.0 }, &steps);
        let expected = "\
tcp://h:1: the highest rate at which p99<6ms holds; rates in the order of trying

 offered /s  answered /s  p50 us  p99 us  failed  slices  verdict  SLO
       1000          999    41.2     500       0      25  ok       holds
      13100        13087    41.2    6550       0      25  ok       breaks: p99<6ms
      12800        12787    41.2    6400       0      25  ok       unclear: p99<6ms
      12500        12488    41.2    6250       0      25  ok       holds, confirmed

p99<6ms holds up to 12.5k requests/s, confirmed; it breaks at 13.1k: the limit lies between them
note: one start of the target was measured
";
        assert_eq!(text(&found), expected);
        let page = super::super::page(&found, &[]).unwrap();
        for part in ["p99&lt;6ms holds up to 12.5k", "<svg role=\"img\"", "<td>holds, confirmed</td>", "<li>one start"]
        {
            assert!(page.contains(part), "{part}");
        }
        assert!(
            !page.contains("http://") || page.matches("http://").count() == page.matches("http://www.w3.org").count()
        );
    }

    #[test]
    fn large_figures_have_larger_units() {
        let slow = Step { p99_us: Some(250e3), ..step(12.5e3, true, SloOutcome::Holds) };
        let found = found(SearchResult::HoldsAtMost { rate: 64e3 }, &[slow, step(64e3, true, SloOutcome::Holds)]);
        let Table { head, rows } = table(&found);
        assert_eq!(head[..4], ["offered k/s", "answered k/s", "p50 ms", "p99 ms"]);
        assert_eq!(
            (&rows[0][..4], &rows[1][..2]),
            (&["12.5", "12.5", "0.041", "250"].map(str::to_owned)[..], &["64.0", "63.9"].map(str::to_owned)[..])
        );
    }

    #[test]
    fn only_the_result_is_called_confirmed() {
        let steps = [step(1e3, true, SloOutcome::Holds), step(2e3, true, SloOutcome::GeneratorLimited)];
        let limited = text(&found(SearchResult::GeneratorLimited { rate: Some(1e3), limited: 2e3 }, &steps));
        assert!(!limited.contains("confirmed"), "{limited}");
        assert!(limited.contains("is not known: stop other programs on these cores"), "{limited}");
        let unconfirmed = [step(1e3, false, SloOutcome::Holds), step(2e3, false, SloOutcome::Breaks)];
        let holds = text(&found(SearchResult::Holds { rate: 1e3, breaks: 2e3 }, &unconfirmed));
        assert!(!holds.contains("confirmed") && holds.contains("holds up to 1.00k requests/s; it breaks"), "{holds}");
    }
}
