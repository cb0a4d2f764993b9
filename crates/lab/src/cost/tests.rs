//! Measurements in given time, of servers of which the cost is known.

use super::*;
use crate::clock::given::{Given, Machine as _, Still};
use crate::slices::{ConnectionSet, Measured, SliceSpec};
use brunt_results::env::Env;
use brunt_results::latency::new_histogram;
use brunt_results::result::{Connections, Errors, Load};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;

const RATES: [f64; 4] = [1e3, 5e3, 20e3, 50e3];

/// A server of known cost.
#[derive(Debug)]
struct Server {
    name: String,
    machine: Rc<Still>,
    /// In microseconds a second, and in microseconds.
    standing: f64,
    marginal: f64,
    /// What a slice at another rate, or after one of another server, costs more.
    cold: Duration,
    /// The most that it answers a second.
    most: f64,
    /// By which share the marginal cost of slices is above and below.
    wobble: f64,
    slices: Cell<u32>,
    used: Cell<Duration>,
    /// Lengths of its slices.
    made: RefCell<Vec<Duration>>,
}

#[derive(Debug)]
struct Bench {
    machine: Rc<Still>,
    servers: RefCell<BTreeMap<String, Rc<Server>>>,
    /// The server and the rate of the last slice.
    last: RefCell<(String, Option<f64>)>,
    /// Set once so many slices were made.
    stop: (Rc<AtomicBool>, Cell<Option<u32>>),
}

/// The connections to a server.
struct Set {
    bench: Rc<Bench>,
    server: Rc<Server>,
    rate: Option<f64>,
    load: Load,
}

struct Account(Rc<Server>);

impl Bench {
    fn begin() -> (Rc<Self>, Given) {
        let machine = Rc::new(Still::default());
        let given = Given::begin(machine.clone());
        (
            Rc::new(Self { machine, servers: RefCell::default(), last: RefCell::default(), stop: Default::default() }),
            given,
        )
    }

    fn serve(&self, name: &str, change: impl FnOnce(&mut Server)) {
        let mut server = Server {
            name: name.to_owned(),
            machine: self.machine.clone(),
            standing: 200e3,
            marginal: 10.0,
            cold: Duration::ZERO,
            most: 1e9,
            wobble: 0.0,
            slices: Cell::default(),
            used: Cell::default(),
            made: RefCell::default(),
        };
        change(&mut server);
        self.servers.borrow_mut().insert(name.to_owned(), Rc::new(server));
    }

    fn server(&self, name: &str) -> Rc<Server> {
        self.servers.borrow()[name].clone()
    }

    /// Measures these targets; those that do not serve too.
    fn cost(self: &Rc<Self>, names: &[&str], change: impl FnOnce(&mut Request)) -> Option<(CostReport, Vec<State>)> {
        let home = brunt_testkit::home();
        let target = |name: &&str| Target {
            name: (*name).to_owned(),
            words: vec![(*name).to_owned()],
            closed_words: vec![(*name).to_owned()],
            process: None,
            server: self
                .servers
                .borrow()
                .get(*name)
                .map(|server| Box::new(Account(server.clone())) as Box<dyn TargetAccount>),
        };
        let mut request = Request {
            targets: names.iter().map(target).collect(),
            rates: Rates::List(RATES.to_vec()),
            slice: None,
            precision: 0.05,
            budget: None,
            seed: 1,
            out: home.path().join("cost"),
            env: Env { command: vec!["brunt".to_owned(), "cost".to_owned()], ..Env::default() },
            generator: Rc::new(Opens(self.clone())),
            notes: Vec::new(),
        };
        change(&mut request);
        let out = request.out.clone();
        let mut states = Vec::new();
        let report = run(request, &self.stop.0, &mut |state| states.push(state.clone())).unwrap()?;
        let json: serde_json::Value = serde_json::from_slice(&fs::read(out.join("cost.json")).unwrap()).unwrap();
        assert_eq!(json["rounds"], report.rounds);
        let page = fs::read_to_string(out.join("report.html")).unwrap();
        assert!(page.contains("<svg role=\"img\"") && page.contains("<code>brunt cost</code>"));
        assert!(fs::read_to_string(out.join("cost.svg")).unwrap().contains("p99, over CPU time a request"));
        let slices = brunt_slices::cost::read(&out.join(FILE)).unwrap();
        assert!(slices.len() >= report.rounds, "{}", slices.len());
        Some((report, states))
    }
}

