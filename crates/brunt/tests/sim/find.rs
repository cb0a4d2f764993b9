//! Searches for the highest rate that meets an SLO: a server of known service time has the limit that follows from it, and the rates
//! that are tried on the way are always the same.

use crate::lab::{Sessions, beside};
use crate::worlds::{MS, SECOND, Serve, US, address, exact, open};
use brunt_lab::slices::SliceSpec;
use brunt_lab::slo_search::{
    self, LoadSource, Metered, Range, RatedSlice, Request, SearchReport, SearchResult, SloOutcome,
};
use brunt_load::Target;
use brunt_results::Span;
use brunt_slices::record;
use std::sync::atomic::AtomicBool;
use std::{fs, path::Path, rc::Rc, time::Duration};

/// A search, and what it did.
struct Found {
    report: SearchReport,
    /// Rates of each round.
    tried: Vec<Vec<f64>>,
    slices: Vec<RatedSlice>,
    /// Lengths of the slices, in the same order.
    specs: Vec<SliceSpec>,
}

#[derive(Clone, Copy)]
struct Search {
    slo: &'static str,
    range: Range,
    step: Duration,
    confirm: Duration,
    budget: Duration,
}

/// Searches with connections that each carry one request at a time, which takes so long, way included.
fn find(connections: usize, each: Duration, search: Search) -> Found {
    let work = format!("sleep={}us", (each - 23 * US).as_micros());
    let target = Target::Echo { address: address().into(), size: 64, reuse: None };
    let load = open(target, search.range.from, connections, 1);
    let home = brunt_testkit::home();
    let out = home.path().join("find");
    beside(&exact(), vec![Serve::echo(&work, 1)], &[load], &[], move |lab| {
        let words = vec!["0".to_owned()];
        let generator = Rc::new(Sessions(lab.clone()));
        let request = Request {
            source: LoadSource::Url {
                url: "sim".to_owned(),
                words,
                server: None,
                account: Metered::default(),
                generator,
            },
            slo: search.slo.parse().unwrap(),
            range: search.range,
            step: Span(search.step),
            confirm: Span(search.confirm),
            slice: Span(200 * MS),
            budget: Span(search.budget),
            seed: 1,
            out: out.clone(),
            command: Vec::new(),
        };
        let mut tried = Vec::new();
        let mut observe = |state: &slo_search::State| tried.push(state.rates.clone());
        let report = slo_search::run(&request, &AtomicBool::new(false), &mut observe).unwrap().unwrap();
        // Without the warm-up.
        let specs = lab.made.take().into_iter().skip(1).map(|(_, spec, _)| spec).collect();
        Found { report, tried, slices: slices(&out), specs }
    })
}

fn slices(out: &Path) -> Vec<RatedSlice> {
    let lines = fs::read_to_string(out.join(record::FILE)).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Replies in the window of a slice with requests at a constant rate: each waits for the connection that is free first (Lindley).
fn completed(rate: f64, connections: usize, each: Duration, spec: SliceSpec) -> u64 {
    let (lead, end) = (spec.lead.as_secs_f64(), (spec.lead + spec.window).as_secs_f64());
    let mut free = vec![0.0; connections];
    let mut count = 0;
    for number in 0.. {
        let due = f64::from(number) / rate;
        if due >= end {
            return count;
        }
        let next = number as usize % connections;
        free[next] = f64::max(due, free[next]) + each.as_secs_f64();
        count += u64::from(free[next] >= lead && free[next] < end);
    }
    count
}

const EASY: Search = Search {
    slo: "p50<900ms",
    range: Range { from: 20.0, to: Some(50.0), precision: 0.03 },
    step: Duration::from_millis(200),
    confirm: Duration::from_millis(400),
    budget: Duration::from_secs(60),
};

#[test]
fn an_slo_that_holds_up_to_the_cap_is_confirmed_there() {
    let Found { report, tried, slices, .. } = find(4, 100 * US, EASY);
    assert_eq!(tried, [20.0, 40.0, 50.0, 50.0, 50.0, 50.0, 50.0, 50.0].map(|rate| vec![rate]));
    assert_eq!(report.end, SearchResult::HoldsAtMost { rate: 50.0 });
    assert_eq!((report.rounds, slices.len()), (5, 8));
    let steps: Vec<_> = report.steps.iter().map(|step| (step.rate, step.confirms, step.outcome)).collect();
    let holds = SloOutcome::Holds;
    assert_eq!(steps, [(20.0, false, holds), (40.0, false, holds), (50.0, true, holds)]);
    let text = slo_search::text(&report);
    assert!(text.contains("p50<900ms holds at 50.0 requests/s, the highest rate that was to be tried"), "{text}");
    assert!(text.contains("holds, confirmed") && text.contains("note: one start of the target"), "{text}");
}

#[test]
fn a_knee_is_found_where_littles_law_puts_it() {
    // Four connections that carry a request of 9.9 ms at a time: 404 requests a second.
    let (connections, each) = (4, 9900 * US);
    let range = Range { from: 100.0, to: None, precision: 0.1 };
    let search = Search { slo: "p50<50ms", range, step: 500 * MS, confirm: SECOND, budget: 60 * SECOND };
    let Found { report, tried, slices, specs } = find(connections, each, search);
    assert_eq!(slices.len(), specs.len());
    for (RatedSlice { rate, slice }, spec) in slices.iter().zip(&specs) {
        assert_eq!(slice.completed, completed(*rate, connections, each, *spec), "{rate} requests/s: {spec:?}");
    }
    let SearchResult::Holds { rate, breaks } = report.end else { panic!("{:?}", report.end) };
    let capacity = connections as f64 / each.as_secs_f64();
    assert!(rate <= capacity && breaks > capacity, "{rate} {breaks}");
    let ascent: [&[f64]; 5] = [&[100.0], &[200.0], &[400.0], &[800.0], &[800.0]];
    let rounds: [&[f64]; 3] = [&[400.0, 800.0], &[400.0, 476.0, 566.0, 673.0, 800.0], &[400.0, 424.0, 449.0, 476.0]];
    let expected = ascent.into_iter().chain(rounds.into_iter().flat_map(|round| [round; 5]));
    assert_eq!(tried, expected.collect::<Vec<_>>());
    assert_eq!((rate, breaks), (400.0, 424.0));
    assert!(report.doubts.len() == 1, "{:?}", report.doubts);
}

#[test]
fn time_that_is_over_leaves_the_limit_open() {
    let search = Search { budget: 450 * MS, ..EASY };
    let Found { report, tried, .. } = find(4, 100 * US, search);
    assert_eq!(tried, [[20.0], [40.0]].map(Vec::from));
    assert_eq!(report.end, SearchResult::Undecided { rate: None, breaks: None });
    assert!(report.doubts[0].contains("the time was over after 450ms"), "{:?}", report.doubts);
}
