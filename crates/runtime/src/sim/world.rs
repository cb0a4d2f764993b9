//! What the tasks of a test know of one another, and what must be true of all of them.

use super::{kernel::Kernel, plan::Plan, socket};
use crate::{JoinHandle, executor, net::RecvBuf};
use std::{
    cell::RefCell,
    collections::VecDeque,
    future::{Future, poll_fn},
    pin::pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

/// What a task is at. One that waits must have something to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Doing {
    #[default]
    Nothing,
    Runs,
    Reads,
    Writes,
    Accepts,
    Connects,
    Sleeps,
    Watches,
}

/// What has passed between a task and its connection.
#[derive(Default)]
struct Track {
    doing: Doing,
    got: usize,
    wrote: Vec<u8>,
}

pub(super) struct World {
    pub kernel: Rc<RefCell<Kernel>>,
    tracks: RefCell<Vec<Track>>,
    /// Leases that live longer than the operation that took them, and what was in them.
    pub kept: RefCell<VecDeque<(RecvBuf, Vec<u8>)>>,
    pub handles: RefCell<Vec<(Option<u8>, JoinHandle<()>)>>,
}

/// Makes the waker of a task a foreign one.
struct Relay(Waker);

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

/// A task's end, whichever way it comes.
pub(super) struct Gone<'a>(&'a World, usize);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.0.set(self.1, Doing::Nothing);
    }
}

impl World {
    /// One track for each life, one for the hoarder, one for the acceptor.
    pub fn new(kernel: Rc<RefCell<Kernel>>, plan: &Plan) -> Self {
        let tracks = (0..plan.lives.len() + 2).map(|_| Track::default()).collect();
        Self { kernel, tracks: RefCell::new(tracks), kept: RefCell::default(), handles: RefCell::default() }
    }

    pub fn fault(&self, what: String) {
        self.kernel.borrow_mut().net.faults.push(what);
    }

    pub fn audit(&self) {
        if let Err(fault) = executor::current(|worker| worker.io().audit()) {
            self.fault(fault);
        }
    }