#[derive(Debug)]
struct Opens(Rc<Bench>);

impl Generator for Opens {
    fn open(&self, words: &[String]) -> Result<Box<dyn ConnectionSet>, String> {
        let servers = self.0.servers.borrow();
        let server = servers.get(&words[0]).ok_or("connection refused")?.clone();
        let rate = words.iter().position(|word| word == "-R").map(|at| words[at + 1].parse::<brunt_results::Rate>());
        let rate = rate.map(|rate| rate.unwrap().0);
        Ok(Box::new(Set { bench: self.0.clone(), server, rate, load: Load { connections: 1, ..Load::default() } }))
    }
}

impl ConnectionSet for Set {
    fn slice(&mut self, spec: &SliceSpec) -> Result<Measured, String> {
        let server = &self.server;
        let length = spec.lead + spec.window;
        self.bench.machine.pass(length);
        server.made.borrow_mut().push(length);
        let rate = self.rate.unwrap_or(server.most).min(server.most);
        let count = |time: Duration| (rate * time.as_secs_f64()).round() as u64;
        let (completed, replies) = (count(spec.window), count(length));
        server.slices.set(server.slices.get() + 1);
        let sign = if server.slices.get().is_multiple_of(3) { 1.0 } else { -1.0 };
        let each = Duration::from_secs_f64(server.marginal * (1.0 + sign * server.wobble) / 1e6);
        let is_cold = self.bench.last.replace((server.name.clone(), self.rate)) != (server.name.clone(), self.rate);
        let cold = if is_cold { server.cold } else { Duration::ZERO };
        server.used.set(server.used.get() + cold + each.mul_f64(replies as f64));
        if self.bench.stop.1.get().is_some_and(|count| server.slices.get() >= count) {
            self.bench.stop.0.store(true, Ordering::Relaxed);
        }
        let mut response = new_histogram();
        response.record_n(100_000, completed.max(1)).unwrap();
        Ok(Measured {
            window: spec.window,
            busy: length,
            offered: self.rate.map(|rate| (rate * spec.window.as_secs_f64()).round() as u64),
            completed,
            replies,
            failed: 0,
            unanswered: 0,
            abandoned: 0,
            waited: None,
            errors: Errors::default(),
            response,
            censored: new_histogram(),
            service: None,
            lag: None,
            sends: None,
            cpu: Duration::ZERO,
            busiest_percent: 10.0,
            sent_bytes: 0,
            received_bytes: 0,
            statuses: Vec::new(),
            connections: Connections::default(),
        })
    }

    fn set_rate(&mut self, per_second: f64) -> Result<(), String> {
        self.rate = Some(per_second);
        Ok(())
    }

    fn threads(&self) -> &[u32] {
        &[]
    }

    fn load(&self) -> &Load {
        &self.load
    }
}

impl TargetAccount for Account {
    fn cpu(&mut self) -> Option<Duration> {
        let standing = self.0.machine.time().mul_f64(self.0.standing / 1e6);
        Some(standing + self.0.used.get())
    }

    fn source(&self) -> String {
        "a test".to_owned()
    }

    fn leaves_out_interrupts(&self) -> bool {
        false
    }

    fn rss_bytes(&self) -> u64 {
        0
    }
}

fn near(found: f64, truth: f64) -> bool {
    (found / truth - 1.0).abs() < 1e-6
}

