//! One run a target at a time.
//!
//! All agents of a run are reserved before any agent is asked which other runs there are. Of two runs, the one that asks later meets the
//! reservations of the other, so that both cannot find themselves alone. A run that meets another gives up if that one has described its
//! load, which it does only once it has found itself alone, or has the lower id; else that one gives up, and is waited for.

use super::outcome::{Rival, Verdict};
use super::{Coordinator, Output, Stage};
use crate::{MILLISECOND_NS, SECOND_NS};

/// Between two looks at a run that is to give up.
const AGAIN_NS: i64 = 300 * MILLISECOND_NS;
/// A look whose answers take longer is made again.
const ANSWERS_NS: i64 = 3 * SECOND_NS;
/// For so long runs are waited for that do not give up, and answers.
const LIMIT_NS: i64 = 15 * SECOND_NS;

/// What is known of other runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Look {
    /// Number of the last look.
    number: u64,
    /// When the agents of this run were reserved.
    since: i64,
    again_at: i64,
    is_alone: bool,
    /// One that was met.
    rival: Option<Rival>,
}

impl Coordinator {
    /// All agents are reserved.
    pub(super) fn begin_look(&mut self, now: i64) {
        let is_alone = !self.config.is_exclusive || self.config.targets.is_empty();
        self.look = Look { number: self.look.number, since: now, again_at: now, is_alone, rival: None };
    }

    /// Whether no other run has a target of this one; looks if that is not known, and gives up if it stays so.
    pub(super) fn is_alone(&mut self, now: i64) -> bool {
        if self.look.is_alone {
            return true;
        }
        if now >= self.look.since.saturating_add(LIMIT_NS) {
            let nobody = || Verdict::NoAnswer { agent: self.peers[0].id(), to: "what other runs there are" };
            let verdict = self.look.rival.take().map_or_else(nobody, Verdict::Rival);
            self.give_up(verdict, now);
        } else if now >= self.look.again_at {
            self.look.number += 1;
            self.look.again_at = now.saturating_add(ANSWERS_NS);
            self.outputs.push(Output::Look { number: self.look.number });
        }
        false
    }

    /// Takes the runs that agents have, as they have answered a look.
    pub fn looked(&mut self, number: u64, runs: &[Rival], now: i64) -> Vec<Output> {
        self.notice_pause(now);
        if number == self.look.number && matches!(self.stage, Stage::Sync { .. }) && !self.look.is_alone {
            self.meet(runs, now);
        }
        self.step(now)
    }

    fn meet(&mut self, runs: &[Rival], now: i64) {
        let config = &self.config;
        let is_other = |rival: &&Rival| rival.run != config.run && rival.owner != config.owner;
        let shared = |rival: &Rival| rival.targets.iter().find(|target| config.targets.contains(target)).cloned();
        let met = |rival: &Rival| Some(Rival { targets: vec![shared(rival)?], ..rival.clone() });
        let rivals: Vec<Rival> = runs.iter().filter(is_other).filter_map(met).collect();
        let wins = |rival: &&Rival| rival.is_described || rival.run < config.run;
        if let Some(rival) = rivals.iter().find(wins) {
            let verdict = Verdict::Rival(rival.clone());
            return self.give_up(verdict, now);
        }
        self.look.is_alone = rivals.is_empty();
        self.look.rival = rivals.into_iter().next();
        self.look.again_at = now.saturating_add(AGAIN_NS);
    }
}
