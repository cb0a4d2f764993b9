//! One epoll loop that finds who is ready, and threads that serve them, over a queue of bounded length. A connection is
//! reported once (EPOLLONESHOT) and again when it has been served, so two threads never have the same one.

use super::{
    shared::connection::{BUFFER, Closed, Connection},
    shared::context::ModelContext,
    shared::reactor::{Dispatch, Reactor, Set, Source},
    shared::threads::set_affinity,
    shared::wake_fd::WakeFd,
};
use crate::{Counts, Notice, ServeError, Service, report::Waits};
use rustix::event::epoll::EventFlags;
use std::{
    collections::VecDeque,
    io, mem, panic,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Instant,
};

/// Requests in the queue. When it is full the loop waits for a thread: more would wait here instead of in their sockets.
const ROOM: usize = 1024;

pub(crate) fn run(context: &ModelContext) -> Result<Counts, ServeError> {
    let options = context.options;
    set_affinity(&options.workers)?;
    let reactor = Reactor::new(Source::Listeners(context.listeners()?))?;
    let queue = &WorkQueue::new(&reactor, options.service);
    let (counts, waits) = thread::scope(|scope| {
        // Ends the threads when it is dropped, however that comes.
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
            waits += thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        }
        io::Result::Ok((counts, waits))
    })?;
    let _ = context.notices.send(Notice::Queued(waits));
    Ok(counts)
}

type Seat = Arc<Mutex<Connection>>;

/// A connection that is ready, and since when.
struct Request {
    key: usize,
    seat: Seat,
    since: Instant,
}

/// What the loop and the threads share.
struct WorkQueue {
    set: Arc<Set>,
    wake_fd: Arc<WakeFd>,
    service: Service,
    queue: Mutex<Queue>,
    /// The queue is not empty any more, or closed.
    some: Condvar,
    /// The queue is not full any more.
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
        Self { set: reactor.set(), wake_fd: reactor.wake_fd(), service, queue, some, room, closed }
    }

    /// The life of a thread of the pool: how long those have waited whom it has served.
    fn work(&self) -> Waits {
        let mut buffer = vec![0; BUFFER];
        let mut waits = Waits::default();
        while let Some(Request { key, seat, since }) = self.take() {
            waits.add(since.elapsed());
            let mut serve = |mut connection: MutexGuard<Connection>| -> Result<(), Closed> {
                connection.turn(&mut buffer, self.service)?;
                Ok(self.set.change(key, &connection, Producer::FLAGS)?)
            };
            if let Err(closed) = serve(lock(&seat)) {
                drop(seat);
                lock(&self.closed).push((key, closed));
                self.wake_fd.notify();
            }
        }
        waits
    }

    fn put(&self, request: Request) {
        let full = |queue: &mut Queue| queue.requests.len() >= ROOM;
        let mut queue = self.room.wait_while(lock(&self.queue), full).unwrap_or_else(PoisonError::into_inner);
        queue.requests.push_back(request);
        drop(queue);
        self.some.notify_one();
    }

    /// Nothing once the queue is closed: those who are in it are cut with all others.
    fn take(&self) -> Option<Request> {
        let nothing = |queue: &mut Queue| queue.requests.is_empty() && !queue.closed;
        let mut queue = self.some.wait_while(lock(&self.queue), nothing).unwrap_or_else(PoisonError::into_inner);
        if queue.closed {
            return None;
        }
        let request = queue.requests.pop_front();
        if queue.requests.len() + 1 == ROOM {
            self.room.notify_one();
        }
        request
    }
}

/// The loop's end of the queue.
struct Producer<'a>(&'a WorkQueue);

impl Dispatch for Producer<'_> {
    type Seat = Seat;
    const FLAGS: EventFlags = EventFlags::ONESHOT;

    fn seat(&mut self, connection: Connection) -> Seat {
        Arc::new(Mutex::new(connection))
    }

    fn serve(&mut self, _: &Set, key: usize, seat: &mut Seat) -> Result<(), Closed> {
        self.0.put(Request { key, seat: seat.clone(), since: Instant::now() });
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
