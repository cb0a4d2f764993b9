//! State shared by the tasks of one load thread, and what its protocol implements.

use super::clock::{Clock, thread_cpu_ns};
use super::connect_pacer::Pace;
use super::places::Places;
use super::scheduler::{Order, Scheduler};
use super::shared::Shared;
use super::trace::Trace;
use crate::measure::breakdown::Breakdown;
use crate::measure::links::Links;
use crate::measure::recorder::{Failure, Recorder};
use crate::measure::{counter::Counter, interval::Usage};
use crate::{http::Http, schedule::Schedule, schedule::Share};
use brunt_runtime::net::Address;
use std::cell::{Cell, RefCell};
use std::{future::poll_fn, io, net::SocketAddr, rc::Rc, sync::Arc, task::Poll, time::Instant};

/// A protocol on one load thread: the lifecycle of its connections. Most protocols implement [`super::exchange::Exchange`]
/// instead. No dynamic dispatch: the needs of one protocol cost others nothing.
pub trait Protocol: Sized + 'static {
    type Link: 'static;

    /// Opens connection `index` of this thread, handshakes included. Calls [`Worker::accepted`] once the target has accepted
    /// it.
    fn open(worker: &Worker<Self>, index: u32, trace: &mut impl Trace) -> impl Future<Output = io::Result<Self::Link>>;

    /// Sends requests on connection `index` of this thread, and replaces it when it ends, until the window is over. `link`
    /// is the first connection, if it could be opened. Begins with [`Worker::set_waker`].
    fn keep_open(worker: Rc<Worker<Self>>, index: u32, link: Option<Self::Link>) -> impl Future<Output = ()> + 'static;

    /// Takes the first requests, which are one write, opens connection `index` for them, and returns once they are answered;
    /// false if the connection was lost before. Needs a load of one request that has begun.
    fn once(worker: &Worker<Self>, index: u32, trace: impl Trace) -> impl Future<Output = io::Result<bool>>;
}

pub struct Core<P> {
    pub scheduler: Scheduler,
    pub protocol: P,
    /// Number of polls of connections; a spin without one counts as waiting.
    pub activity: u64,
    /// The last [`brunt_runtime::turn_time`], and the same on the run's clock.
    pub turn: (Instant, u64),
}

impl<P> Core<P> {
    /// Arrival time of this turn's bytes on the run's clock; read and converted once a turn.
    #[inline]
    pub fn turn_now(&mut self, clock: Clock) -> u64 {
        let moment = brunt_runtime::turn_time();
        if moment != self.turn.0 {
            self.turn = (moment, clock.at(moment));
        }
        self.turn.1
    }
}

pub struct Worker<P> {
    pub shared: Arc<Shared>,
    pub clock: Clock,
    pub share: Share,
    /// Borrowed throughout a connection's poll: the runtime makes no callbacks within it.
    pub core: RefCell<Core<P>>,
    /// Time spent spinning until the next intended time, in nanoseconds.
    pub spin_ns: Rc<Cell<u64>>,
    pub begun: Cell<usize>,
    /// Attempts that were given a source address.
    dialled: Cell<u64>,
    /// Connections without a task: they were lost after a window, and a session opens them again before its next slice.
    pub lost: RefCell<Vec<u32>>,
    /// `None` if the number of connections does not change.
    pub staged: Option<Places>,
}

impl<P> Worker<P> {
    /// `schedule` is this thread's part of an open loop. Must be called inside its runtime.
    pub fn new(shared: &Arc<Shared>, share: Share, schedule: Option<Schedule>, protocol: P) -> Self {
        let options = &shared.options;
        let spin_ns = Rc::new(Cell::new(0));
        let links = Links {
            open: Arc::clone(&shared.open),
            close: Arc::clone(&shared.close),
            window_close: Arc::clone(&shared.window_close),
            budget: shared.budget.clone(),
            meter: meter(shared.clock, Rc::clone(&spin_ns)),
        };
        let counter = options.counts.map(|counting| Counter::new(&counting, schedule.as_ref()));
        let breakdown = Breakdown::new(options.names().len(), &options.steps());
        let recorder = Recorder::new(schedule.is_none(), links, counter, breakdown);
        let timeout_ns = options.timeout.as_nanos() as u64;
        let depth = options.target.http().map_or(1, Http::depth);
        let mut scheduler = Scheduler::new(share.own(), depth, schedule, timeout_ns, recorder);
        scheduler.order = Order::new(options.direct.spread(), options.seed, share);
        let staged = (!options.connection_stages.is_empty()).then(|| {
            let first = share.below(options.first_connections());
            scheduler.places = first as u32;
            Places::new(share.own(), first, Pace::new(options.connect_rate, share))
        });
        Self {
            clock: shared.clock,
            share,
            core: RefCell::new(Core { scheduler, protocol, activity: 0, turn: (shared.clock.instant(0), 0) }),
            spin_ns,
            begun: Cell::new(0),
            dialled: Cell::new(0),
            lost: RefCell::default(),
            staged,
            shared: Arc::clone(shared),
        }
    }

