//! The program of an agent: its core, its connection, its journal, and the load that it makes.
//!
//! Load threads run on their own: nothing here is waited for by a request, and a lease ends a load though this thread stands still.

mod collected;
mod services;
mod slot;

pub use services::{Service, Services};

use super::about::{About, Busy, Who};
use super::access::Access;
use super::asking::{self, Stop};
use super::bus::{Bus, text};
use super::clock::{now, until};
use super::fetch::Files;
use super::{FleetError, signed, subject};
use crate::SECOND_NS;
use crate::agent::{Agent, Effect, Happening, Held, Output};
use crate::sessions::Sessions;
use crate::words::{Envelope, Order, State, Table, Task, Times, encode};
use futures_lite::StreamExt as _;
use services::Threads;
use slot::Slot;
use std::collections::BTreeMap;
use std::future::Future;
use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Answers to a question for all agents are spread over this time, so that they do not come at once.
const SPREAD_MS: u64 = 100;
/// A stop is obeyed that is no older than this, by the clocks of day of both machines.
const STOP_AGE: Duration = Duration::from_secs(60);
/// After a stop a coordinator has this much time to end the load itself, so that its results are kept.
const HALT_NS: i64 = 2 * SECOND_NS;
/// For so long an agent that ends waits for its load threads.
const END: Duration = Duration::from_secs(3);

/// An agent.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What it is; state and run are those of each time.
    pub about: About,
    /// Where the journals are.
    pub journals: PathBuf,
    /// Where the files are kept that loads name.
    pub files: PathBuf,
    /// Whether it ends after the first run.
    pub once: bool,
}

/// What an agent does on its machine.
pub struct Machine<'m> {
    /// Loads.
    pub loads: &'m dyn Loads,
    /// All else.
    pub services: Arc<dyn Services>,
}

/// Prepares loads.
pub trait Loads {
    /// Prepares the load of a task, without blocking; `files` may be waited for on another thread. It must tell [`Told::Prepared`] unless it fails, and [`Told::Ended`] at the end in
    /// any case.
    fn prepare(&self, task: &Task, files: Files, tell: Tell);
}

/// A load that is prepared. Times are nanoseconds of this machine's CLOCK_MONOTONIC.
pub trait Load: Send {
    /// Opens the connections.
    fn connect(&self);
    /// Begins at these times: first request, start and end of the window.
    fn begin(&self, times: [i64; 3]);
    /// Sends nothing from this time on, unless a later one comes before.
    fn lease(&self, until: i64);
    /// Ends the window early.
    fn close(&self, at: i64);
    /// The window is over: threads end after their last answers.
    fn release(&self);
    /// Ends at once.
    fn abandon(&self);
}

/// What a load tells.
pub enum Told {
    /// It is prepared.
    Prepared(Box<dyn Load>),
    /// So many connections are open.
    Connecting(u64),
    /// All connections are open.
    Connected,
    /// The first thread has begun to send at this time of CLOCK_MONOTONIC.
    Began(i64),
    /// A second with its number, from 0 on.
    Second(u64, Table),
    /// It cannot go on; one line.
    Failed(String),
    /// All its threads have ended; the last.
    Ended,
}

/// Where a load tells.
#[derive(Clone)]
pub struct Tell {
    load: u64,
    sender: UnboundedSender<(u64, Told)>,
}

impl Tell {
    /// Tells the agent, from any thread.
    pub fn tell(&self, told: Told) {
        // An agent that is gone needs to know nothing.
        let _ = self.sender.send((self.load, told));
    }
}

struct Serving<'a> {
    access: &'a Access,
    settings: &'a Settings,
    loads: &'a dyn Loads,
    say: &'a dyn Fn(&str),
    bus: Bus,
    core: Agent,
    slots: BTreeMap<u64, Slot>,
    sender: UnboundedSender<(u64, Told)>,
    threads: Threads,
    /// Ends the load of a run, or any, at this time.
    halt: Option<(i64, Option<String>)>,
    /// What was said of the state last.
    said: (State, Option<String>),
}

