//! A shared machine in simulated time: spells in which everything costs more, cost that wanders over seconds and over tenths of
//! one, pauses and bursts of other work. Slices on it spread by about 14 % in cost and 24 % in rate.

use brunt_results::comparison::Ratio;
use brunt_results::figure::Figure;
use brunt_slices::LoadComparison;
use brunt_slices::{Progress, Settings, Slice, SlicedLoad, compare};
use brunt_testkit::chance::Chance;

/// Times in seconds.
const STEP: f64 = 0.01;
const LEAD_STEPS: usize = 1;
const WINDOW_STEPS: usize = 10;
const CPU_US: f64 = 20.0;

/// The state of the machine. Costs are logarithms of a factor.
pub struct Machine {
    pub chance: Chance,
    spell: f64,
    spell_left: f64,
    slow_wander: f64,
    fast_wander: f64,
    pause_in: f64,
    burst_in: f64,
    burst_left: f64,
    burst_share: f64,
    /// Share of the noise of cost, spells included.
    noise: f64,
    /// A pause of this length at the end of every period, in seconds.
    pulse: Option<(f64, f64)>,
    now: f64,
}

impl Machine {
    pub fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let (slow_wander, fast_wander) = (0.05 * chance.normal(), 0.07 * chance.normal());
        let (pause_in, burst_in) = (chance.wait(1.0 / 3.0), chance.wait(12.5));
        let spell_left = chance.wait(12.0);
        Self {
            chance,
            spell: 0.0,
            spell_left,
            slow_wander,
            fast_wander,
            pause_in,
            burst_in,
            burst_left: 0.0,
            burst_share: 0.0,
            noise: 1.0,
            pulse: None,
            now: 0.0,
        }
    }

    /// With this share of the noise of cost.
    pub fn with_noise(self, noise: f64) -> Self {
        Self { noise, ..self }
    }

    /// With a pause of some length at the end of every period, in seconds.
    pub fn with_pulse(self, period: f64, length: f64) -> Self {
        Self { pulse: Some((period, length)), ..self }
    }

    /// Goes on by a step: factor of cost, time that pauses take, time that bursts take.
    fn step(&mut self) -> (f64, f64, f64) {
        self.spell_left -= STEP;
        if self.spell_left <= 0.0 {
            let (mean, depth) = if self.spell == 0.0 { (8.0, self.chance.between(0.05, 0.45)) } else { (12.0, 0.0) };
            (self.spell, self.spell_left) = (depth, self.chance.wait(mean));
        }
        // Ornstein-Uhlenbeck processes of 2 s and 100 ms.
        let wander = |value: &mut f64, time: f64, deviation: f64, normal: f64| {
            let like = (-STEP / time).exp();
            *value = *value * like + deviation * (1.0 - like * like).sqrt() * normal;
        };
        wander(&mut self.slow_wander, 2.0, 0.05, self.chance.normal());
        wander(&mut self.fast_wander, 0.1, 0.07, self.chance.normal());
        let mut paused = 0.0;
        self.pause_in -= STEP;
        if self.pause_in <= 0.0 {
            paused = self.chance.between(0.001, 0.01);
            self.pause_in = self.chance.wait(1.0 / 3.0);
        }
        let begin = self.now;
        self.now += STEP;
        if let Some((period, length)) = self.pulse
            && (self.now / period + 1e-6).floor() > (begin / period + 1e-6).floor()
        {
            paused = (paused + length).min(STEP);
        }
        self.burst_in -= STEP;
        if self.burst_in <= 0.0 {
            (self.burst_left, self.burst_share) = (self.chance.between(0.1, 1.5), self.chance.between(0.2, 0.8));
            self.burst_in = self.burst_left + self.chance.wait(12.5);
        }
        self.burst_left -= STEP;
        let taken = if self.burst_left > 0.0 { self.burst_share * (STEP - paused) } else { 0.0 };
        ((self.noise * (self.spell + self.slow_wander + self.fast_wander)).exp(), paused, taken)
    }

    /// One slice of a target with this much CPU time a request. Pauses are those of a hypervisor: they cannot be seen, and are
    /// billed to no one.
    pub fn slice(&mut self, target: &str, cost: f64) -> Slice {
        let own = (0.02 * self.noise * self.chance.normal()).exp() * cost;
        let (mut cpu, mut replies, mut completed, mut lost) = (0.0, 0.0, 0.0, 0.0);
        for step in 0..LEAD_STEPS + WINDOW_STEPS {
            let (factor, paused, taken) = self.step();
            let time = STEP - paused - taken;
            let served = time * 1e6 / (CPU_US * own * factor);
            (cpu, replies, lost) = (cpu + time * 1e6, replies + served, lost + taken * 1e6);
            if step >= LEAD_STEPS {
                completed += served;
            }
        }
        Slice {
            target: target.to_string(),
            window_us: (WINDOW_STEPS as f64 * STEP * 1e6) as u64,
            busy_us: ((LEAD_STEPS + WINDOW_STEPS) as f64 * STEP * 1e6) as u64,
            completed: completed as u64,
            replies: replies as u64,
            server_cpu_us: Some(cpu * replies.floor() / replies),
            generator_cpu_us: cpu / 2.0,
            generator_percent: 50.0,
            lost_us: lost,
            ..Slice::default()
        }
    }
}

