//! What a seed decides before a history begins: the run, the network, and the faults.

use crate::clock::Clock;
use brunt_fleet::{MILLISECOND_NS, SECOND_NS};
use brunt_testkit::Random;

const MS: u64 = MILLISECOND_NS as u64;
/// No fault lasts longer than until this true time.
pub const FAULTS_END: i64 = 27 * SECOND_NS;
/// By this true time all that was delayed before has arrived.
pub const HEALED: i64 = 31 * SECOND_NS;
/// A message that is held up takes as long as this, at most.
pub const LONGEST_DELAY: u64 = 3_500 * MS;

/// What happens to a message.
#[derive(Debug, Clone, Copy)]
pub struct Quality {
    /// Of a thousand messages.
    pub lost: u64,
    pub repeated: u64,
    pub held_up: u64,
    /// Delay of the others, to the agents and back.
    pub delay: [u64; 2],
    /// More than that, at random.
    pub jitter: u64,
}

#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// Nothing reaches the agent, or nothing leaves it, or both.
    Cut {
        agent: usize,
        to: bool,
        from: bool,
    },
    Heal {
        agent: usize,
    },
    StopAgent(usize),
    ContinueAgent(usize),
    CrashAgent(usize),
    ReturnAgent(usize),
    StopCenters,
    ContinueCenters,
    Interrupt,
    /// Another owner wants the same agents.
    Rival,
    /// The owner starts a later coordinator while the first one goes on.
    Twin,
}

#[derive(Debug, Clone)]
pub struct Plan {
    /// Nothing goes wrong, or nothing that a run does not stand.
    pub calm: bool,
    pub agents: Vec<Clock>,
    pub center: Clock,
    pub quality: Quality,
    pub faults: Vec<(i64, Fault)>,
    /// Faults whose times are counted from the first commit.
    pub commit_faults: Vec<(i64, Fault)>,
    /// The longest window, if loads end by a count.
    pub window_ns: i64,
    /// Loads end by a count, each at a time up to this after its start.
    pub count_ns: Option<i64>,
    pub warmup_ns: i64,
    pub drain_ns: i64,
    /// For how long agents may prepare the load.
    pub prepare_ns: i64,
    pub tolerate: usize,
    pub skew_ns: Option<i64>,
    /// Steps of the coordinator until it crashes, and for how long it is away; for good if it is `None`.
    pub crash: Option<(u64, Option<i64>)>,
    /// Steps of an agent until it crashes.
    pub agent_crash: Option<(usize, u64)>,
    /// Of a thousand loads.
    pub failing: u64,
    pub hanging: u64,
    /// Every message goes through its text.
    pub as_text: bool,
    /// Bytes of a part.
    pub part: usize,
}

