//! Costs over rates, on slices of known servers: standing and marginal cost, misfits, ties, the frontier.

mod length;

use brunt_results::LatencySummary;
use brunt_slices::Slice;
use brunt_slices::cost::{CostAnalysis, CostLine, CostSlice, Settings, TargetCost, analyse, line_over_starts, read};
use brunt_testkit::chance::{Chance, experiments, share};
use std::fs;

const RATES: [f64; 4] = [1e3, 5e3, 20e3, 50e3];
const LENGTH_US: f64 = 1.5e6;

/// A server of known cost.
#[derive(Clone, Copy)]
struct Server {
    name: &'static str,
    /// In microseconds a second.
    standing: f64,
    marginal: f64,
    /// Above this rate a request costs that much more.
    bend: Option<(f64, f64)>,
    /// The most that it answers a second.
    most: f64,
    p99_us: f64,
}

impl Server {
    fn new(name: &'static str, standing: f64, marginal: f64) -> Self {
        Self { name, standing, marginal, bend: None, most: 1e9, p99_us: 500.0 }
    }

    fn cpu_us_per_s(&self, rate: f64) -> f64 {
        let more = self.bend.map_or(0.0, |(from, more)| (rate - from).max(0.0) * more);
        self.standing + self.marginal * rate + more
    }
}

/// Noise of a machine: of each round for all of its slices, and of each slice.
#[derive(Clone, Copy)]
struct Noise {
    round: f64,
    slice: f64,
    /// The share of a round's noise that the next one has too.
    kept: f64,
}

const QUIET: Noise = Noise { round: 0.0, slice: 0.0, kept: 0.0 };
const USUAL: Noise = Noise { round: 0.08, slice: 0.04, kept: 0.0 };
/// As on a virtual machine: costs of one server in rounds of 3 s are correlated by 0.25 from one to the next, and by 0.1 over five.
const SPELLS: Noise = Noise { round: 0.08, slice: 0.12, kept: 0.8 };

fn slice(server: &Server, rate: f64, noise: f64, latency: f64) -> CostSlice {
    let answered = rate.min(server.most);
    let replies = (answered * LENGTH_US / 1e6).round() as u64;
    let us = server.cpu_us_per_s(replies as f64 / LENGTH_US * 1e6) * LENGTH_US / 1e6;
    let slice = Slice {
        target: server.name.to_owned(),
        window_us: LENGTH_US as u64,
        busy_us: LENGTH_US as u64,
        completed: replies,
        replies,
        server_cpu_us: Some(us * noise),
        latency: LatencySummary {
            count: replies,
            p50_us: Some(server.p99_us / 5.0),
            p99_us: Some(server.p99_us * latency),
            ..LatencySummary::default()
        },
        ..Slice::default()
    };
    CostSlice { rate, span_us: LENGTH_US, front_cpu_us: None, second: false, slice }
}

/// Rounds of slices at all rates, in random order.
fn slices(servers: &[Server], rounds: u32, noise: Noise, seed: u64) -> Vec<CostSlice> {
    let mut chance = Chance::new(seed);
    let (mut all, mut common) = (Vec::new(), noise.round * chance.normal());
    for round in 1..=rounds {
        common = noise.kept * common + (1.0 - noise.kept.powi(2)).sqrt() * noise.round * chance.normal();
        let mut order: Vec<(&Server, f64)> =
            servers.iter().flat_map(|server| RATES.map(|rate| (server, rate))).collect();
        chance.shuffle(&mut order);
        for (position, (server, rate)) in (0..).zip(order) {
            let factor = (common + noise.slice * chance.normal()).exp();
            let mut one = slice(server, rate, factor, (noise.slice * chance.normal()).exp());
            (one.slice.start, one.slice.round, one.slice.position) = (1, round, position);
            all.push(one);
        }
    }
    all
}

fn settings(servers: &[Server]) -> Settings {
    Settings { targets: servers.iter().map(|server| server.name.to_owned()).collect(), rates: RATES.to_vec() }
}

fn found(servers: &[Server], rounds: u32, noise: Noise, seed: u64) -> CostAnalysis {
    analyse(&slices(servers, rounds, noise, seed), &settings(servers))
}

