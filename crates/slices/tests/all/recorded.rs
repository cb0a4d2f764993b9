//! Replays `tests/recorded.txt`: slices of two equal echo servers on one core, on a virtual machine of two cores that built and tested
//! software meanwhile. What they say depends on that machine alone, so any labels are as true as theirs: roles are drawn anew, and
//! a known difference is multiplied in. `docs/reference/truth.md` has the format and how to record.

use brunt_results::{hlog::encode, latency::new_histogram};
use brunt_slices::{LoadComparison, Progress, Settings, Slice, SlicedLoad, compare};
use brunt_testkit::chance::Chance;
use std::sync::LazyLock;

const TEXT: &str = include_str!("../recorded.txt");

/// As of a sliced run.
const LEAST_STARTS: u32 = 4;

/// What a slice measured.
#[derive(Debug, Clone)]
struct Reading {
    /// Replies a millisecond.
    rate: f64,
    cost_us: f64,
    lost_percent: f64,
    /// Response times, all at the p50: twenty, which is what the figure takes.
    response: String,
}

/// Readings in the order in which they were made, and whether `a` was first.
struct Round {
    a_first: bool,
    readings: [Reading; 2],
}

/// Rounds of one start.
struct Recording {
    rounds: Vec<Round>,
    /// Medians of the ratios of `a` to `b` by round: of rates and of costs. The two processes differ by them.
    ratios: [f64; 2],
}

static RECORDINGS: LazyLock<Vec<Recording>> = LazyLock::new(|| {
    let lines: Vec<&str> = TEXT.lines().filter(|line| !line.starts_with('#')).collect();
    let recordings = lines.split(|line| line.is_empty()).filter(|lines| !lines.is_empty());
    recordings.map(|lines| Recording::new(lines.iter().map(|line| round(line)).collect())).collect()
});

impl Recording {
    fn new(rounds: Vec<Round>) -> Self {
        let ratio = |of: fn(&Reading) -> f64| {
            let ratio = |round: &Round| {
                let [one, other] = round.readings.each_ref().map(of);
                if round.a_first { one / other } else { other / one }
            };
            let mut ratios: Vec<f64> =
                rounds.iter().map(ratio).filter(|ratio| *ratio > 0.0 && ratio.is_finite()).collect();
            ratios.sort_by(f64::total_cmp);
            ratios[ratios.len() / 2]
        };
        let ratios = [ratio(|reading| reading.rate), ratio(|reading| reading.cost_us)];
        Self { rounds, ratios }
    }
}

fn round(line: &str) -> Round {
    let mut words = line.split(' ');
    let first = words.next().expect("a line has words");
    let numbers: Vec<f64> = words.map(|word| word.parse().expect("figures are numbers")).collect();
    let [one, other] = [0, 4].map(|at| {
        let [rate, cost_us, p50_us, lost_percent] = numbers[at..at + 4] else {
            unreachable!("four numbers were taken")
        };
        let mut response = new_histogram();
        response.record_n((p50_us * 1e3) as u64, if p50_us > 0.0 { 20 } else { 0 }).expect("within bounds");
        Reading { rate, cost_us, lost_percent, response: encode(&response) }
    });
    Round { a_first: first == "a", readings: [one, other] }
}

/// An experiment on recorded rounds. The true ratio of `one` to `base` is `cost` for CPU time and p50, its inverse for the rate.
#[derive(Debug, Clone, Copy)]
pub struct Replay {
    pub cost: f64,
    /// Most launches of the targets, each from another recording, with roles drawn anew for each: the difference between the two processes
    /// of a recording is spread between starts. A single start is about its processes: their difference is taken off, and roles are
    /// drawn anew for each round.
    pub starts: usize,
    /// Most rounds of each start.
    pub rounds: usize,
    /// Ends when the interval of the cost has this half width: looked at after every start from the fourth on, and within a single
    /// start at every fourth round.
    pub precision: Option<f64>,
}

impl Replay {
    pub fn new(cost: f64, starts: usize, rounds: usize) -> Self {
        Self { cost, starts, rounds, precision: None }
    }

    pub fn until(self, precision: f64) -> Self {
        Self { precision: Some(precision), ..self }
    }

    /// Of neighbouring recordings, from a random one on. A single start goes on in the next recording.
    fn slices(&self, chance: &mut Chance) -> Vec<Slice> {
        let from = chance.below(RECORDINGS.len());
        let recordings = (0..RECORDINGS.len()).map(|index| &RECORDINGS[(from + index) % RECORDINGS.len()]);
        let mut slices = Vec::new();
        let is_enough = |slices: &[Slice]| {
            self.precision.is_some_and(|precision| Progress::of(slices, "base", precision, true).precise)
        };
        if self.starts > 1 {
            for (recording, start) in recordings.take(self.starts).zip(1..) {
                let is_swapped = chance.coin();
                for (round, number) in recording.rounds.iter().take(self.rounds).zip(1..) {
                    slices.extend(self.round(round, [1.0; 2], start, number, is_swapped));
                }
                if start >= LEAST_STARTS && is_enough(&slices) {
                    break;
                }
            }
            return slices;
        }
        let skipped = chance.below(RECORDINGS[from].rounds.len());
        let rounds = recordings.flat_map(|recording| recording.rounds.iter().map(|round| (round, recording.ratios)));
        for ((round, ratios), number) in rounds.skip(skipped).take(self.rounds).zip(1..) {
            slices.extend(self.round(round, ratios, 1, number, chance.coin()));
            if number.is_multiple_of(4) && is_enough(&slices) {
                break;
            }
        }
        slices
    }

    /// With the rates and costs of `a` divided by `ratios`.
    fn round(&self, round: &Round, ratios: [f64; 2], start: u32, number: u32, is_swapped: bool) -> [Slice; 2] {
        const WINDOW_MS: f64 = 1000.0;
        const REPLIES: u64 = 1000;
        [0, 1].map(|position| {
            let reading = &round.readings[position];
            let is_a = round.a_first == (position == 0);
            let is_base = is_a != is_swapped;
            let [rate, cost_us] = [(reading.rate, 0), (reading.cost_us, 1)]
                .map(|(value, of)| if is_a { value / ratios[of] } else { value });
            let cost = if is_base { 1.0 } else { self.cost };
            Slice {
                start,
                round: number,
                position: position as u32,
                target: if is_base { "base" } else { "one" }.to_owned(),
                window_us: (WINDOW_MS * 1e3) as u64,
                busy_us: (WINDOW_MS * 1e3) as u64,
                completed: (rate / cost * WINDOW_MS) as u64,
                replies: REPLIES,
                server_cpu_us: Some(cost_us * cost * REPLIES as f64),
                generator_percent: 50.0,
                lost_us: reading.lost_percent / 100.0 * WINDOW_MS * 1e3,
                response: if self.cost == 1.0 { reading.response.clone() } else { String::new() },
                ..Slice::default()
            }
        })
    }

    pub fn run(&self, seed: u64, margin: f64) -> LoadComparison {
        let load = SlicedLoad { slices: self.slices(&mut Chance::new(seed)), ..SlicedLoad::default() };
        let precision = self.precision.unwrap_or(margin / 2.0);
        compare(&[load], &["base".into(), "one".into()], "base", Settings { margin, precision }).remove(0)
    }
}
