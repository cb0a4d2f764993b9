//! State shared by the tasks of a test, and the properties checked.

use super::net::{self, Net, Sock, Stage};
use super::{kernel::Kernel, plan::Plan};
use crate::{JoinHandle, executor, net::RecvBuf, task::OnDrop};
use proptest::{prop_assert, test_runner::TestCaseError};
use std::future::{Future, poll_fn};
use std::task::{Context, Poll, Wake, Waker};
use std::{
    cell::{RefCell, RefMut},
    collections::VecDeque,
    pin::pin,
    rc::Rc,
    sync::Arc,
};

/// What a task is doing. A waiting one must have something to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Activity {
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

/// Bytes exchanged by a task and its connection.
#[derive(Default)]
pub(super) struct Progress {
    doing: Activity,
    got: usize,
    wrote: Vec<u8>,
}

pub(super) struct World {
    pub kernel: Rc<RefCell<Kernel>>,
    pub progress: RefCell<Vec<Progress>>,
    /// Buffers that outlive the operation that received them, and their contents.
    pub kept: RefCell<VecDeque<(RecvBuf, Vec<u8>)>>,
    pub handles: RefCell<Vec<(Option<u8>, JoinHandle<()>)>>,
    /// The ring is a real one, and the kernel holds the state of the peers only.
    pub on_real_ring: bool,
}

/// Wraps a task's waker in a foreign one.
struct Relay(Waker);

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

impl World {
    /// One entry for each connection, one for the hoarding task, one for the acceptor.
    pub fn new(kernel: Rc<RefCell<Kernel>>, plan: &Plan) -> Self {
        let progress = RefCell::new((0..plan.conns.len() + 2).map(|_| Progress::default()).collect());
        Self { kernel, progress, kept: RefCell::default(), handles: RefCell::default(), on_real_ring: false }
    }

    /// Spawns a task that is aborted in that round.
    pub fn spawn(&self, abort: Option<u8>, task: impl Future<Output = ()> + 'static) {
        let handle = crate::spawn(task);
        self.handles.borrow_mut().push((abort, handle));
    }

    /// Aborts the tasks of a round.
    pub fn abort(&self, round: u8) {
        self.handles.borrow().iter().filter(|(at, _)| *at == Some(round)).for_each(|(_, task)| task.abort());
    }

    /// Aborts all tasks, waits for their ends, and returns the kept buffers.
    pub async fn end_tasks(&self) {
        let tasks = std::mem::take(&mut *self.handles.borrow_mut());
        tasks.iter().for_each(|(_, task)| task.abort());
        for (_, task) in tasks {
            if let Err(error) = task.await
                && error.is_panic()
            {
                self.report(error.to_string());
            }
        }
        self.kept.borrow_mut().clear();
    }

    pub fn keep(&self, buffer: RecvBuf) {
        let copy = buffer.to_vec();
        self.kept.borrow_mut().push_back((buffer, copy));
    }

    pub fn check_kept(&self, buffer: &[u8], copy: &[u8]) {
        if buffer != copy {
            self.report("a kept buffer has changed".to_owned());
        }
    }