/// Serves until `end` is ready; with `once`, until the first run is over. `say` gets lines for the user.
///
/// # Errors
/// The NATS server cannot be reached, an agent of this id is there already, or the key is not that of an agent any more.
pub async fn serve(
    access: &Access,
    settings: &Settings,
    machine: Machine<'_>,
    end: impl Future<Output = ()>,
    say: &dyn Fn(&str),
) -> Result<(), FleetError> {
    let About { id, incarnation, .. } = &settings.about;
    let bus = Bus::connect(access, &format!("brunt-agent-{id}")).await?;
    let mut orders = bus.listen(subject::orders(id)).await?;
    let mut whos = bus.listen(subject::who()).await?;
    let mut stops = bus.listen(subject::stop()).await?;
    let mut collects = bus.listen(subject::collect()).await?;
    let mut sessions = bus.listen(subject::sessions(id)).await?;
    if let Some(other) = asking::find_others(&bus, id).await?.pop() {
        return Err(FleetError::Twice { id: id.clone(), host: other.host });
    }
    let (sender, mut told) = unbounded_channel();
    let core = Agent::new(id.clone(), *incarnation);
    let said = (State::Idle, None);
    let slots = BTreeMap::new();
    let Machine { loads, services } = machine;
    let (answers, mut answered) = unbounded_channel();
    let threads = Threads::new(Sessions::new(id.clone(), *incarnation), services, answers);
    let mut serving = Serving { access, settings, loads, say, bus, core, slots, sender, threads, halt: None, said };
    say(&format!("agent {id} is ready, in the fleet at {}", access.url));
    let (connection, mut has_run, mut is_revoked) = (serving.bus.clone(), false, false);
    let mut end = std::pin::pin!(end);
    while !(settings.once && has_run && serving.core.state() == State::Idle) {
        let halt = serving.halt.as_ref().map(|(at, _)| *at);
        let due = [serving.core.due(), serving.threads.due(), halt].into_iter().flatten().min();
        tokio::select! {
            biased;
            message = orders.next() => match message {
                Some(message) => serving.order(text(&message)).await,
                None => return Err(FleetError::Ended("orders".to_owned())),
            },
            Some((load, told)) = told.recv() => serving.told(load, told).await,
            Some(message) = whos.next() => serving.answer_who(text(&message)),
            Some(message) = stops.next() => serving.stop(text(&message)),
            Some(message) = collects.next() => serving.collected(text(&message)).await,
            Some(message) = sessions.next() => serving.asked(text(&message)).await,
            Some(answer) = answered.recv() => serving.answered(answer).await,
            () = until(due) => serving.due().await,
            () = connection.refused() => {
                is_revoked = true;
                break;
            }
            () = &mut end => break,
        }
        has_run |= serving.core.state() > State::Reserved;
        serving.say_state();
    }
    serving.end(&mut told).await;
    match is_revoked {
        true => Err(FleetError::Key { url: access.url.clone() }),
        false => Ok(()),
    }
}