    /// Connections of this thread that are opened before the load.
    pub fn first(&self) -> usize {
        self.shared.options.first_of(self.share)
    }

    /// Place of connection `index` in the order in which connections are opened, from 0.
    pub fn number(&self, index: usize) -> usize {
        if self.staged.is_some() { self.share.rank(index) } else { self.share.global(index) }
    }

    /// Whether connection `index` has a place in the load now.
    pub fn has_place(&self, index: u32) -> bool {
        index < self.core.borrow().scheduler.places
    }

    /// Connection `index` has no place and is not open: its task ends.
    pub fn leave(&self, index: u32) {
        self.core.borrow_mut().scheduler.suspend(index);
        self.staged.iter().for_each(|staged| staged.left(index));
    }

    pub fn host(&self, index: u32) -> usize {
        self.shared.hosts.of(self.share, index as usize, self.staged.is_some())
    }

    pub fn address(&self, index: u32) -> &Address {
        &self.shared.hosts.addresses[self.host(index)]
    }

    /// Sets the waker of connection `index` to that of the calling task: it is woken when it is assigned a request or its
    /// request has timed out. Comes first in a connection's task.
    pub async fn set_waker(&self, index: u32) {
        poll_fn(|cx| {
            self.core.borrow_mut().scheduler.wakers[index as usize].clone_from(cx.waker());
            Poll::Ready(())
        })
        .await;
    }

    /// Source address of the next connection, if there are any. Threads take them in turn, as they do connections.
    pub fn source(&self) -> Option<SocketAddr> {
        let sources = self.shared.options.sources.as_ref()?;
        let turn = self.dialled.replace(self.dialled.get() + 1);
        let number = self.share.thread as u64 + turn * self.share.threads as u64;
        Some(SocketAddr::new(sources.nth(number), 0))
    }

    /// The target has accepted connection `index`, which may lack its handshake.
    pub fn accepted(&self, index: u32) {
        self.shared.connecting.accepted(self.host(index));
    }

    pub fn opened(&self, index: u32) {
        let host = self.host(index);
        self.shared.connecting.opened(host);
        self.shared.outages.opened(host, || self.clock.now());
        self.core.borrow_mut().scheduler.recorder.connections += 1;
    }

    /// Connection `index` has failed and is about to be closed.
    pub fn closed(&self, index: u32, failure: Failure) {
        self.retired();
        self.core.borrow_mut().scheduler.lost(index, self.clock.now(), failure);
    }

    /// A connection is about to be closed without loss of a request.
    pub fn retired(&self) {
        self.shared.connecting.closed();
        self.core.borrow_mut().scheduler.recorder.connections -= 1;
    }

    /// Connection `index` is lost and the window is over: its task ends.
    pub fn give_up(&self, index: u32) {
        self.lost.borrow_mut().push(index);
        self.shared.connecting.give_up();
    }

    /// A connection of [`Self::lost`] gets a task again.
    pub fn take_lost(&self) -> Option<u32> {
        let index = self.lost.borrow_mut().pop()?;
        self.shared.connecting.take_up();
        Some(index)
    }

    pub fn not_opened(&self) {
        let now = self.clock.now();
        self.core.borrow_mut().scheduler.recorder.connection_error(now, Failure::Connect);
    }
}

fn meter(clock: Clock, spin_ns: Rc<Cell<u64>>) -> Box<dyn Fn() -> Usage> {
    Box::new(move || Usage {
        at_ns: clock.now(),
        cpu_ns: thread_cpu_ns(),
        spin_ns: spin_ns.get() + brunt_runtime::metrics().spin_time.as_nanos() as u64,
    })
}