    pub fn sock(&self, index: usize) -> RefMut<'_, Sock> {
        RefMut::map(self.kernel.borrow_mut(), |kernel| &mut kernel.net.socks[index])
    }

    pub fn report(&self, what: String) {
        self.kernel.borrow().net.report(what);
    }

    pub fn audit(&self) {
        if let Err(violation) = executor::current(|worker| worker.io().audit()) {
            self.report(violation);
        }
    }

    /// Marks a task as running, and as done when the guard is dropped, however it ends.
    pub fn begins(&self, index: usize) -> impl Drop + use<'_> {
        self.set(index, Activity::Runs);
        OnDrop(move || self.set(index, Activity::Nothing))
    }

    fn set(&self, index: usize, doing: Activity) {
        self.progress.borrow_mut()[index].doing = doing;
    }

    /// Awaits `future`, recording why.
    pub async fn during<T>(&self, index: usize, doing: Activity, foreign: bool, future: impl Future<Output = T>) -> T {
        self.audit();
        let mut future = pin!(future);
        poll_fn(|cx| {
            self.set(index, doing);
            let polled = if foreign {
                let relay: Waker = Arc::new(Relay(cx.waker().clone())).into();
                future.as_mut().poll(&mut Context::from_waker(&relay))
            } else {
                future.as_mut().poll(cx)
            };
            if polled.is_ready() {
                self.set(index, Activity::Runs);
            }
            polled
        })
        .await
    }

    /// Checks received bytes: they must be the next ones; none is the end, which must be one.
    pub fn got(&self, sock: usize, bytes: &[u8]) {
        let task = &mut self.progress.borrow_mut()[sock];
        let expected = (task.got..).map(|position| net::byte(sock, position));
        if !bytes.iter().copied().eq(expected.take(bytes.len())) {
            self.report(format!("socket {sock}: other bytes than were sent, at {}", task.got));
        }
        task.got += bytes.len();
        let peer = &self.kernel.borrow().net.socks[sock];
        let fin = peer.fin && !peer.reader_told;
        if bytes.is_empty() && !(fin && peer.sent == task.got) {
            self.report(format!("socket {sock}: an end after {} of {} bytes, fin {fin}", task.got, peer.sent));
        }
    }

    pub fn wrote(&self, sock: usize, bytes: &[u8]) {
        self.progress.borrow_mut()[sock].wrote.extend_from_slice(bytes);
    }

    pub fn written(&self, sock: usize) -> usize {
        self.progress.borrow()[sock].wrote.len()
    }

    /// The value of a result. An error must have a cause.
    pub fn check<T>(&self, sock: usize, what: &str, result: std::io::Result<T>) -> Option<T> {
        let failed = self.sock(sock).failed;
        result
            .inspect_err(|error| {
                if !failed {
                    self.report(format!("socket {sock}: {what}: {error}, without a cause"));
                }
            })
            .ok()
    }

    /// Waits until no event is possible.
    pub async fn until_idle(&self) {
        poll_fn(|cx| {
            let mut kernel = self.kernel.borrow_mut();
            if std::mem::take(&mut kernel.idle) {
                return Poll::Ready(());
            }
            kernel.watcher = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
        self.audit();
    }

    /// Waits until no event is possible: each waiting task must then wait for something that has not happened.
    pub async fn settle(&self) {
        self.until_idle().await;
        let no_buffers = executor::current(|worker| worker.io().no_buffer_is_left());
        let kernel = self.kernel.borrow();
        for (index, task) in self.progress.borrow().iter().enumerate() {
            let sock = kernel.net.socks.get(index);
            let stuck = match task.doing {
                Activity::Nothing => false,
                Activity::Runs | Activity::Sleeps | Activity::Watches => true,
                Activity::Connects => !sock.is_some_and(|sock| sock.silent),
                Activity::Reads => {
                    sock.is_some_and(|sock| (sock.is_readable() && !no_buffers) || sock.received > task.got)
                }
                Activity::Writes => !kernel.waits_for_peer(index),
                Activity::Accepts => !kernel.net.backlog.is_empty() || !kernel.net.arrived.is_empty(),
            };
            if stuck {
                self.report(format!("task {index} {:?} without cause; got {}, {sock:?}", task.doing, task.got));
            }
        }
    }

    /// Checks that what was written was sent, in order and once: all of it, unless the peer stopped reading or failed.
    pub fn check_sent(&self, all: bool) {
        let kernel = self.kernel.borrow();
        for (index, (task, sock)) in self.progress.borrow().iter().zip(&kernel.net.socks).enumerate() {
            let (wrote, taken) = (task.wrote.len(), sock.taken.len());
            if sock.shut_at.is_some_and(|at| at < wrote) && !sock.failed {
                self.report(format!("socket {index}: shut down before all of {wrote} bytes were sent"));
            }
            if !task.wrote.starts_with(&sock.taken) {
                self.report(format!("socket {index}: of {wrote} bytes written other {taken} were sent"));
            } else if all && taken < wrote && !sock.failed && !kernel.waits_for_peer(index) {
                self.report(format!("socket {index}: of {wrote} bytes written only {taken} were sent"));
            }
        }
    }

    /// Whether every byte written to that socket has been sent, or it failed.
    pub fn is_flushed(&self, sock: usize) -> bool {
        if self.on_real_ring {
            return true;
        }
        let state = self.sock(sock);
        state.failed || state.taken.len() == self.written(sock)
    }

    /// After the runtime is dropped: no descriptor is open, kept buffers have not changed, and no violation was found.
    pub fn check_end(&self) -> Result<(), TestCaseError> {
        for (buffer, copy) in self.kept.borrow_mut().drain(..) {
            self.check_kept(&buffer, &copy);
        }
        let Net { socks, violations, .. } = &mut self.kernel.borrow_mut().net;
        for (index, sock) in socks.iter_mut().enumerate() {
            sock.update();
            if sock.stage == Stage::Open {
                violations.get_mut().push(format!("the descriptor of socket {index} is still open"));
            }
        }
        let violations = violations.get_mut();
        prop_assert!(violations.is_empty(), "{:#?}", &violations[..violations.len().min(5)]);
        Ok(())
    }
}
