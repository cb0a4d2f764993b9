//! The page of `--metrics`, on our own HTTP server.

use super::endpoint::Listen;
use super::exposition;
use super::interval::{Interval, Totals};
use crate::web::Web;
use brunt_results::Error;
use brunt_serve::ServeError;
use brunt_serve::http::Settings;
use brunt_serve::http::handler::{Content, Factory, Request, Response};
use brunt_wire::http1::Limits;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time for a request to arrive and for its reply to be taken, and of silence on a connection.
const PATIENCE: Duration = Duration::from_secs(2);
/// A scraper's request has no body.
const LIMITS: Limits = Limits { head: 8 << 10, target: 1 << 10, body: 4 << 10, ..Limits::SERVER };

#[derive(Debug)]
pub struct Scrape {
    page: Arc<Page>,
    web: Web,
}

#[derive(Debug)]
struct Page {
    url: String,
    state: Mutex<State>,
    /// The last interval was served.
    served: Condvar,
}

#[derive(Debug, Default)]
struct State {
    totals: Totals,
    /// Intervals in the last page that was served; `None` before.
    served: Option<u64>,
}

impl Scrape {
    /// Listens, and serves on a thread on no core of `cores`.
    pub fn start(listen: &Listen, url: &str, cores: &[usize]) -> Result<Self, Error> {
        let page = Arc::new(Page { url: url.to_owned(), state: Mutex::default(), served: Condvar::new() });
        let shared = Arc::clone(&page);
        let web = serve(listen, cores, move |request| shared.answer(request))?;
        Ok(Self { page, web })
    }

    pub fn address(&self) -> SocketAddr {
        self.web.address
    }

    pub fn add(&self, interval: &Interval) {
        self.page.state().totals.add(interval);
    }

    /// If there was a scraper, waits until it has the last interval, or until `until`.
    pub fn end(self, until: Instant) {
        let state = self.page.state();
        let number = state.totals.number;
        let most = until.saturating_duration_since(Instant::now());
        let is_missing = |state: &mut State| state.served.is_some_and(|served| served < number);
        drop(self.page.served.wait_timeout_while(state, most, is_missing));
    }
}

fn settings() -> Settings {
    Settings { limits: LIMITS, header: PATIENCE, body: PATIENCE, idle: PATIENCE, send: PATIENCE, ..Settings::default() }
}

impl Page {
    /// Held for as long as it takes to add or copy the figures.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &Request<'_>) -> Response {
        if let Some(refused) = refused(request) {
            return refused;
        }
        let totals = self.state().totals.clone();
        if request.method == "GET" {
            self.state().served = Some(totals.number);
            self.served.notify_all();
        }
        response(200, exposition::CONTENT_TYPE, &exposition::text(&totals, &self.url))
    }
}

/// A page of text at /metrics, whatever is on it.
#[derive(Debug)]
pub struct TextPage {
    text: Arc<Mutex<String>>,
    web: Web,
}

impl TextPage {
    /// Listens, and serves on a thread on no core of `cores`.
    pub fn start(listen: &Listen, cores: &[usize]) -> Result<Self, Error> {
        let text: Arc<Mutex<String>> = Arc::default();
        let shared = Arc::clone(&text);
        let answer = move |request: &Request<'_>| {
            let text = || shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
            refused(request).unwrap_or_else(|| response(200, exposition::CONTENT_TYPE, &text()))
        };
        let web = serve(listen, cores, answer)?;
        Ok(Self { text, web })
    }

    pub fn address(&self) -> SocketAddr {
        self.web.address
    }

    pub fn set(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

/// Serves on a thread on no core of `cores`.
fn serve(
    listen: &Listen,
    cores: &[usize],
    answer: impl Fn(&Request<'_>) -> Response + Send + Sync + 'static,
) -> Result<Web, Error> {
    let failed = |error: ServeError| {
        let why = match error {
            ServeError::Listen(_, error) => error.to_string(),
            other => other.to_string(),
        };
        Error::Failed(format!("--metrics {listen}: cannot listen there: {why}; choose another address or port"))
    };
    let answer = Arc::new(answer);
    let handler = Factory::new(move || {
        let answer = Arc::clone(&answer);
        Box::new(move |request: &Request<'_>| answer(request))
    });
    let start = |address: SocketAddr| Web::start("metrics", handler.clone(), address, settings(), cores);
    listen.first(start).map_err(failed)
}

/// The reply to what is no request for the page.
fn refused(request: &Request<'_>) -> Option<Response> {
    if request.path != "/metrics" {
        return Some(response(404, "text/plain; charset=utf-8", "the metrics are at /metrics\n"));
    }
    if !matches!(request.method, "GET" | "HEAD") {
        let mut refused = response(405, "text/plain; charset=utf-8", "only GET and HEAD\n");
        refused.fields.push(("Allow".to_owned(), b"GET, HEAD".to_vec()));
        return Some(refused);
    }
    None
}

fn response(status: u16, media_type: &str, body: &str) -> Response {
    let fields = vec![("Content-Type".to_owned(), media_type.as_bytes().to_vec())];
    Response { status, fields, body: Content::Whole(body.as_bytes().into()), delay: Duration::ZERO, fault: None }
}