fn names(analysis: &CostAnalysis) -> Vec<Vec<&str>> {
    analysis.groups.iter().map(|group| group.iter().map(String::as_str).collect()).collect()
}

#[test]
fn without_noise_both_terms_are_exact() {
    let server = Server::new("one", 200e3, 25.0);
    let analysis = found(&[server], 8, QUIET, 1);
    let target = &analysis.targets[0];
    let line = target.line.as_ref().unwrap();
    assert!((line.standing_us_per_s.value / 200e3 - 1.0).abs() < 1e-9, "{line:?}");
    assert!((line.marginal_us.value / 25.0 - 1.0).abs() < 1e-9, "{line:?}");
    assert_eq!((line.rates.as_slice(), line.rounds, analysis.void), (&RATES[..], 8, 0));
    let misfit = line.misfit.as_ref().unwrap();
    assert!(misfit.off.abs() < 1e-9 && misfit.bend.is_none(), "{misfit:?}");
    for (point, rate) in target.points.iter().zip(RATES) {
        let cost = point.cost_us.unwrap();
        assert!((cost.value - (200e3 / rate + 25.0)).abs() < 1e-9 && cost.half().unwrap() < 1e-9, "{point:?}");
        assert!((point.cpu_percent.unwrap() - (200e3 + 25.0 * rate) / 1e4).abs() < 1e-9);
        assert_eq!((point.rate, point.answered, point.slices, point.failed), (rate, rate, 8, 0));
        assert_eq!((point.p50_us, point.p99_us.unwrap().value), (Some(100.0), 500.0));
        assert!(point.left_out.is_none() && point.on_frontier);
    }
    assert!(analysis.is_precise(0.001) && target.no_line.is_none() && target.idle_us_per_s.is_none());
}

/// A thousand experiments show coverage to within 1.4 %.
#[test]
fn intervals_of_both_terms_hold_the_truth() {
    let server = Server::new("one", 60e3, 12.0);
    for rounds in [8, 20] {
        let held = experiments(1000, |seed| {
            let analysis = found(&[server], rounds, USUAL, 1000 + seed);
            let target = &analysis.targets[0];
            let line = target.line.as_ref().unwrap();
            let cost = target.points[2].cost_us.unwrap();
            let is_bent = line.misfit.as_ref().unwrap().bend.is_some();
            let truth = 60e3 / RATES[2] + 12.0;
            (line.standing_us_per_s.holds(60e3), line.marginal_us.holds(12.0), cost.holds(truth), is_bent)
        });
        let shares = [share(&held, |h| h.0), share(&held, |h| h.1), share(&held, |h| h.2)];
        println!("{rounds} rounds: {shares:?}, bent {}", share(&held, |h| h.3));
        assert!(shares.iter().all(|share| (0.935..=0.99).contains(share)), "{rounds} rounds: {shares:?}");
        assert!(share(&held, |h| h.3) < 0.02, "a line is called bent");
    }
}

#[test]
fn intervals_hold_the_truth_through_spells_of_the_machine() {
    let server = Server::new("one", 60e3, 12.0);
    // Four spells are few to know their size by.
    for (rounds, least) in [(20, 0.86), (60, 0.92)] {
        let held = experiments(500, |seed| {
            let analysis = found(&[server], rounds, SPELLS, 1000 + seed);
            let target = &analysis.targets[0];
            let line = target.line.as_ref().unwrap();
            let cost = target.points[2].cost_us.unwrap();
            (line.standing_us_per_s.holds(60e3), line.marginal_us.holds(12.0), cost.holds(60e3 / RATES[2] + 12.0))
        });
        let shares = [share(&held, |h| h.0), share(&held, |h| h.1), share(&held, |h| h.2)];
        println!("{rounds} rounds: {shares:?}");
        assert!(shares.iter().all(|share| *share >= least), "{rounds} rounds: {shares:?}");
    }
}

#[test]
fn two_measurements_have_intervals_that_overlap() {
    let server = Server::new("one", 60e3, 12.0);
    let both = experiments(400, |seed| {
        let line = |seed: u64| found(&[server], 20, USUAL, seed).targets[0].line.clone().unwrap();
        let (one, other) = (line(2 * seed), line(2 * seed + 1));
        !one.marginal_us.is_below(&other.marginal_us) && !other.marginal_us.is_below(&one.marginal_us)
    });
    assert!(share(&both, |overlap| *overlap) > 0.98);
}

