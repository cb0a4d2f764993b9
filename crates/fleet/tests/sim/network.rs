//! The network between agents and coordinators.

use crate::plan::{FAULTS_END, LONGEST_DELAY, Quality};
use brunt_testkit::Random;

/// To the agents, or from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    To,
    From,
}

#[derive(Debug)]
pub struct Network {
    quality: Quality,
    /// For each agent whether the way to it and from it is cut.
    cut: Vec<[bool; 2]>,
}

impl Network {
    pub fn new(quality: Quality, agents: usize) -> Self {
        Self { quality, cut: vec![[false; 2]; agents] }
    }

    pub fn cut(&mut self, agent: usize, to: bool, from: bool) {
        self.cut[agent] = [to, from];
    }

    /// The delays after which a message arrives: none if it is lost, two if it is repeated.
    pub fn arrivals(&self, agent: usize, way: Way, now: i64, random: &mut Random) -> Vec<i64> {
        let Quality { lost, repeated, held_up, delay, jitter } = self.quality;
        let is_faulty = now < FAULTS_END;
        let mut happens = |per_mille: u64| random.below(1000) < per_mille && is_faulty;
        if self.cut[agent][way as usize] || happens(lost) {
            return Vec::new();
        }
        let copies = 1 + usize::from(happens(repeated));
        let mut one = || {
            let held = if random.below(1000) < held_up && is_faulty { random.below(LONGEST_DELAY) } else { 0 };
            (delay[way as usize] + random.below(jitter + 1) + held) as i64
        };
        (0..copies).map(|_| one()).collect()
    }
}