    pub fn begins(&self, who: usize) -> Gone<'_> {
        self.set(who, Doing::Runs);
        Gone(self, who)
    }

    fn set(&self, who: usize, doing: Doing) {
        self.tracks.borrow_mut()[who].doing = doing;
    }

    /// Waits for `future` and lets everybody know why.
    pub async fn during<T>(&self, who: usize, doing: Doing, foreign: bool, future: impl Future<Output = T>) -> T {
        self.audit();
        let mut future = pin!(future);
        poll_fn(|cx| {
            self.set(who, doing);
            let polled = if foreign {
                let relay: Waker = Arc::new(Relay(cx.waker().clone())).into();
                future.as_mut().poll(&mut Context::from_waker(&relay))
            } else {
                future.as_mut().poll(cx)
            };
            if polled.is_ready() {
                self.set(who, Doing::Runs);
            }
            polled
        })
        .await
    }

    /// Bytes came: they must be the next ones. None is the end, which must be one.
    pub fn got(&self, sock: usize, bytes: &[u8]) {
        let track = &mut self.tracks.borrow_mut()[sock];
        let expected = (track.got..).map(|position| socket::byte(sock, position));
        if !bytes.iter().copied().eq(expected.take(bytes.len())) {
            self.fault(format!("socket {sock}: other bytes than were sent, at {}", track.got));
        }
        track.got += bytes.len();
        let (sent, fin) = {
            let sock = &self.kernel.borrow().net.socks[sock];
            (sock.sent, sock.fin && !sock.reader_told)
        };
        if bytes.is_empty() && !(fin && sent == track.got) {
            self.fault(format!("socket {sock}: an end after {} of {sent} bytes, fin {fin}", track.got));
        }
    }

    pub fn wrote(&self, sock: usize, bytes: &[u8]) {
        self.tracks.borrow_mut()[sock].wrote.extend_from_slice(bytes);
    }

    pub fn written(&self, sock: usize) -> usize {
        self.tracks.borrow()[sock].wrote.len()
    }

    /// An error must have a reason.
    pub fn failed(&self, sock: usize, what: &str, error: &std::io::Error) {
        if !self.kernel.borrow().net.socks[sock].failed {
            self.fault(format!("socket {sock}: {what}: {error}, for no reason"));
        }
    }

    /// Until nothing moves any more.
    pub async fn rest(&self) {
        poll_fn(|cx| {
            let mut kernel = self.kernel.borrow_mut();
            if std::mem::take(&mut kernel.at_rest) {
                return Poll::Ready(());
            }
            kernel.watcher = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
        self.audit();
    }

    /// At rest: who waits must wait for something that has not happened.
    pub fn check_waits(&self) {
        let hungry = executor::current(|worker| worker.io().no_buffer_is_left());
        let mut faults = Vec::new();
        let kernel = self.kernel.borrow();
        for (who, track) in self.tracks.borrow().iter().enumerate() {
            let sock = kernel.net.socks.get(who);
            let in_vain = match track.doing {
                Doing::Nothing => false,
                Doing::Runs | Doing::Sleeps | Doing::Watches => true,
                Doing::Connects => !sock.is_some_and(|sock| sock.silent),
                Doing::Reads => sock.is_some_and(|sock| (sock.is_readable() && !hungry) || sock.received > track.got),
                Doing::Writes => !kernel.waits_for_peer(who),
                Doing::Accepts => !kernel.net.backlog.is_empty() || !kernel.net.accepted.is_empty(),
            };
            if in_vain {
                faults.push(format!("task {who} {:?} in vain; got {}, {sock:?}", track.doing, track.got));
            }
        }
        drop(kernel);
        faults.into_iter().for_each(|fault| self.fault(fault));
    }

    /// What was written must have gone out, in order and once: all of it, unless the peer does not take it or is gone.
    pub fn check_sent(&self, all: bool) {
        let mut faults = Vec::new();
        let kernel = self.kernel.borrow();
        for (who, (track, sock)) in self.tracks.borrow().iter().zip(&kernel.net.socks).enumerate() {
            let (wrote, taken) = (track.wrote.len(), sock.taken.len());
            if sock.shut_at.is_some_and(|at| at < wrote) && !sock.failed {
                faults.push(format!("socket {who}: shut down before all of {wrote} bytes were sent"));
            }
            if !track.wrote.starts_with(&sock.taken) {
                faults.push(format!("socket {who}: of {wrote} bytes written other {taken} were sent"));
            } else if all && taken < wrote && !sock.failed && !kernel.waits_for_peer(who) {
                faults.push(format!("socket {who}: of {wrote} bytes written only {taken} were sent"));
            }
        }
        drop(kernel);
        faults.into_iter().for_each(|fault| self.fault(fault));
    }

    /// Every byte written to that socket has been sent, unless it failed.
    pub fn is_flushed(&self, sock: usize) -> bool {
        let kernel = self.kernel.borrow();
        kernel.net.socks[sock].failed || kernel.net.socks[sock].taken.len() == self.tracks.borrow()[sock].wrote.len()
    }

    /// The runtime is gone: no descriptor may be left, and the leases kept are what they were.
    pub fn check_end(&self) {
        for (lease, copy) in self.kept.borrow_mut().drain(..) {
            if *lease != *copy {
                self.fault("a lease has changed".to_owned());
            }
        }
        let mut left: Vec<usize> = Vec::new();
        {
            let mut kernel = self.kernel.borrow_mut();
            for (who, sock) in kernel.net.socks.iter_mut().enumerate() {
                sock.look();
                if sock.stage == socket::Stage::Open {
                    left.push(who);
                }
            }
        }
        if !left.is_empty() {
            self.fault(format!("the descriptors of sockets {left:?} are still open"));
        }
        self.check_sent(false);
    }
}
