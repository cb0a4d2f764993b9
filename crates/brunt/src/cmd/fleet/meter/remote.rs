//! The end of the load.

use super::{Chosen, Closed, Question, Sampled};
use crate::cmd::fleet::failed;
use crate::cmd::load::ServiceFlags;
use brunt_fleet::nats::{About, Access, Session};
use brunt_results::Error;
use brunt_results::result::{Server, ServerMachine};
use brunt_results::series::Second;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// Finding the processes of a machine may take some seconds.
const ATTACH: Duration = Duration::from_secs(15);
const ANSWER: Duration = Duration::from_secs(3);
/// A second whose figures come later lacks them: what is shown must not wait.
const SAMPLE: Duration = Duration::from_millis(400);
/// So many in a row, and it is not asked any more.
const MISSED: u32 = 5;
/// What begins with it is a figure of the server in a line of a series.
const PREFIX: &str = "server_";

/// The meter of a server on the machine of an agent.
pub(in crate::cmd) struct RemoteMeter {
    session: Session,
    agent: About,
    pid: u32,
    exited: Option<u32>,
    renewed: Option<u32>,
    /// Samples in a row without an answer.
    missed: u32,
    /// Why there are no figures any more.
    lost: Option<String>,
    /// How long the messages took at the two ends of the window.
    delays: [Duration; 2],
}

impl fmt::Debug for RemoteMeter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteMeter").field("agent", &self.agent.id).field("pid", &self.pid).finish_non_exhaustive()
    }
}

impl RemoteMeter {
    /// Attaches to the server of these addresses, as the flags say, on the machine of the agent.
    ///
    /// # Errors
    /// The agent does not answer, or there is no such server.
    pub fn attach(access: &Access, agent: &About, flags: &ServiceFlags, addresses: Vec<String>) -> Result<Self, Error> {
        let session =
            Session::open(access, agent, super::NAME, &Chosen { flags, addresses }, ATTACH).map_err(failed)?;
        let mut this = Self {
            session,
            agent: agent.clone(),
            pid: 0,
            exited: None,
            renewed: None,
            missed: 0,
            lost: None,
            delays: [Duration::ZERO; 2],
        };
        match this.ask(&Question::Pid, ANSWER) {
            Some(pid) => Ok(Self { pid, ..this }),
            None => Err(Error::Failed(this.why())),
        }
    }

    /// Asks, unless the agent is lost.
    fn ask<T: DeserializeOwned>(&mut self, question: &Question, patience: Duration) -> Option<T> {
        if self.lost.is_some() {
            return None;
        }
        match self.session.ask(question, patience) {
            Ok(answer) => Some(answer),
            Err(why) => {
                self.lost = Some(why);
                None
            }
        }
    }

    /// Asks at an end of the window; remembers how long the messages took, without the work of the meter, which begins with the window
    /// or its end.
    fn at_end(&mut self, end: usize, question: &Question) {
        let began = Instant::now();
        let worked = self.ask::<Duration>(question, ANSWER).unwrap_or_default();
        self.delays[end] = began.elapsed().saturating_sub(worked);
    }

    fn why(&self) -> String {
        let why = self.lost.as_deref().unwrap_or("no answer");
        format!("agent {}: {why}", self.agent.id)
    }

    pub fn search(&mut self) {
        let _: Option<Value> = self.ask(&Question::Search, ANSWER);
    }

    pub fn open(&mut self) {
        self.at_end(0, &Question::Open);
    }

    pub fn sample(&mut self, second: &mut Second) {
        let before = self.lost.clone();
        let Some(Sampled { second: own, exited, renewed }) = self.ask(&Question::Sample, SAMPLE) else {
            // The end of the window is asked for longer.
            self.missed += 1;
            self.lost = before.or(self.lost.take().filter(|_| self.missed >= MISSED));
            return;
        };
        self.missed = 0;
        self.exited = exited;
        self.renewed = renewed.or(self.renewed);
        let names = |second: &Second| serde_json::to_value(second).ok();
        let (Some(Value::Object(own)), Some(Value::Object(mut all))) = (names(&own), names(second)) else { return };
        all.extend(own.into_iter().filter(|(name, _)| name.starts_with(PREFIX)));
        if let Ok(filled) = serde_json::from_value(Value::Object(all)) {
            *second = filled;
        }
    }

    pub fn stop(&mut self) {
        self.at_end(1, &Question::Stop);
    }

    pub fn close(&mut self, completed: u64, window: Duration) -> (Server, BTreeMap<String, String>) {
        let Some(closed) = self.ask(&Question::Close { completed, window }, ANSWER) else {
            return (Server::default(), brunt_meter::server::all_absent(&self.why()));
        };
        let Closed { mut server, host, mut absent } = closed;
        let of_host = |(name, why): (&String, &String)| {
            name.strip_prefix("host.").map(|figure| (format!("server.machine.host.{figure}"), why.clone()))
        };
        let moved: Vec<(String, String)> = absent.iter().filter_map(of_host).collect();
        absent.retain(|name, _| !name.starts_with("host."));
        absent.extend(moved);
        let [opened, stopped] = self.delays;
        server.machine = Some(Box::new(ServerMachine {
            agent: self.agent.id.clone(),
            name: self.agent.host.clone(),
            delay_us: opened.max(stopped).as_secs_f64() * 1e6,
            host,
        }));
        (server, absent)
    }

    pub fn exited(&self) -> Option<u32> {
        self.exited
    }

    /// The process that took over from one that exited, once.
    pub fn renewed(&mut self) -> Option<u32> {
        self.renewed.take()
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }
}
