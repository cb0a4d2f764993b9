//! The server of slices is metered on the machine of an agent, which reads its CPU time between two slices: what is asked and
//! answered, and both ends.

use super::failed;
use super::meter::{Chosen, listeners};
use crate::cmd::load::{MeteredServer, ServiceFlags};
use brunt_fleet::nats::{About, Access, Service, Session};
use brunt_lab::slices::account::TargetAccount;
use brunt_meter::search::Found;
use brunt_meter::slice::IrqTime;
use brunt_results::{Cores, Error};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// Of the service.
pub(super) const NAME: &str = "account";
/// Finding the processes of a machine may take some seconds.
const ATTACH: Duration = Duration::from_secs(15);
const ANSWER: Duration = Duration::from_secs(3);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Question {
    Attached,
    Read,
    Search,
    Found,
    Follow(Found),
}

/// Answer to [`Question::Attached`].
#[derive(Debug, Serialize, Deserialize)]
struct Attached {
    pid: Option<u32>,
    moved_from: Option<Cores>,
}

/// Answer to [`Question::Read`].
#[derive(Debug, Default, Serialize, Deserialize)]
struct Reading {
    /// With the interrupts of its cores where threads are billed without them.
    cpu: Option<Duration>,
    front: Option<Duration>,
    rss_bytes: u64,
    source: String,
}

struct Account {
    server: Box<dyn TargetAccount>,
    attached: (Option<u32>, Option<Cores>),
    interrupts: IrqTime,
}

/// Attaches to the server that is meant.
///
/// # Errors
/// There is none.
pub(super) fn open(settings: Value) -> Result<Box<dyn Service>, String> {
    let Chosen::<ServiceFlags> { flags, addresses } =
        serde_json::from_value(settings).map_err(|error| error.to_string())?;
    let metered = flags.account_here(listeners(&addresses)).map_err(|error| error.to_string())?;
    let MeteredServer { process, account, moved_from } = metered;
    let server = account?;
    let interrupts = IrqTime::attach(&server.cores());
    Ok(Box::new(Account { server, attached: (process, moved_from), interrupts }))
}

impl Account {
    fn read(&mut self) -> Reading {
        let Self { server, interrupts, .. } = self;
        let (cpu, is_apart) = (server.cpu(), interrupts.is_apart() && server.leaves_out_interrupts());
        let with = if is_apart { ", and interrupts of its cores" } else { "" };
        let apart = if is_apart { interrupts.read() } else { Duration::ZERO };
        Reading {
            cpu: cpu.map(|cpu| cpu + apart),
            front: server.front_cpu(),
            rss_bytes: server.rss_bytes(),
            source: format!("{}{with}", server.source()),
        }
    }
}

impl Service for Account {
    fn ask(&mut self, question: Value) -> Result<Value, String> {
        let answer = match serde_json::from_value(question).map_err(|error| error.to_string())? {
            Question::Attached => {
                let (pid, moved_from) = self.attached.clone();
                serde_json::to_value(Attached { pid, moved_from })
            }
            Question::Read => serde_json::to_value(self.read()),
            Question::Search => {
                self.server.begin_search();
                Ok(Value::Null)
            }
            Question::Found => serde_json::to_value(self.server.end_search()),
            Question::Follow(found) => {
                self.server.follow(found);
                self.interrupts = IrqTime::attach(&self.server.cores());
                Ok(Value::Null)
            }
        };
        answer.map_err(|error| error.to_string())
    }
}

/// The account of a server on the machine of an agent. One that does not answer any more is that of a server that has ended.
pub(in crate::cmd) struct RemoteAccount {
    session: Session,
    newest: Reading,
    found: Option<Found>,
    is_lost: bool,
}

impl RemoteAccount {
    /// Attaches to the server of these addresses, as the flags say, on the machine of the agent. Returns the cores, too, from which it was
    /// moved.
    ///
    /// # Errors
    /// The agent does not answer, or there is no such server.
    pub fn attach(
        access: &Access,
        agent: &About,
        flags: &ServiceFlags,
        addresses: Vec<String>,
    ) -> Result<(Self, Option<u32>, Option<Cores>), Error> {
        let error = |error: String| Error::Failed(format!("agent {}: {error}", agent.id));
        let session = Session::open(access, agent, NAME, &Chosen { flags, addresses }, ATTACH).map_err(failed)?;
        let Attached { pid, moved_from } = session.ask(&Question::Attached, ANSWER).map_err(error)?;
        let newest = session.ask(&Question::Read, ANSWER).map_err(error)?;
        Ok((Self { session, newest, found: None, is_lost: false }, pid, moved_from))
    }

    fn ask<T: DeserializeOwned>(&mut self, question: &Question) -> Option<T> {
        let answer = if self.is_lost { None } else { self.session.ask(question, ANSWER).ok() };
        self.is_lost |= answer.is_none();
        answer
    }
}

impl TargetAccount for RemoteAccount {
    fn cpu(&mut self) -> Option<Duration> {
        self.newest = self.ask(&Question::Read)?;
        self.newest.cpu
    }

    fn source(&self) -> String {
        format!("{}, by agent {}", self.newest.source, self.session.agent())
    }

    fn leaves_out_interrupts(&self) -> bool {
        false
    }

    fn rss_bytes(&self) -> u64 {
        self.newest.rss_bytes
    }

    fn front_cpu(&mut self) -> Option<Duration> {
        self.newest.front
    }

    fn begin_search(&mut self) {
        let _: Option<Value> = self.ask(&Question::Search);
    }

    fn end_search(&mut self) -> Option<Found> {
        self.ask::<Option<Found>>(&Question::Found).flatten()
    }

    fn follow(&mut self, found: Found) {
        let _: Option<Value> = self.ask(&Question::Follow(found.clone()));
        self.found = Some(found);
    }

    fn found(&self) -> Option<&Found> {
        self.found.as_ref()
    }
}