impl Serving<'_> {
    async fn order(&mut self, text: &str) {
        let arrived = now();
        let Ok((envelope, is_signed)) = signed::read::<Envelope>(self.access, text) else { return };
        if !is_signed && !matches!(envelope.order, Order::Sync {}) {
            let run = &envelope.run;
            (self.say)(&format!("an order of run {run} is refused: no operator of this fleet has signed it"));
            return;
        }
        let outputs = self.core.order(&envelope, arrived, now());
        self.apply(outputs).await;
    }

    async fn told(&mut self, load: u64, told: Told) {
        let Some(slot) = self.slots.get_mut(&load) else { return };
        let happening = match told {
            Told::Prepared(control) => {
                slot.prepared(control);
                Happening::Prepared
            }
            Told::Connecting(opened) => Happening::Connecting { opened },
            Told::Connected => Happening::Connected,
            Told::Began(at) => Happening::FirstSend { at },
            Told::Second(second, table) => {
                slot.measured(second, table);
                Happening::Second { second }
            }
            Told::Failed(error) => Happening::Failed { error },
            Told::Ended => Happening::Drained { digest: slot.end() },
        };
        let outputs = self.core.happened(load, happening, now());
        if let (Some(slot), Some(end)) = (self.slots.get(&load).filter(|slot| slot.has_ended()), self.core.status().end)
        {
            slot.finish(&end);
        }
        self.apply(outputs).await;
    }

    async fn due(&mut self) {
        let now = now();
        if let Some((_, run)) = self.halt.take_if(|(at, _)| now >= *at) {
            if self.core.run().is_some_and(|(own, _)| run.as_deref().is_none_or(|run| run == own)) {
                let outputs = self.core.halt("it was stopped by an operator", now);
                self.apply(outputs).await;
            }
            if run.is_none() {
                self.stop_sessions().await;
            }
        }
        let outputs = self.core.tick(now);
        self.apply(outputs).await;
        self.tick_sessions().await;
    }

    fn stop(&mut self, text: &str) {
        let Ok((Stop { run, at_unix_s, .. }, true)) = signed::read::<Stop>(self.access, text) else { return };
        let day = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if day.abs_diff(Duration::from_secs(at_unix_s)) <= STOP_AGE && self.halt.is_none() {
            self.halt = Some((now() + HALT_NS, run));
        }
    }

    fn answer_who(&self, text: &str) {
        let Ok((Who { asker, .. }, _)) = signed::read::<Who>(self.access, text) else { return };
        let received_ns = now();
        let busy = self.core.held(received_ns).map(|held| {
            let Held { owner, run, targets, is_described, left_ns } = held;
            Busy { owner, run, targets, is_described, left_ns }
        });
        let mut about = About { state: self.core.state(), busy, ..self.settings.about.clone() };
        let pause = Duration::from_millis(RandomState::new().hash_one(asker) % SPREAD_MS);
        let bus = self.bus.clone();
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            about.times = Times { received_ns, answered_ns: now() };
            if let Ok(text) = encode(&about) {
                bus.send(subject::about(asker, &about.id), text).await;
            }
        });
    }

    async fn apply(&mut self, outputs: Vec<Output>) {
        let id = self.core.id().to_owned();
        let mut outputs = std::collections::VecDeque::from(outputs);
        while let Some(output) = outputs.pop_front() {
            let (subject, text) = match output {
                Output::Reply(reply) => (subject::replies(&reply.run, &id), encode(&*reply)),
                Output::Notice(notice) => (subject::events(&notice.run, &id), encode(&*notice)),
                Output::Effect { load, effect: Effect::Send { from } } => {
                    self.send(load, from).await;
                    continue;
                }
                Output::Effect { load, effect } => {
                    if let Err(error) = self.effect(load, effect) {
                        outputs.extend(self.core.happened(load, Happening::Failed { error }, now()));
                    }
                    continue;
                }
            };
            if let Ok(text) = text {
                self.bus.send(subject, text).await;
            }
        }
    }

    fn effect(&mut self, load: u64, effect: Effect) -> Result<(), String> {
        if let Effect::Prepare { run, epoch, task } = &effect {
            // Only the newest can be asked for.
            self.slots.retain(|_, slot| !slot.has_ended());
            let (slot, created) = Slot::new(&self.settings.journals, run, *epoch, self.core.incarnation(), task);
            let kept = self.settings.files.clone();
            let (files, fetching) = Files::start(&self.bus, run, self.core.id(), kept);
            self.slots.insert(load, slot.fetching(fetching));
            let tell = Tell { load, sender: self.sender.clone() };
            match created {
                Ok(()) => self.loads.prepare(task, files, tell),
                Err(_) => tell.tell(Told::Ended),
            }
            return created;
        }
        match self.slots.get_mut(&load) {
            Some(slot) => slot.effect(&effect),
            None => Ok(()),
        }
    }

    /// Sends the seconds of the journal from this one on.
    async fn send(&self, load: u64, from: u64) {
        let Some(slot) = self.slots.get(&load) else { return };
        for part in slot.parts(self.core.id(), self.core.incarnation(), from) {
            if let Ok(text) = encode(&part) {
                self.bus.send(subject::seconds(&part.origin.run, &part.origin.agent), text).await;
            }
        }
    }

    fn say_state(&mut self) {
        let state = (self.core.state(), self.core.run().map(|(run, _)| run.to_owned()));
        if self.said == state {
            return;
        }
        let owner = self.core.held(now()).map_or(String::new(), |held| format!(" of {}", held.owner));
        match (&state, &self.said.1) {
            ((State::Idle, _), Some(run)) => (self.say)(&format!("run {run} is over")),
            ((State::Idle, _), None) => (),
            ((State::Stopped, Some(run)), _) => {
                let why = self.core.status().why;
                let why = why.as_ref().map_or("", |why| why.words());
                (self.say)(&format!("run {run} is stopped: {why}"));
            }
            ((state, run), _) => {
                let run = run.as_deref().unwrap_or_default();
                (self.say)(&format!("run {run}{owner}: {state}"));
            }
        }
        self.said = state;
    }

    /// Ends what is there, and tells the coordinator why.
    async fn end(&mut self, told: &mut UnboundedReceiver<(u64, Told)>) {
        let outputs = self.core.halt("the agent was ended by its owner", now());
        self.apply(outputs).await;
        let ended = async {
            while self.slots.values().any(|slot| !slot.has_ended()) {
                let Some((load, of)) = told.recv().await else { return };
                self.told(load, of).await;
            }
        };
        if tokio::time::timeout(END, ended).await.is_err() {
            (self.say)("a load thread does not end: it is ended with the agent");
        }
        self.threads.end();
        self.bus.flush().await;
    }
}