#[test]
fn a_bend_is_found_at_the_rate_where_it_is() {
    let bent = Server { bend: Some((20e3, 6.0)), ..Server::new("one", 60e3, 12.0) };
    let bends = experiments(200, |seed| {
        let line = found(&[bent], 20, USUAL, seed).targets[0].line.clone().unwrap();
        line.misfit.unwrap().bend.map(|bend| (bend.rate, bend.above.marginal_us - bend.below.marginal_us))
    });
    let at = share(&bends, |bend| bend.is_some_and(|(rate, more)| rate == 20e3 && (3.0..9.0).contains(&more)));
    assert!(at > 0.95, "{at}");
}

#[test]
fn equal_targets_are_a_tie_and_others_are_not() {
    let servers =
        [Server::new("dear", 60e3, 13.5), Server::new("twin", 60e3, 12.0), Server::new("other twin", 60e3, 12.0)];
    let groups = experiments(200, |seed| {
        let analysis = found(&servers, 20, USUAL, seed);
        let names = names(&analysis);
        let is_tie = names[0].len() == 2 && !names[0].contains(&"dear");
        (is_tie && names[1..] == [vec!["dear"]], names.iter().any(|group| group.len() == 3))
    });
    assert!(share(&groups, |(right, _)| *right) > 0.93, "{}", share(&groups, |(right, _)| *right));
    assert!(share(&groups, |(_, all)| *all) < 0.05);
}

/// One is cheaper at low rates, the other at high ones, and the mean is the same.
#[test]
fn curves_that_cross_are_no_tie() {
    let servers = [Server::new("standing", 150e3, 10.0), Server::new("marginal", 20e3, 22.0)];
    let apart = experiments(100, |seed| names(&found(&servers, 20, USUAL, seed)).len() == 2);
    assert!(share(&apart, |apart| *apart) > 0.98);
}

#[test]
fn a_rate_that_is_not_held_is_left_out_with_the_reason() {
    let server = Server { most: 30e3, ..Server::new("one", 60e3, 12.0) };
    let analysis = found(&[server], 8, QUIET, 1);
    let target = &analysis.targets[0];
    let reason = target.points[3].left_out.as_ref().unwrap();
    assert_eq!(reason, "60 % of the requests were answered in time: it does not hold the rate");
    let line = target.line.as_ref().unwrap();
    assert_eq!(line.rates, RATES[..3]);
    assert!((line.marginal_us.value - 12.0).abs() < 1e-9 && !target.points[3].on_frontier);

    let mut all = slices(&[server], 8, QUIET, 1);
    for one in all.iter_mut().filter(|one| one.rate > 20e3) {
        one.slice.generator_percent = 99.0;
    }
    let analysis = analyse(&all, &settings(&[server]));
    let reason = analysis.targets[0].points[3].left_out.as_ref().unwrap();
    assert!(reason.ends_with("the generator was the limit: give it more --cores"), "{reason}");
}

#[test]
fn failures_and_missing_cpu_time_are_reasons() {
    let server = Server::new("one", 60e3, 12.0);
    let mut all = slices(&[server], 8, QUIET, 1);
    for one in all.iter_mut().filter(|one| one.rate == 1e3) {
        one.slice.failed = 10;
    }
    let analysis = analyse(&all, &settings(&[server]));
    let points = &analysis.targets[0].points;
    assert_eq!(points[0].left_out.as_deref(), Some("80 of 12080 requests failed"));
    assert_eq!((points[0].failed, points[1].failed), (80, 0));

    all.iter_mut().for_each(|one| one.slice.server_cpu_us = None);
    let target = &analyse(&all, &settings(&[server])).targets[0];
    assert_eq!(target.no_line.as_deref(), Some("its CPU time is not known"));
    assert!(target.points.iter().all(|point| point.cost_us.is_none()), "{target:?}");

    let none = &analyse(&[], &settings(&[server])).targets[0];
    assert_eq!(none.points[0].left_out.as_deref(), Some("no slice counts"));
}

