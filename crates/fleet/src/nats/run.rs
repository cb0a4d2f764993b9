//! The program of a coordinator: its core and its connection, on a thread of their own.

use super::about::{About, Busy, is_id};
use super::access::Access;
use super::asking::{Stop, find};
use super::bus::{Bus, text};
use super::clock::{now, until};
use super::offered::Offered;
use super::whole::Whole;
use super::{FleetError, signed, subject};
use crate::coordinator::{Config, Coordinator, Outcome, Output, Rival};
use crate::words::{Assembled, Assembler, Event, Notice, Order, Part, Piece, Reply, Table, Version, Wanted, encode};
use async_nats::Subscriber;
use futures_lite::StreamExt as _;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Bytes of parts that may wait for others.
const HELD: usize = 256 << 20;

/// Takes what the agents have measured, on the thread of the run.
pub trait Sink: Send {
    /// Another second of an agent is there, which has a number from 0; it is given once all have it.
    fn arrived(&mut self, agent: &str, second: u64);

    /// The agents of which a second is late now.
    fn late(&mut self, agents: &[&str]);

    /// The next second of an agent; of all agents or of none.
    ///
    /// # Errors
    /// It cannot be read; one line. The run ends.
    fn second(&mut self, agent: &str, table: &Table) -> Result<(), String>;

    /// An agent is lost: there are no more seconds.
    fn lost(&mut self, agent: &str, why: &str);
}

/// A run that goes on.
pub struct Run {
    shared: Arc<Shared>,
    interrupts: UnboundedSender<()>,
    thread: JoinHandle<Result<(Outcome, String), FleetError>>,
}

#[derive(Default)]
struct Shared {
    seen: Mutex<Seen>,
    changed: Condvar,
}

/// What other threads may look at.
#[derive(Default, Clone)]
struct Seen {
    /// Connections that are open, by agent.
    opened: BTreeMap<String, u64>,
    /// First request and end of the window.
    times: Option<(i64, i64)>,
    whole_seconds: u64,
    /// The first agent that is lost, and why.
    lost: Option<(String, String)>,
    /// Whether the run ends before its time.
    is_ending: bool,
    is_over: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

/// What a run is about to do.
pub enum Begun {
    /// Agents prepare; so many connections are open.
    Waiting(u64),
    /// It begins at this time of CLOCK_MONOTONIC.
    At(i64),
    /// It is over.
    Over,
}

impl Run {
    /// Begins a run, with agents of which some are known to be there, and which may fetch the files of the load.
    ///
    /// # Errors
    /// The NATS server cannot be reached.
    pub fn start(
        access: &Access,
        config: Config,
        known: Vec<About>,
        offered: Offered,
        sink: impl Sink + 'static,
    ) -> Result<Self, FleetError> {
        let shared = Arc::new(Shared::default());
        let (interrupts, interrupted) = unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let running =
            runtime.block_on(Running::new(access.clone(), config, Arc::clone(&shared), Box::new(sink), offered))?;
        let of_thread = Arc::clone(&shared);
        let work = move || {
            let outcome = runtime.block_on(running.run(known, interrupted));
            of_thread.change(|seen| seen.is_over = true);
            outcome
        };
        let thread = thread::Builder::new().name("fleet".to_owned()).spawn(work)?;
        Ok(Self { shared, interrupts, thread })
    }