#[test]
fn both_terms_are_those_of_the_server_and_all_slices_have_one_length() {
    let (bench, _given) = Bench::begin();
    bench.serve("one", |_| ());
    let (report, states) = bench.cost(&["one"], |_| ()).unwrap();
    let line = report.targets[0].line.as_ref().unwrap();
    assert!(near(line.standing_us_per_s.value, 200e3) && near(line.marginal_us.value, 10.0), "{line:?}");
    assert!(line.misfit.as_ref().unwrap().bend.is_none() && report.is_precise);
    assert_eq!((report.rounds, report.void, report.length.slice_ms), (LEAST_ROUNDS, 0, 1500.0));
    let change = report.length.doubled.as_ref().unwrap();
    assert!(change.share.abs() < 1e-6 && change.is_small(), "{change:?}");
    // The warm-up, and rounds of four, the first of which have a second slice at the lowest rate.
    let made = bench.server("one").made.take();
    assert!(made[1..].iter().all(|length| *length == length::FIRST), "{made:?}");
    assert_eq!(made.len(), 1 + 4 * LEAST_ROUNDS + length::LEAST_PAIRS);
    assert!(matches!(states.last(), Some(State::Rounds { made: LEAST_ROUNDS, .. })), "{states:?}");
    let text = text(&report);
    for part in [
        " one   1.0 k/s     210 us [210 210]  21.0 %  100 us  100 us   100..100 us",
        "20.0 % [20.0 20.0]",
        "10.0 us [10.0 10.0]",
        "a line; the farthest point is off by",
        "slices of 1500ms: twice as long changes CPU a request at 1k/s by ",
        "note: one start of each server was measured",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn slices_are_as_long_as_what_their_begin_costs_wants_it() {
    let (bench, _given) = Bench::begin();
    bench.serve("one", |server| {
        // 2 % of a slice of 1.5 s at 1,000 requests a second, and less than 1 % of one of 3 s.
        server.standing = 90e3;
        server.cold = Duration::from_millis(6);
    });
    let (report, states) = bench.cost(&["one"], |_| ()).unwrap();
    assert_eq!(report.length.slice_ms, 3000.0);
    let change = report.length.doubled.as_ref().unwrap();
    assert!(change.is_small() && (-0.01..-0.009).contains(&change.share), "{change:?}");
    let lengths = states.iter().map(|state| match state {
        State::Rounds { slice, .. } => slice.as_millis(),
        State::Peaks => panic!("{states:?}"),
    });
    let short = length::LEAST_PAIRS - 1;
    assert_eq!(lengths.collect::<Vec<_>>(), [vec![1500; short], vec![3000; LEAST_ROUNDS]].concat());
    // What was too short is in no file.
    assert_eq!(report.rounds, LEAST_ROUNDS);
    let line = report.targets[0].line.as_ref().unwrap();
    // The begin of a slice is the same at all rates.
    assert!(near(line.standing_us_per_s.value, 92e3) && near(line.marginal_us.value, 10.0), "{line:?}");
}

#[test]
fn rates_are_shares_of_the_slowest_peak_where_none_are_given() {
    let (bench, _given) = Bench::begin();
    bench.serve("fast", |server| server.most = 90e3);
    bench.serve("slow", |server| server.most = 41_234.0);
    let (report, states) = bench.cost(&["fast", "slow"], |request| request.rates = Rates::Auto).unwrap();
    let rates: Vec<f64> = report.targets[0].points.iter().map(|point| point.rate).collect();
    assert_eq!(rates, [2100.0, 4100.0, 10_000.0, 21_000.0, 31_000.0]);
    assert_eq!(states[0], State::Peaks);
    assert!(report.notes.contains(&"slow answers 41.2 k/s in a closed loop".to_owned()), "{:?}", report.notes);
    assert_eq!(report.groups, [["fast", "slow"]]);
    let text = text(&report);
    assert!(text.contains("tie: fast and slow cannot be told apart by CPU time"), "{text}");
    // Each is idle but for its standing cost while the other has the load, and nothing stops it.
    assert!(report.targets.iter().all(|target| near(target.idle_us_per_s.unwrap(), 200e3)), "{:?}", report.targets);
}

#[test]
fn a_target_that_does_not_answer_is_named_and_the_others_are_measured() {
    let (bench, _given) = Bench::begin();
    bench.serve("one", |_| ());
    bench.serve("mute", |server| server.most = 0.0);
    let (report, _) = bench.cost(&["gone", "mute", "one"], |_| ()).unwrap();
    let why: Vec<Option<&str>> = report.targets.iter().map(|target| target.no_line.as_deref()).collect();
    assert_eq!(why, [Some("connection refused"), Some("it answers nothing"), None]);
    assert!(near(report.targets[2].line.as_ref().unwrap().marginal_us.value, 10.0));
    assert!(text(&report).contains("connection refused"));
    let error = || -> Error {
        let (generator, home) = (Rc::new(Opens(bench.clone())), brunt_testkit::home());
        let words = vec!["gone".to_owned()];
        let gone = Target { name: "gone".into(), closed_words: words.clone(), words, process: None, server: None };
        let request = Request {
            targets: vec![gone],
            rates: Rates::List(RATES.to_vec()),
            slice: None,
            precision: 0.05,
            budget: None,
            seed: 1,
            out: home.path().join("cost"),
            env: Env::default(),
            generator,
            notes: Vec::new(),
        };
        run(request, &AtomicBool::new(false), &mut |_| ()).unwrap_err()
    };
    assert_eq!(error().to_string(), "gone: connection refused");
}

#[test]
fn a_rate_above_the_peak_is_left_out() {
    let (bench, _given) = Bench::begin();
    bench.serve("one", |server| server.most = 30e3);
    let (report, _) = bench.cost(&["one"], |_| ()).unwrap();
    let target = &report.targets[0];
    assert_eq!(target.line.as_ref().unwrap().rates, RATES[..3]);
    let why = target.points[3].left_out.as_deref();
    assert_eq!(why, Some("60 % of the requests were answered in time: it does not hold the rate"));
    let text = text(&report);
    assert!(text.contains("left out: 60 % of the requests"), "{text}");
}

#[test]
fn the_time_ends_rounds_that_are_not_precise() {
    let (bench, _given) = Bench::begin();
    bench.serve("one", |server| server.wobble = 0.3);
    let (report, states) = bench
        .cost(&["one"], |request| {
            request.slice = Some(Span(Duration::from_millis(500)));
            request.budget = Some(Span(Duration::from_secs(30)));
            request.precision = 0.001;
        })
        .unwrap();
    assert!(!report.is_precise && report.length.is_set);
    // 500 ms of warm-up, and rounds of 2 s.
    assert_eq!((report.rounds, report.seconds as u32), (14, 28));
    let note = report.notes.iter().find(|note| note.starts_with("imprecise: the widest interval is that of the"));
    assert!(note.is_some_and(|note| note.ends_with("would do: -d gives more")), "{:?}", report.notes);
    let Some(State::Rounds { made: 14, needed: Some(needed), half: Some(half), .. }) = states.last() else {
        panic!("{states:?}")
    };
    assert!(*needed > 14 && *half > 0.001);
}

#[test]
fn what_was_measured_until_a_stop_is_kept() {
    let (bench, _given) = Bench::begin();
    bench.serve("one", |_| ());
    // In the warm-up, then in the middle of the third round.
    bench.stop.1.set(Some(1 + 4 + 4 + 2));
    let slice = |request: &mut Request| request.slice = Some(Span(Duration::from_millis(500)));
    let (report, _) = bench.cost(&["one"], slice).unwrap();
    let line = report.targets[0].line.as_ref().unwrap();
    assert_eq!((report.rounds, line.rounds), (3, 2));
    assert!(line.marginal_us.interval.is_none() && near(line.marginal_us.value, 10.0), "{line:?}");
    assert!(report.notes.iter().any(|note| note == "imprecise: 3 rounds are too few for ±5 %: -d gives more"));
    // Before any round there is nothing to keep.
    assert!(bench.cost(&["one"], slice).is_none());
}