#[test]
fn rounds_that_the_machine_spoilt_do_not_count() {
    let server = Server::new("one", 60e3, 12.0);
    let mut all = slices(&[server], 9, QUIET, 1);
    // One slice of the third round.
    all[9].slice.lost_us = 0.2 * LENGTH_US;
    all[9].slice.server_cpu_us = Some(9e9);
    let analysis = analyse(&all, &settings(&[server]));
    assert_eq!((analysis.rounds, analysis.void), (8, 1));
    assert!((analysis.targets[0].line.as_ref().unwrap().marginal_us.value - 12.0).abs() < 1e-9);
}

#[test]
fn few_rounds_have_values_without_intervals() {
    let server = Server::new("one", 60e3, 12.0);
    let analysis = found(&[server], 5, USUAL, 1);
    let line = analysis.targets[0].line.as_ref().unwrap();
    assert!(line.marginal_us.interval.is_none() && line.marginal_us.value > 0.0);
    assert!(!analysis.is_precise(10.0) && analysis.precision().half.is_none());
    let analysis = found(&[server], 8, USUAL, 1);
    let half = analysis.precision().half.unwrap();
    assert!(half > 0.005 && analysis.is_precise(half) && !analysis.is_precise(half * 0.99));
    assert_eq!(analysis.needed(half / 2.0), Some(32));
}

#[test]
fn the_frontier_has_what_no_other_target_beats() {
    let server = |name, marginal, p99_us| Server { p99_us, ..Server::new(name, 1e3, marginal) };
    let servers = [server("cheap", 10.0, 900.0), server("fast", 20.0, 300.0), server("neither", 21.5, 950.0)];
    let analysis = found(&servers, 20, Noise { kept: 0.0, round: 0.05, slice: 0.01 }, 1);
    let of = |target: &TargetCost| target.points.iter().map(|point| point.on_frontier).collect::<Vec<_>>();
    assert_eq!(analysis.targets.iter().map(of).collect::<Vec<_>>(), [vec![true; 4], vec![true; 4], vec![false; 4]]);
}

#[test]
fn idle_cpu_time_is_that_of_the_slices_of_others() {
    let servers = [Server::new("one", 60e3, 12.0), Server::new("other", 60e3, 12.0)];
    let mut all = slices(&servers, 8, QUIET, 1);
    for one in all.iter_mut().filter(|one| one.slice.target == "one") {
        one.slice.idle_cpu_us = vec![("other".to_owned(), 0.05 * LENGTH_US)];
    }
    let analysis = analyse(&all, &settings(&servers));
    let idle: Vec<Option<f64>> = analysis.targets.iter().map(|target| target.idle_us_per_s).collect();
    assert_eq!(idle[0], None);
    assert!((idle[1].unwrap() / 50e3 - 1.0).abs() < 1e-9);
}

#[test]
fn slices_are_read_back() {
    let server = Server::new("one", 60e3, 12.0);
    let home = brunt_testkit::home();
    let file = home.path().join("slices.jsonl");
    let all = slices(&[server], 2, USUAL, 1);
    let mut lines: Vec<u8> = all.iter().flat_map(CostSlice::line).collect();
    lines.extend(b"{\"cut");
    fs::write(&file, &lines).unwrap();
    assert_eq!(read(&file).unwrap(), all);
    fs::write(&file, "{}\n").unwrap();
    assert!(read(&file).unwrap_err().contains("line 1 is not a slice at a rate"));
    assert!(read(&home.path().join("none")).is_err());
}

