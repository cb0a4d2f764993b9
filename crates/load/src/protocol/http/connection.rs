//! Lifecycle of one HTTP connection of the load and of those that replace it.
//!
//! After the target has closed a connection, as asked or not, the next one is opened only for the next request, whose
//! response time includes connecting. Requests lost with a connection are errors, never sent again.

use super::{End, HttpProtocol, conversation::HttpConversation, link::Link};
use crate::engine::conversation::{finish, poll};
use crate::{engine::connect, engine::trace::Trace, engine::worker::Worker, measure::recorder::Failure};
use brunt_runtime::time;
use std::task::{Context, Poll};
use std::{future::poll_fn, io, pin::pin, rc::Rc, time::Duration};

/// Time for a target that was asked to close a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(200);
/// So many times on one thread a target may keep such connections open; then it is waited for no more.
const PATIENCE: u32 = 2;

/// Sends requests on connection `index` of this thread, and replaces it, until the window is over. `link` is the first
/// connection, if it could be opened.
pub(super) async fn run(worker: Rc<Worker<HttpProtocol>>, index: u32, mut link: Option<Link>) {
    worker.set_waker(index).await;
    let mut failures = 0;
    let mut conversation = HttpConversation::new(&worker, index, ());
    if !proceed(&worker, &mut conversation, index, &mut link) {
        return;
    }
    loop {
        let mut open = match link.take() {
            Some(open) => open,
            // Boxed, as other futures below: a million tasks would each reserve space for it.
            None => match Box::pin(open_at_last(&worker, &mut conversation, index, &mut failures)).await {
                Some(open) => open,
                None => return,
            },
        };
        let end = poll_fn(|cx| poll_open(&mut conversation, &worker, index, &mut open, cx)).await;
        if std::mem::take(&mut conversation.answered) {
            failures = 0;
        }
        match end {
            End::Lost(failure) => {
                worker.closed(index, failure);
                drop(open);
                if !recovered(&worker, &mut conversation, index, &mut failures).await {
                    return;
                }
            }
            End::Closed => {
                worker.retired();
                if worker.shared.is_closed() {
                    // A request of a later slice must not wait for the connection.
                    worker.core.borrow_mut().scheduler.suspend(index);
                    return worker.give_up(index);
                }
                conversation.reset();
            }
            End::Answered { keep, closes, delay } => {
                if keep {
                    link = Some(open);
                } else {
                    Box::pin(close(&worker, open, closes)).await;
                    worker.retired();
                    conversation.reset();
                }
                if let Some(delay) = delay {
                    Box::pin(time::sleep(delay)).await;
                }
                if !proceed(&worker, &mut conversation, index, &mut link) {
                    return;
                }
            }
        }
    }
}

/// Opens connection `index`, again and again until that succeeds; `None` if it is no longer needed.
async fn open_at_last(
    worker: &Worker<HttpProtocol>,
    conversation: &mut HttpConversation<'_, ()>,
    index: u32,
    failures: &mut u32,
) -> Option<Link> {
    loop {
        match open_for(worker, conversation, index).await {
            Ok(open) => return Some(open),
            Err(failure) => {
                let now = worker.clock.now();
                worker.core.borrow_mut().scheduler.lost(index, now, failure);
            }
        }
        if !recovered(worker, conversation, index, failures).await {
            return None;
        }
    }
}

/// Takes the first requests, opens connection `index` for them, and returns once they are answered; false if it was lost before.
pub(super) async fn once(worker: &Worker<HttpProtocol>, index: u32, trace: impl Trace) -> io::Result<bool> {
    let mut conversation = HttpConversation::new(worker, index, trace);
    conversation.request();
    if worker.shared.is_broken() {
        return Ok(false);
    }
    let mut link = Link::open(worker, index, &mut conversation.trace).await?;
    Ok(match &mut link {
        Link::Plain(stream) => finish(&mut conversation, worker, index, stream).await,
        Link::Tls(stream) => finish(&mut conversation, worker, index, &mut **stream).await,
    })
}

/// Takes requests; without a place in the load, closes the connection instead and returns false: its task ends.
fn proceed(
    worker: &Worker<HttpProtocol>,
    conversation: &mut HttpConversation<'_, ()>,
    index: u32,
    link: &mut Option<Link>,
) -> bool {
    let has_place = worker.has_place(index);
    if has_place {
        conversation.request();
    } else {
        link.take().into_iter().for_each(|_| worker.retired());
        worker.leave(index);
    }
    has_place
}

#[inline(always)]
fn poll_open(
    conversation: &mut HttpConversation<'_, ()>,
    worker: &Worker<HttpProtocol>,
    index: u32,
    open: &mut Link,
    cx: &mut Context<'_>,
) -> Poll<End> {
    match open {
        Link::Plain(stream) => poll(conversation, worker, index, stream, cx),
        Link::Tls(stream) => poll(conversation, worker, index, &mut **stream, cx),
    }
}

/// Pauses after a failure, then takes requests again; false if the window is over, or there is no place for the connection.
async fn recovered(
    worker: &Worker<HttpProtocol>,
    conversation: &mut HttpConversation<'_, ()>,
    index: u32,
    failures: &mut u32,
) -> bool {
    conversation.reset();
    let goes_on = Box::pin(connect::pause(worker, index, failures)).await;
    if goes_on {
        conversation.request();
    }
    goes_on
}

async fn open_for(
    worker: &Worker<HttpProtocol>,
    conversation: &mut HttpConversation<'_, ()>,
    index: u32,
) -> Result<Link, Failure> {
    poll_fn(|_| match conversation.has_request() {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
    let mut dialling = pin!(connect::dial(worker, index));
    poll_fn(|cx| {
        // Requests assigned meanwhile wait for the connection too, which is not generator lag.
        conversation.has_request();
        if worker.core.borrow().scheduler.is_timed_out(index) {
            connect::unreachable(worker, index);
            return Poll::Ready(Err(Failure::Timeout));
        }
        dialling.as_mut().poll(cx).map_err(|error| {
            worker.shared.first_failures.note_connect(&error);
            Failure::Connect
        })
    })
    .await
}

/// Closes a connection. If `closes`, waits for the target to close first: the side that closes first keeps the port in
/// TIME_WAIT for a minute, and a client has 28,000 ports. Otherwise, or after a timeout, resets it, which keeps no port. The next
/// request of the connection waits meanwhile, so a target that does not close is waited for a few times only.
async fn close(worker: &Worker<HttpProtocol>, mut link: Link, closes: bool) {
    if closes {
        let is_patient = worker.core.borrow().protocol.kept_open < PATIENCE;
        let is_closed = is_patient && time::timeout(CLOSE_TIMEOUT, link.closed()).await.is_ok();
        let core = &mut *worker.core.borrow_mut();
        if is_closed {
            core.protocol.kept_open = 0;
            return;
        }
        core.protocol.kept_open += u32::from(is_patient);
        core.scheduler.recorder.counters().kept_open += 1;
    }
    // Fails only on a dead socket.
    let _ = link.socket().set_linger_zero();
}
