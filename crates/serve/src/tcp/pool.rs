//! One epoll loop that detects ready connections and a pool of threads that serves them, with a bounded queue in between.
//! A connection is armed once (EPOLLONESHOT) and again after it is served, so it is never with two threads.

use super::shared::connection::{BUFFER, Closed, Connection};
use super::shared::context::{Concurrency, ModelContext, ServerModel, Workers};
use super::shared::reactor::{Dispatch, Reactor, Set, Source};
use super::shared::threads::set_affinity;
use super::shared::wake_fd::WakeFd;
use crate::{Counts, Notice, ServeError, Service, lock, report::Waits};
use rustix::event::epoll::EventFlags;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::{collections::VecDeque, io, mem, panic, thread, time::Instant};

/// Length of the queue. When it is full the loop blocks, and further requests wait in their sockets.
const CAPACITY: usize = 1024;

pub(crate) static MODEL: ServerModel = ServerModel {
    word: "pool",
    about: "one epoll loop, a pool of serving threads",
    backend: "one epoll loop, 1 pool thread",
    workers: Workers::Pooled,
    concurrency: Concurrency::Pool,
    listener_per_worker: false,
    run,
};

fn run(context: &ModelContext) -> Result<Counts, ServeError> {
    let options = context.options;
    set_affinity(&options.workers)?;
    let reactor = Reactor::new(Source::Listeners(context.listeners()?))?;
    let queue = &WorkQueue::new(&reactor, options.service);
    let (counts, waits) = thread::scope(|scope| {
        // Closes the queue when dropped, which ends the threads.
        let producer = Producer(queue);
        let start = |number| {
            let thread = thread::Builder::new().name(format!("pool-{number}"));
            thread.spawn_scoped(scope, || queue.work())
        };
        let many = options.pool.unwrap_or(options.workers.len());
        let threads = (0..many).map(start).collect::<io::Result<Vec<_>>>()?;
        context.listening(format_args!("one epoll loop, {many} pool thread{}", if many == 1 { "" } else { "s" }));
        let counts = reactor.run(producer, context.stop, options.grace)?;
        let mut waits = Waits::default();
        for thread in threads {
            waits = waits + thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        }
        io::Result::Ok((counts, waits))
    })?;
    let _ = context.notices.send(Notice::Queued(waits));
    Ok(counts)
}

type SharedConnection = Arc<Mutex<Connection>>;

struct Request {
    key: usize,
    connection: SharedConnection,
    since: Instant,
}

struct WorkQueue {
    set: Arc<Set>,
    wake_fd: Arc<WakeFd>,
    service: Service,
    queue: Mutex<Queue>,
    /// Signalled when the queue becomes non-empty or closed.
    some: Condvar,
    /// Signalled when the queue is no longer full.
    room: Condvar,
    closed: Mutex<Vec<(usize, Closed)>>,
}

#[derive(Default)]
struct Queue {
    requests: VecDeque<Request>,
    closed: bool,
}

impl WorkQueue {
    fn new(reactor: &Reactor, service: Service) -> Self {
        let (queue, closed) = (Mutex::default(), Mutex::default());
        let (some, room) = (Condvar::new(), Condvar::new());
        Self { set: reactor.set.clone(), wake_fd: reactor.wake_fd.clone(), service, queue, some, room, closed }
    }

    /// Runs one thread of the pool. Returns the queueing times of its requests.
    fn work(&self) -> Waits {
        let mut buffer = vec![0; BUFFER];
        let mut waits = Waits::default();
        while let Some(Request { key, connection, since }) = self.take() {
            let wait = since.elapsed();
            waits = waits + Waits { count: 1, total: wait, longest: wait };
            let mut serve = |mut connection: MutexGuard<Connection>| -> Result<(), Closed> {
                connection.turn(&mut buffer, self.service)?;
                Ok(self.set.change(key, &connection, Producer::FLAGS)?)
            };
            if let Err(closed) = serve(lock(&connection)) {
                drop(connection);
                lock(&self.closed).push((key, closed));
                self.wake_fd.notify();
            }
        }
        waits
    }

    fn put(&self, request: Request) {
        let full = |queue: &mut Queue| queue.requests.len() >= CAPACITY;
        let mut queue = self.room.wait_while(lock(&self.queue), full).unwrap_or_else(PoisonError::into_inner);
        queue.requests.push_back(request);
        drop(queue);
        self.some.notify_one();
    }

    /// Returns `None` once the queue is closed; queued requests are dropped with their connections.
    fn take(&self) -> Option<Request> {
        let nothing = |queue: &mut Queue| queue.requests.is_empty() && !queue.closed;
        let mut queue = self.some.wait_while(lock(&self.queue), nothing).unwrap_or_else(PoisonError::into_inner);
        if queue.closed {
            return None;
        }
        let request = queue.requests.pop_front();
        if queue.requests.len() + 1 == CAPACITY {
            self.room.notify_one();
        }
        request
    }
}

/// The event loop's end of the queue.
struct Producer<'a>(&'a WorkQueue);

impl Dispatch for Producer<'_> {
    type State = SharedConnection;
    const FLAGS: EventFlags = EventFlags::ONESHOT;

    fn register(&mut self, connection: Connection) -> SharedConnection {
        Arc::new(Mutex::new(connection))
    }

    fn serve(&mut self, _: &Set, key: usize, connection: &mut SharedConnection) -> Result<(), Closed> {
        self.0.put(Request { key, connection: connection.clone(), since: Instant::now() });
        Ok(())
    }

    fn closed_elsewhere(&mut self) -> Vec<(usize, Closed)> {
        mem::take(&mut lock(&self.0.closed))
    }
}

impl Drop for Producer<'_> {
    fn drop(&mut self) {
        lock(&self.0.queue).closed = true;
        self.0.some.notify_all();
    }
}