/// Twice the slices of one point narrow its interval, and change no other one.
#[test]
fn several_slices_of_a_point_in_a_round_are_one_value() {
    let servers = [Server::new("one", 60e3, 12.0)];
    let mut chance = Chance::new(7);
    let all: Vec<CostSlice> = slices(&servers, 20, QUIET, 1)
        .into_iter()
        .flat_map(|mut one| {
            let count = if one.rate == RATES[0] { 4 } else { 1 };
            let cpu = one.slice.server_cpu_us.unwrap();
            let mut noisy = || {
                one.slice.server_cpu_us = Some(cpu * (0.1 * chance.normal()).exp());
                one.clone()
            };
            (0..count).map(|_| noisy()).collect::<Vec<_>>()
        })
        .collect();
    let few: Vec<CostSlice> =
        all.chunk_by(|a, b| (a.slice.round, a.rate) == (b.slice.round, b.rate)).map(|of| of[0].clone()).collect();
    let (many, few) = (analyse(&all, &settings(&servers)), analyse(&few, &settings(&servers)));
    let half =
        |analysis: &CostAnalysis, point: usize| analysis.targets[0].points[point].cost_us.unwrap().half().unwrap();
    let slices: Vec<usize> = many.targets[0].points.iter().map(|point| point.slices).collect();
    assert_eq!((many.rounds, slices), (20, vec![80, 20, 20, 20]));
    assert!(half(&many, 0) < 0.7 * half(&few, 0), "{} {}", half(&many, 0), half(&few, 0));
    assert_eq!(half(&many, 1), half(&few, 1));
    // Only those that are too wide are made more often, and only while others are not.
    let widest = half(&few, 0).max(half(&few, 1)).max(half(&few, 2)).max(half(&few, 3));
    let wide = few.wide_points(0.99 * widest);
    assert_eq!(wide.len(), 1, "{wide:?}");
    assert_eq!((few.wide_points(widest), few.wide_points(0.0)), (vec![], vec![]));
}

#[test]
fn a_target_with_something_behind_it_has_a_line_of_each_part() {
    let server = Server::new("proxy", 60e3, 12.0);
    let mut all = slices(&[server], 8, QUIET, 1);
    // A standing cost of 10 ms a second and 5 us a request are what listens.
    for one in &mut all {
        one.front_cpu_us = Some((10e3 + 5.0 * one.rate) * LENGTH_US / 1e6);
    }
    let target = &analyse(&all, &settings(&[server])).targets[0];
    let of = |line: &CostLine| [line.standing_us_per_s.value, line.marginal_us.value];
    let parts: Vec<(&str, [f64; 2])> = target.parts.iter().map(|part| (part.part.as_str(), of(&part.line))).collect();
    let [("listener", listener), ("behind", behind)] = parts[..] else { panic!("{parts:?}") };
    for (found, truth) in [listener, behind].concat().into_iter().zip([10e3, 5.0, 50e3, 7.0]) {
        assert!((found / truth - 1.0).abs() < 1e-6, "{parts:?}");
    }
}

#[test]
fn a_line_over_starts_has_the_spread_between_them_in_its_interval() {
    let held = experiments(500, |seed| {
        let mut chance = Chance::new(seed);
        let start = |_| {
            let own = (0.02 * chance.normal()).exp();
            RATES.map(|rate| ((60e3 + 12.0 * rate) * own * (0.002 * chance.normal()).exp(), rate)).to_vec()
        };
        let starts: Vec<Vec<(f64, f64)>> = (0..5).map(start).collect();
        let line = line_over_starts(&RATES, &starts).unwrap();
        (line.standing_us_per_s.holds(60e3), line.marginal_us.holds(12.0))
    });
    let shares = [share(&held, |held| held.0), share(&held, |held| held.1)];
    assert!(shares.iter().all(|share| (0.9..=0.995).contains(share)), "{shares:?}");
    let two = line_over_starts(&RATES, &vec![RATES.map(|rate| (60e3 + 12.0 * rate, rate)).to_vec(); 2]).unwrap();
    assert!(two.marginal_us.interval.is_none() && (two.marginal_us.value - 12.0).abs() < 1e-9);
    assert!(line_over_starts(&RATES[..1], &[vec![(1.0, 1.0)]]).is_err());
}

/// Eight rounds and fifteen pairs: what costs twice as much is no tie.
#[test]
fn few_rounds_of_many_targets_tell_apart_what_is_far_apart() {
    let names = ["a", "b", "c", "d", "e"];
    let mut servers: Vec<Server> = names.iter().map(|name| Server::new(name, 20e3, 20.0)).collect();
    servers.push(Server::new("twice", 40e3, 40.0));
    let apart = experiments(100, |seed| {
        let analysis = found(&servers, 8, Noise { kept: 0.0, round: 0.1, slice: 0.15 }, seed);
        let groups = crate::cost::names(&analysis);
        groups.last().is_some_and(|last| last == &["twice"])
    });
    assert!(share(&apart, |apart| *apart) > 0.95, "{}", share(&apart, |apart| *apart));
}
