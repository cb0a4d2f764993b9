//! Collects the journals of a run from the agents that made its load.

use super::access::Access;
use super::bus::{Bus, connected};
use super::{FleetError, signed, subject};
use crate::words::{Assembled, Assembler, End, Part, Table, Task, Version};
use futures_lite::StreamExt as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::timeout;

/// Agents that have something of the run answer within this time.
const ANSWERS: Duration = Duration::from_secs(1);
/// What is lost on its way is asked for again, so often without anything new.
const TRIES: u32 = 5;
/// Bytes of parts that may wait for others.
const HELD: usize = 256 << 20;

/// An operator asks for the journal of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Collect {
    pub version: Version,
    pub run: String,
    /// One agent; `None` asks all.
    pub agent: Option<String>,
    /// The first second that is wanted.
    pub from: u64,
}

/// What an agent has of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Journaled {
    pub version: Version,
    pub agent: String,
    pub epoch: u64,
    pub incarnation: u64,
    pub task: Task,
    pub seconds: u64,
    pub end: Option<End>,
}

/// What one agent has measured in a run.
#[derive(Debug, Clone)]
pub struct Collected {
    /// Id of the agent.
    pub agent: String,
    /// Its part of the load.
    pub task: Task,
    /// The seconds that it has, from 0 on.
    pub seconds: Vec<Table>,
    /// How it has ended; `None` if the agent was killed.
    pub end: Option<End>,
}

/// Collects a run from all agents that are there, in the order of their threads.
///
/// # Errors
/// The NATS server cannot be reached.
pub fn collect(access: &Access, run: &str) -> Result<Vec<Collected>, FleetError> {
    connected(access, async |bus| {
        let mut collecting = Collecting::new(bus, access, run).await?;
        let mut all = Vec::new();
        for journaled in collecting.journals().await?.into_values() {
            all.push(collecting.seconds(journaled).await?);
        }
        all.sort_by_key(|collected| collected.task.first);
        Ok(all)
    })
}

struct Collecting<'a> {
    bus: &'a Bus,
    access: &'a Access,
    run: &'a str,
    journals: async_nats::Subscriber,
    seconds: async_nats::Subscriber,
}

impl<'a> Collecting<'a> {
    async fn new(bus: &'a Bus, access: &'a Access, run: &'a str) -> Result<Self, FleetError> {
        let journals = bus.listen(subject::journals(run, subject::ALL)).await?;
        let seconds = bus.listen(subject::seconds(run, subject::ALL)).await?;
        Ok(Self { bus, access, run, journals, seconds })
    }

    async fn ask(&self, agent: Option<&str>, from: u64) -> Result<(), FleetError> {
        let collect = Collect { version: Version, run: self.run.to_owned(), agent: agent.map(str::to_owned), from };
        let text = signed::sign(&self.access.key, &collect).map_err(FleetError::Ended)?;
        self.bus.send(subject::collect(), text).await;
        Ok(())
    }

    /// Which agents have something of the run.
    async fn journals(&mut self) -> Result<BTreeMap<String, Journaled>, FleetError> {
        self.ask(None, u64::MAX).await?;
        let mut found = BTreeMap::new();
        let until = tokio::time::Instant::now() + ANSWERS;
        while let Ok(Some(message)) = tokio::time::timeout_at(until, self.journals.next()).await {
            let of = |journaled: &Journaled| subject::journals(self.run, &journaled.agent);
            if let Some(journaled) = subject::said(&message, of) {
                found.insert(journaled.agent.clone(), journaled);
            }
        }
        Ok(found)
    }

    /// All seconds of one agent, as far as they arrive.
    async fn seconds(&mut self, of: Journaled) -> Result<Collected, FleetError> {
        let Journaled { agent, epoch, incarnation, task, seconds: count, end, .. } = of;
        let mut assembler = Assembler::new(self.run, epoch, HELD);
        let (mut tables, mut tries) = (BTreeMap::new(), 0);
        while tables.len() as u64 != count && tries < TRIES {
            let before = tables.len();
            self.ask(Some(&agent), before as u64).await?;
            let patience = ANSWERS;
            loop {
                tokio::select! {
                    biased;
                    message = timeout(patience, self.seconds.next()) => {
                        let Ok(Some(message)) = message else { break };
                        let of = |part: &Part| subject::seconds(&part.origin.run, &part.origin.agent);
                        let Some(part) = subject::said(&message, of) else { continue };
                        if let Ok(Some(Assembled { agent: from, incarnation: by, second, table })) = assembler.take(part)
                            && (&from, by) == (&agent, incarnation)
                        {
                            tables.insert(second, table);
                        }
                    }
                    // It follows the seconds that were asked for.
                    Some(_) = self.journals.next() => break,
                }
            }
            // A second that is missing before others is asked for again with them.
            let whole = (0..).take_while(|second| tables.contains_key(second)).count();
            tables.retain(|second, _| *second < whole as u64);
            tries = if tables.len() > before { 0 } else { tries + 1 };
        }
        Ok(Collected { agent, task, seconds: tables.into_values().collect(), end })
    }
}