impl Plan {
    pub fn new(seed: u64, random: &mut Random) -> Self {
        let mut within = |from: u64, to: u64| from + random.below(to - from + 1);
        let (calm, harsh) = (seed % 5 < 2, seed % 5 > 2);
        let is_borne = seed % 5 == 1;
        let count = within(1, 4) as usize;
        let quality = match calm {
            true => Quality {
                lost: 0,
                repeated: if is_borne { within(0, 200) } else { 0 },
                held_up: 0,
                delay: [within(20_000, MS), within(20_000, MS)],
                jitter: 200_000,
            },
            false => Quality {
                lost: within(0, 3) * within(0, 60),
                repeated: within(0, 150),
                held_up: within(0, 2) * within(0, 12),
                delay: [within(20_000, 3 * MS), within(20_000, 3 * MS)],
                jitter: [100_000, MS, 20 * MS][within(0, 2) as usize],
            },
        };
        let window_ns = within(1_500, 9_000) as i64 * MILLISECOND_NS;
        // The time limit is met by some, and is far away for others.
        let is_counted = seed.is_multiple_of(3);
        let limit = if is_counted { [1, 2, 20][within(0, 2) as usize] } else { 1 };
        let (count_ns, window_ns) = (is_counted.then_some(window_ns * 5 / 4), window_ns * limit);
        let warmup_ns = within(0, 1) as i64 * within(0, 1_500) as i64 * MILLISECOND_NS;
        let drain_ns = within(0, 1_000) as i64 * MILLISECOND_NS;
        let tolerate = within(0, 3).saturating_sub(2) as usize;
        let skew_ns = (calm || within(0, 3) > 0).then_some(5 * MILLISECOND_NS);
        let crash = (harsh && within(0, 2) == 0).then(|| {
            let steps = if within(0, 1) == 0 { within(0, 150) } else { within(0, 1500) };
            (steps, (within(0, 2) > 0).then_some(within(10 * MS, 9_000 * MS) as i64))
        });
        let agent_crash = (harsh && within(0, 4) == 0).then(|| (within(0, count as u64 - 1) as usize, within(0, 400)));
        let (failing, hanging) = if calm { (0, 0) } else { (within(0, 30), within(0, 30)) };
        let (as_text, part) = (within(0, 15) == 0, within(16, 90) as usize);
        let mut faults = Vec::new();
        let number = if harsh { within(0, 5) } else { 0 };
        for _ in 0..number {
            faults.extend(Self::fault(count, 11_000, &mut within));
        }
        let mut commit_faults = Vec::new();
        if is_borne {
            let length = (count_ns.unwrap_or(i64::MAX).min(window_ns) + warmup_ns) / MILLISECOND_NS;
            commit_faults.extend(Self::borne(count, length, &mut within));
        }
        let number = if harsh { within(0, 4).saturating_sub(2) } else { 0 };
        for _ in 0..number {
            commit_faults.extend(Self::fault(count, 2_500, &mut within));
        }
        if !calm && within(0, 9) == 0 {
            faults.push((within(0, 14_000) as i64 * MILLISECOND_NS, Fault::Interrupt));
        }
        if !calm && within(0, 7) == 0 {
            let fault = [Fault::Rival, Fault::Rival, Fault::Twin][within(0, 2) as usize];
            faults.push((within(0, 9_000) as i64 * MILLISECOND_NS, fault));
        }
        let agents = (0..count).map(|_| Clock::random(random)).collect();
        let center = Clock::random(random);
        // Files are fetched for longer than a task may be unanswered.
        let prepare_ns = if seed.is_multiple_of(15) { random.below(60_000 * MS) as i64 } else { 0 };
        Self {
            calm,
            agents,
            center,
            quality,
            faults,
            commit_faults,
            window_ns,
            count_ns,
            warmup_ns,
            drain_ns,
            prepare_ns,
            tolerate,
            skew_ns,
            crash,
            agent_crash,
            failing,
            hanging,
            as_text,
            part,
        }
    }

    /// A fault that begins in the first so many milliseconds, and its end.
    fn fault(count: usize, latest: u64, within: &mut impl FnMut(u64, u64) -> u64) -> [(i64, Fault); 2] {
        let agent = within(0, count as u64 - 1) as usize;
        let at = within(0, latest) as i64 * MILLISECOND_NS;
        let length = [400, 3_000, 12_000][within(0, 2) as usize];
        let end = (at + within(50, length) as i64 * MILLISECOND_NS).min(FAULTS_END);
        let (first, last) = match within(0, 6) {
            0 | 1 => (Fault::StopAgent(agent), Fault::ContinueAgent(agent)),
            2 => (Fault::CrashAgent(agent), Fault::ReturnAgent(agent)),
            3 => (Fault::StopCenters, Fault::ContinueCenters),
            4 => (Fault::Cut { agent, to: true, from: false }, Fault::Heal { agent }),
            5 => (Fault::Cut { agent, to: false, from: true }, Fault::Heal { agent }),
            _ => (Fault::Cut { agent, to: true, from: true }, Fault::Heal { agent }),
        };
        [(at, first), (end, last)]
    }

    /// A fault in the run, or at its end, that a run stands, and its end.
    fn borne(count: usize, length: i64, within: &mut impl FnMut(u64, u64) -> u64) -> [(i64, Fault); 2] {
        let agent = within(0, count as u64 - 1) as usize;
        // The start is 2 s after the agents are armed.
        let during = 2_100 + within(0, length as u64) as i64;
        let end = 2_000 + length - within(0, 100) as i64;
        let (first, last, at, longest) = match within(0, 4) {
            0 => (Fault::StopCenters, Fault::ContinueCenters, during, 3_000),
            1 => (Fault::StopCenters, Fault::ContinueCenters, end, 10_000),
            2 => (Fault::StopAgent(agent), Fault::ContinueAgent(agent), during, 3_000),
            3 => (Fault::Cut { agent, to: within(0, 1) == 0, from: true }, Fault::Heal { agent }, during, 2_000),
            _ => (Fault::Interrupt, Fault::Heal { agent }, during, 2_000),
        };
        let until = at + within(100, longest) as i64;
        [(at * MILLISECOND_NS, first), (until * MILLISECOND_NS, last)]
    }
}
