//! The life of one HTTP connection of the load: request, reply, for as long as it may, and then another in its place.
//!
//! A place among the connections is not a socket. Where the target has closed, or has been asked to, the place stays ready
//! and opens the next socket when it has a request, so that connecting is part of that request's response time. What is
//! lost with a connection is an error, never tried again.

use super::{HttpProtocol, conversation::HttpConversation, link::Link, reply::End};
use crate::{
    engine::{connect, conversation::poll, worker::Worker},
    measure::recorder::Failure,
};
use brunt_runtime::time;
use std::{future::poll_fn, pin::pin, rc::Rc, task::Poll, time::Duration};

/// How long a target that was asked to close is waited for.
const PATIENCE: Duration = Duration::from_millis(200);

/// Keeps place `index` of this thread talking until the window is over. `link` is its first connection, if it could be
/// opened.
pub(super) async fn run(worker: Rc<Worker<HttpProtocol>>, index: u32, mut link: Option<Link>) {
    worker.set_waker(index).await;
    let mut failures = 0;
    let mut conversation = HttpConversation::new(&worker, index);
    conversation.request();
    loop {
        let mut open = match link.take() {
            Some(open) => open,
            // Boxed, as what follows below: a million tasks would each keep room for it.
            None => match Box::pin(open_for(&worker, &mut conversation, index)).await {
                Ok(open) => open,
                Err(failure) => {
                    let now = worker.clock.now();
                    worker.core.borrow_mut().scheduler.lost(index, now, failure);
                    match recovered(&worker, &mut conversation, &mut failures).await {
                        true => continue,
                        false => return,
                    }
                }
            },
        };
        let end = poll_fn(|cx| match &mut open {
            Link::Plain(stream) => poll(&mut conversation, &worker, index, stream, cx),
            Link::Tls(stream) => poll(&mut conversation, &worker, index, &mut **stream, cx),
        })
        .await;
        if std::mem::take(&mut conversation.answered) {
            failures = 0;
        }
        match end {
            End::Lost(failure) => {
                worker.closed(index, failure);
                drop(open);
                if !recovered(&worker, &mut conversation, &mut failures).await {
                    return;
                }
            }
            End::Closed => {
                worker.retired();
                conversation.reset();
            }
            End::Answered { keep, closes, delay } => {
                if keep {
                    link = Some(open);
                } else {
                    Box::pin(part(open, closes)).await;
                    worker.retired();
                    conversation.reset();
                }
                if let Some(delay) = delay {
                    Box::pin(time::sleep(delay)).await;
                }
                conversation.request();
            }
        }
    }
}

/// Pauses after a failure and is ready for a request again; false when the window is over.
async fn recovered(worker: &Worker<HttpProtocol>, conversation: &mut HttpConversation<'_>, failures: &mut u32) -> bool {
    conversation.reset();
    let goes_on = Box::pin(connect::pause(worker, failures)).await;
    if goes_on {
        conversation.request();
    }
    goes_on
}

/// Waits for a request, and opens a connection for it.
async fn open_for(
    worker: &Worker<HttpProtocol>,
    conversation: &mut HttpConversation<'_>,
    index: u32,
) -> Result<Link, Failure> {
    poll_fn(|_| match conversation.has_request() {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
    let mut dialling = pin!(connect::dial(worker, index));
    poll_fn(|cx| {
        // What it is given meanwhile waits for the connection too, and not for the generator.
        conversation.has_request();
        if worker.core.borrow().scheduler.is_timed_out(index) {
            return Poll::Ready(Err(Failure::Timeout));
        }
        dialling.as_mut().poll(cx).map_err(|_| Failure::Connect)
    })
    .await
}

/// Closes a connection. If `closes`, waits for the target to close first: the side that closes first keeps the port
/// in TIME_WAIT for a minute, and a client has 28,000 ports. After a timeout the connection is reset, which keeps no
/// port.
async fn part(mut link: Link, closes: bool) {
    if closes && time::timeout(PATIENCE, link.end()).await.is_ok() {
        return;
    }
    // It fails only if the socket is dead already.
    let _ = link.socket().set_linger_zero();
}
