//! Seconds of agents, on their way to the report.

use crate::cmd::fleet::Shipped;
use brunt_fleet::nats::Sink;
use brunt_fleet::words::Table;
use brunt_load::remote::Feed;
use std::collections::BTreeMap;

/// One of each agent.
pub(super) struct Feeds(BTreeMap<String, Feed>);

impl Feeds {
    pub fn new(feeds: impl Iterator<Item = (String, Feed)>) -> Self {
        Self(feeds.collect())
    }
}

impl Sink for Feeds {
    fn second(&mut self, agent: &str, table: &Table) -> Result<(), String> {
        let Some(feed) = self.0.get_mut(agent) else { return Ok(()) };
        feed.take(&Shipped::second(table)?)
    }

    fn lost(&mut self, agent: &str, _: &str) {
        self.0.get(agent).iter().for_each(|feed| feed.lost());
    }
}