/// An experiment on one load.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// CPU time a request of each target, the first being the baseline's.
    pub costs: Vec<f64>,
    /// Fewest starts.
    pub starts: u32,
    /// Rounds of each start.
    pub each: u32,
    /// Standard deviation between starts, of a target's cost.
    pub start_spread: f64,
    pub random_order: bool,
    /// Most rounds of all starts.
    pub rounds: u32,
    /// Ends with the first look at which this half width is reached: every fourth round of a single start, else at the end of
    /// a start.
    pub precision: Option<f64>,
    /// Whether only the width of the cost's interval ends it.
    pub by_cost: bool,
}

impl Experiment {
    pub fn new(costs: &[f64], rounds: u32) -> Self {
        let costs = costs.to_vec();
        Self {
            costs,
            starts: 1,
            each: rounds,
            start_spread: 0.0,
            random_order: true,
            rounds,
            precision: None,
            by_cost: false,
        }
    }

    pub fn until(self, precision: f64) -> Self {
        Self { precision: Some(precision), ..self }
    }

    /// With starts of `each` rounds, `starts` or more of them.
    pub fn in_starts(self, starts: u32, each: u32, spread: f64) -> Self {
        Self { starts, each, start_spread: spread, ..self }
    }

    pub fn names(&self) -> Vec<String> {
        ["base", "one", "two", "three"][..self.costs.len()].iter().map(|name| name.to_string()).collect()
    }

    pub fn slices(&self, machine: &mut Machine) -> Vec<Slice> {
        let (names, mut slices) = (self.names(), Vec::new());
        for start in 1..=self.rounds / self.each {
            let spread = |cost: &f64| cost * (self.start_spread * machine.chance.normal()).exp();
            let costs: Vec<f64> = self.costs.iter().map(spread).collect();
            for round in 1..=self.each {
                let mut order: Vec<usize> = (0..costs.len()).collect();
                if self.random_order {
                    machine.chance.shuffle(&mut order);
                }
                for (position, target) in order.into_iter().enumerate() {
                    let slice = machine.slice(&names[target], costs[target]);
                    slices.push(Slice { start, round, position: position as u32, ..slice });
                }
                let is_look =
                    if self.starts == 1 { round.is_multiple_of(4) } else { start >= self.starts && round == self.each };
                let is_enough = |precision| Progress::of(&slices, &names[0], precision, self.by_cost).precise;
                if is_look && self.precision.is_some_and(is_enough) {
                    return slices;
                }
            }
        }
        slices
    }

    pub fn load(&self, mut machine: Machine) -> SlicedLoad {
        SlicedLoad { slices: self.slices(&mut machine), ..SlicedLoad::default() }
    }

    pub fn compare(&self, loads: &[SlicedLoad], margin: f64) -> Vec<LoadComparison> {
        let precision = self.precision.unwrap_or(margin / 2.0);
        compare(loads, &self.names(), "base", Settings { margin, precision })
    }

    pub fn run(&self, machine: Machine, margin: f64) -> LoadComparison {
        self.compare(&[self.load(machine)], margin).remove(0)
    }
}

pub fn ratio<'a>(comparison: &'a LoadComparison, target: &str, figure: &Figure) -> &'a Ratio {
    let target = comparison.targets.iter().find(|other| other.target == target).expect("a target of the load");
    target.ratio(figure).expect("rounds enough for a ratio")
}

pub fn holds(ratio: &Ratio, truth: f64) -> bool {
    (ratio.low..=ratio.high).contains(&truth)
}
