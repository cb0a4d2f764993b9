//! Replies: the fields that all have, and bodies that take time.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use brunt_lab::report;
use brunt_serve::http::handler::{Content, Piece, Response, Source};
use sha2::{Digest as _, Sha256};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, mpsc};
use std::thread;
use std::time::Duration;

/// What pages may load: own files and events.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The page of a result contains its scripts, which are known by their hashes, and styles computed from figures.
static RESULT_POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |script: String| format!(" 'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(script.as_bytes())));
    let hashes: String = report::page_scripts().into_iter().map(hash).collect();
    format!(
        "default-src 'none'; script-src{hashes}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
         frame-ancestors 'none'"
    )
});

/// Pages in the making at a time.
const MOST: usize = 4;
static IN_WORK: AtomicUsize = AtomicUsize::new(0);
/// Time between two looks whether a page is ready.
const EVERY: Duration = Duration::from_millis(10);

pub(super) fn html(status: u16, page: String) -> Response {
    reply(status, "text/html; charset=utf-8", whole(page.as_bytes()))
}

pub(super) fn text(status: u16, text: &str) -> Response {
    reply(status, "text/plain; charset=utf-8", whole(format!("{text}\n").as_bytes()))
}

pub(super) fn asset(media_type: &str, text: &str) -> Response {
    reply(200, media_type, whole(text.as_bytes()))
}

pub(super) fn see_other(target: &str) -> Response {
    let mut response = reply(303, "text/plain; charset=utf-8", whole(b""));
    response.fields.push(("Location".to_owned(), target.as_bytes().to_vec()));
    response
}

/// A page that a thread makes; another than 200 if there is no thread for it.
pub(super) fn later(media_type: &str, make: impl FnOnce() -> String + Send + 'static) -> Response {
    match body_later(make) {
        Some(body) => reply(200, media_type, body),
        None => text(503, "too many pages are being made: try again"),
    }
}

/// The page of a result.
pub(super) fn result(make: impl FnOnce() -> String + Send + 'static) -> Response {
    let mut response = later("text/html; charset=utf-8", make);
    let policy = response.fields.iter_mut().find(|(name, _)| name == "Content-Security-Policy");
    policy.into_iter().for_each(|(_, policy)| *policy = RESULT_POLICY.as_bytes().to_vec());
    response
}

pub(super) fn reply(status: u16, media_type: &str, body: Content) -> Response {
    let fields = [
        ("Content-Type", media_type),
        ("Content-Security-Policy", POLICY),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cache-Control", "no-store"),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())).to_vec();
    Response { status, fields, body, delay: Duration::ZERO, fault: None }
}

fn whole(bytes: &[u8]) -> Content {
    Content::Whole(bytes.into())
}

/// Counts the pages in the making.
struct InWork;

impl InWork {
    fn begin() -> Option<Self> {
        let place = Self;
        (IN_WORK.fetch_add(1, Ordering::SeqCst) < MOST).then_some(place)
    }
}

impl Drop for InWork {
    fn drop(&mut self) {
        IN_WORK.fetch_sub(1, Ordering::SeqCst);
    }
}

fn body_later(make: impl FnOnce() -> String + Send + 'static) -> Option<Content> {
    let place = InWork::begin()?;
    let (made, page) = mpsc::channel();
    let work = move || {
        let text = make();
        // Before the page is sent: the next request may follow it at once.
        drop(place);
        // The browser may have gone.
        let _ = made.send(text);
    };
    thread::Builder::new().name("page".to_owned()).spawn(work).ok()?;
    let mut is_sent = false;
    Some(Content::Live(Source::new(move || match page.try_recv() {
        _ if is_sent => Piece::End,
        Err(mpsc::TryRecvError::Empty) => Piece::Pause(EVERY),
        page => {
            is_sent = true;
            Piece::Bytes(page.unwrap_or_else(|_| "the page could not be made\n".to_owned()).into_bytes().into())
        }
    })))
}
