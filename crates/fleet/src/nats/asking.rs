//! Questions to all agents, and the order to all of them to stop.

use super::about::{About, Who};
use super::access::Access;
use super::bus::{Bus, connected};
use super::clock::now;
use super::{FleetError, signed, subject};
use crate::sync::{Clock, Estimate, Exchange};
use crate::words::Version;
use futures_lite::StreamExt as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::timeout;

/// Agents answer within 100 ms; more than that is the way.
const LONGEST: Duration = Duration::from_secs(1);
/// After an answer, once none has come for so long, all have.
const SILENCE: Duration = Duration::from_millis(300);
/// A question is sent so often at once: messages may be lost. The first answer of an agent counts.
const QUESTIONS: usize = 5;
/// A stop is sent so often.
const STOPS: u32 = 3;
const BETWEEN_STOPS: Duration = Duration::from_millis(100);

/// What an operator ends.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Stop {
    pub version: Version,
    /// Id of the run; `None` for all.
    pub run: Option<String>,
    /// Time of day when it was sent, in seconds since 1970: an old one is void.
    pub at_unix_s: u64,
}

/// Questions whose best answer tells the clock of an agent.
const SURVEYS: usize = 5;

/// A fleet as it is now.
#[derive(Debug, Clone)]
pub struct Survey {
    /// Version of the NATS server.
    pub server: String,
    /// The agents, each with what is known of its clock beside that of this machine.
    pub agents: Vec<(About, Option<Estimate>)>,
}

/// Asks all agents several times.
///
/// # Errors
/// The NATS server cannot be reached.
pub fn survey(access: &Access) -> Result<Survey, FleetError> {
    connected(access, async |bus| {
        let mut found: BTreeMap<(String, u64), (About, Clock)> = BTreeMap::new();
        for _ in 0..SURVEYS {
            for (about, exchange) in ask(bus, subject::ALL).await? {
                let key = (about.id.clone(), about.incarnation);
                found.entry(key).or_insert((about, Clock::default())).1.add(&exchange);
            }
        }
        let agents = found.into_values().map(|(about, clock)| (about, clock.estimate()));
        Ok(Survey { server: bus.server(), agents: agents.collect() })
    })
}

/// The agents that are there, in the order of their ids; of each incarnation one.
///
/// # Errors
/// The NATS server cannot be reached.
pub fn agents(access: &Access) -> Result<Vec<About>, FleetError> {
    connected(access, async |bus| find(bus).await)
}

/// Whether the NATS server takes the key.
///
/// # Errors
/// It cannot be reached.
pub fn is_known(access: &Access) -> Result<bool, FleetError> {
    match connected(access, async |_| Ok(())) {
        Err(FleetError::Key { .. }) => Ok(false),
        other => other.map(|()| true),
    }
}

/// Other agents of this id; an agent hears no others.
pub(super) async fn find_others(bus: &Bus, id: &str) -> Result<Vec<About>, FleetError> {
    Ok(ask(bus, id).await?.into_iter().map(|(about, _)| about).collect())
}

pub(super) async fn find(bus: &Bus) -> Result<Vec<About>, FleetError> {
    Ok(ask(bus, subject::ALL).await?.into_iter().map(|(about, _)| about).collect())
}

/// Asks all agents, and hears these.
async fn ask(bus: &Bus, heard: &str) -> Result<Vec<(About, Exchange)>, FleetError> {
    let asker = now() as u64 ^ u64::from(std::process::id()) << 40;
    let mut answers = bus.listen(subject::about(asker, heard)).await?;
    let who = signed::open(&Who { version: Version, asker }).map_err(FleetError::Ended)?;
    let sent = now();
    for _ in 0..QUESTIONS {
        bus.send(subject::who(), who.clone()).await;
    }
    let began = tokio::time::Instant::now();
    let mut found = BTreeMap::new();
    loop {
        let left = LONGEST.saturating_sub(began.elapsed());
        let patience = if found.is_empty() { left } else { left.min(SILENCE) };
        match timeout(patience, answers.next()).await {
            Ok(Some(message)) => {
                let returned = now();
                if let Some(about) = subject::said(&message, |about: &About| subject::about(asker, &about.id)) {
                    let (received, answered) = (about.times.received_ns, about.times.answered_ns);
                    let exchange = Exchange { sent, received, answered, returned };
                    found.entry((about.id.clone(), about.incarnation)).or_insert((about, exchange));
                }
            }
            _ => return Ok(found.into_values().collect()),
        }
    }
}

/// Ends the load of a run, or of all. Agents end within 3 s, also if their coordinator does not.
///
/// # Errors
/// The NATS server cannot be reached.
pub fn stop(access: &Access, run: Option<&str>, at_unix_s: u64) -> Result<(), FleetError> {
    connected(access, async |bus| {
        let stop = Stop { version: Version, run: run.map(str::to_owned), at_unix_s };
        let text = signed::sign(&access.key, &stop).map_err(FleetError::Ended)?;
        for _ in 0..STOPS {
            bus.send(subject::stop(), text.clone()).await;
            tokio::time::sleep(BETWEEN_STOPS).await;
        }
        bus.flush().await;
        Ok(())
    })
}
