//! Seconds of agents, on their way to the report.

use super::now::Now;
use crate::cmd::fleet::Shipped;
use brunt_fleet::nats::Sink;
use brunt_fleet::words::Table;
use brunt_load::remote::Feed;
use std::collections::BTreeMap;

/// One of each agent.
pub(super) struct Feeds {
    feeds: BTreeMap<String, Feed>,
    now: Now,
}

impl Feeds {
    pub fn new(feeds: impl Iterator<Item = (String, Feed)>, now: Now) -> Self {
        Self { feeds: feeds.collect(), now }
    }
}

impl Sink for Feeds {
    fn arrived(&mut self, agent: &str, second: u64) {
        self.now.arrived(agent, second);
    }

    fn late(&mut self, agents: &[&str]) {
        self.now.late(agents);
    }

    fn second(&mut self, agent: &str, table: &Table) -> Result<(), String> {
        let Some(feed) = self.feeds.get_mut(agent) else { return Ok(()) };
        feed.take(&Shipped::second(table)?)?;
        self.now.measured(agent, &feed.measured().figures());
        Ok(())
    }

    fn lost(&mut self, agent: &str, why: &str) {
        self.now.lost(agent, why);
        self.feeds.get(agent).iter().for_each(|feed| feed.lost());
    }
}