    /// Waits this long at most until the start is known, or the run is over.
    pub fn begun(&self, patience: Duration) -> Begun {
        let is_waiting = |seen: &mut Seen| seen.times.is_none() && !seen.is_over;
        let waited = self.shared.changed.wait_timeout_while(self.shared.lock(), patience, is_waiting);
        let (seen, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match seen.times {
            Some((start, _)) => Begun::At(start),
            None if seen.is_over => Begun::Over,
            None => Begun::Waiting(seen.opened.values().sum()),
        }
    }

    /// Ends the run soon. Returns when the window ends for all agents: after the last second that is there from all, if one is lost.
    pub fn close(&self) -> Option<i64> {
        let _ = self.interrupts.send(());
        let is_waiting = |seen: &mut Seen| !seen.is_ending && !seen.is_over;
        let seen = self.shared.changed.wait_while(self.shared.lock(), is_waiting);
        let seen = seen.unwrap_or_else(PoisonError::into_inner);
        let (start, close) = seen.times?;
        let whole = start + seen.whole_seconds as i64 * crate::SECOND_NS;
        Some(if seen.lost.is_some() { whole.min(close) } else { close })
    }

    /// The first agent that is lost, and why.
    pub fn lost(&self) -> Option<(String, String)> {
        self.shared.lock().lost.clone()
    }

    /// Waits for the end; returns how it ended, and the version of the NATS server.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn end(self) -> Result<(Outcome, String), FleetError> {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Agents that have answered, to a look of the core if it has a number.
type Found = (Option<u64>, Vec<About>);

struct Running {
    access: Access,
    bus: Bus,
    run: String,
    core: Coordinator,
    assembler: Assembler,
    whole: Whole,
    shared: Arc<Shared>,
    sink: Box<dyn Sink>,
    offered: Offered,
    found: UnboundedSender<Found>,
    finds: UnboundedReceiver<Found>,
    outcome: Option<Outcome>,
}

/// What is heard during a run.
struct Heard {
    replies: Subscriber,
    events: Subscriber,
    seconds: Subscriber,
    wanted: Subscriber,
    stops: Subscriber,
}

impl Running {
    async fn new(
        access: Access,
        config: Config,
        shared: Arc<Shared>,
        sink: Box<dyn Sink>,
        offered: Offered,
    ) -> Result<Self, FleetError> {
        let bus = Bus::connect(&access, "brunt").await?;
        let (run, epoch) = (config.run.clone(), config.epoch);
        let core = Coordinator::new(config, now());
        let assembler = Assembler::new(run.clone(), epoch, HELD);
        let (found, finds) = unbounded_channel();
        let whole = Whole::default();
        Ok(Self { access, bus, run, core, assembler, whole, shared, sink, offered, found, finds, outcome: None })
    }

    async fn run(
        mut self,
        known: Vec<About>,
        mut interrupted: UnboundedReceiver<()>,
    ) -> Result<(Outcome, String), FleetError> {
        let of = |subject: fn(&str, &str) -> String| subject(&self.run, subject::ALL);
        let mut heard = Heard {
            replies: self.bus.listen(of(subject::replies)).await?,
            events: self.bus.listen(of(subject::events)).await?,
            seconds: self.bus.listen(of(subject::seconds)).await?,
            wanted: self.bus.listen(of(subject::wanted)).await?,
            stops: self.bus.listen(subject::stop()).await?,
        };
        let outputs = self.found(&known);
        self.apply(outputs).await;
        loop {
            let outputs = tokio::select! {
                biased;
                Some(message) = heard.replies.next() => {
                    let returned = now();
                    let said = subject::said(&message, |reply: &Reply| subject::replies(&reply.run, &reply.agent));
                    said.map_or(Vec::new(), |reply| self.core.reply(&reply, returned))
                }
                Some(message) = heard.events.next() => {
                    let said = subject::said(&message, |notice: &Notice| subject::events(&notice.run, &notice.agent));
                    said.map_or(Vec::new(), |notice| self.notice(&notice))
                }
                Some(message) = heard.seconds.next() => {
                    let of = |part: &Part| subject::seconds(&part.origin.run, &part.origin.agent);
                    subject::said(&message, of).map_or(Vec::new(), |part| self.part(part))
                }
                Some(message) = heard.wanted.next() => {
                    let said = subject::said(&message, |wanted: &Wanted| subject::wanted(&wanted.run, &wanted.agent));
                    if let Some(wanted) = said {
                        self.give(wanted).await;
                    }
                    Vec::new()
                }
                Some(message) = heard.stops.next() => self.stop(text(&message)),
                Some((look, abouts)) = self.finds.recv() => match look {
                    None => self.found(&abouts),
                    Some(number) => self.looked(number, abouts),
                },
                Some(()) = interrupted.recv() => self.interrupt(),
                () = until(self.core.due()) => self.core.tick(now()),
            };
            self.apply(outputs).await;
            self.look();
            if let Some(outcome) = self.outcome.take() {
                self.bus.flush().await;
                return Ok((outcome, self.bus.server()));
            }
        }
    }

    fn found(&mut self, abouts: &[About]) -> Vec<Output> {
        abouts.iter().flat_map(|about| self.core.found(&about.id, about.incarnation, now())).collect()
    }

    fn looked(&mut self, number: u64, abouts: Vec<About>) -> Vec<Output> {
        let runs = abouts.into_iter().filter_map(|about| about.busy).map(|busy| {
            let Busy { owner, run, targets, is_described, left_ns } = busy;
            Rival { run, owner, targets, is_described, left_ns }
        });
        self.core.looked(number, &runs.collect::<Vec<_>>(), now())
    }

    /// Asks all agents, beside what else is to be done.
    fn ask(&self, look: Option<u64>) {
        let (bus, found) = (self.bus.clone(), self.found.clone());
        tokio::spawn(async move {
            if let Ok(abouts) = find(&bus).await {
                let _ = found.send((look, abouts));
            }
        });
    }

    fn notice(&mut self, notice: &Notice) -> Vec<Output> {
        if let Event::Connecting { opened } = notice.event {
            self.shared.change(|seen| _ = seen.opened.insert(notice.agent.clone(), opened));
        }
        self.core.notice(notice, now())
    }

    fn part(&mut self, part: Part) -> Vec<Output> {
        // What is left out is asked for again.
        let Ok(Some(Assembled { agent, incarnation, second, table })) = self.assembler.take(part) else {
            return Vec::new();
        };
        let (counts, outputs) = self.core.second(&agent, incarnation, second, now());
        if counts {
            self.sink.arrived(&agent, second);
            self.whole.add(&agent, second, table);
        }
        outputs
    }

    /// Sends a piece of a file to the agent that wants it.
    async fn give(&self, wanted: Wanted) {
        let Wanted { run, agent, hash, offset, .. } = wanted;
        if run != self.run || !is_id(&agent) {
            return;
        }
        let (data, error) = match self.offered.read(&hash, offset) {
            Ok(data) => (data, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        if let Ok(text) = encode(&Piece { version: Version, run, hash, offset, data, error }) {
            self.bus.send(subject::pieces(&agent), text).await;
        }
    }

    fn stop(&mut self, text: &str) -> Vec<Output> {
        match signed::read::<Stop>(&self.access, text) {
            Ok((Stop { run, .. }, true)) if run.as_ref().is_none_or(|run| *run == self.run) => self.interrupt(),
            _ => Vec::new(),
        }
    }

    fn interrupt(&mut self) -> Vec<Output> {
        let outputs = self.core.interrupt(now());
        self.shared.change(|seen| {
            seen.times = self.core.times().or(seen.times);
            seen.is_ending = true;
        });
        outputs
    }

    async fn apply(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Find => self.ask(None),
                Output::Look { number } => self.ask(Some(number)),
                Output::Order { agent, envelope } => {
                    let text = match envelope.order {
                        Order::Sync {} => signed::open(&*envelope),
                        _ => signed::sign(&self.access.key, &*envelope),
                    };
                    if let Ok(text) = text {
                        self.bus.send(subject::orders(&agent), text).await;
                    }
                }
                Output::Outcome(outcome) => self.outcome = Some(*outcome),
            }
        }
    }

    /// Hands on what is new, and tells other threads.
    fn look(&mut self) {
        for (agent, table) in self.whole.take(self.core.whole_seconds()) {
            if let Err(why) = self.sink.second(&agent, &table) {
                self.sink.lost(&agent, &why);
                self.shared.change(|seen| _ = seen.lost.get_or_insert((agent, why)));
            }
        }
        self.sink.late(&self.core.late(now()));
        let lost = self.core.lost().next().map(|(agent, why)| (agent.to_owned(), why.words()));
        let (times, whole_seconds) = (self.core.times(), self.core.whole_seconds());
        let mut seen = self.shared.lock();
        if let Some((agent, why)) = lost.filter(|_| seen.lost.is_none()) {
            self.sink.lost(&agent, &why);
            (seen.lost, seen.is_ending) = (Some((agent, why)), true);
        }
        (seen.times, seen.whole_seconds) = (times.or(seen.times), whole_seconds);
        drop(seen);
        self.shared.changed.notify_all();
    }
}
