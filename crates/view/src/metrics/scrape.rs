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
        let failed = |error: ServeError| {
            let why = match error {
                ServeError::Listen(_, error) => error.to_string(),
                other => other.to_string(),
            };
            Error::Failed(format!("--metrics {listen}: cannot listen there: {why}; choose another address or port"))
        };
        let page = Arc::new(Page { url: url.to_owned(), state: Mutex::default(), served: Condvar::new() });
        let shared = Arc::clone(&page);
        let handler = Factory::new(move || {
            let page = Arc::clone(&shared);
            Box::new(move |request: &Request<'_>| page.answer(request))
        });
        let start = |address: SocketAddr| Web::start("metrics", handler.clone(), address, settings(), cores);
        let web = listen.first(start).map_err(failed)?;
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
        if request.path != "/metrics" {
            return response(404, "text/plain; charset=utf-8", "the metrics are at /metrics\n");
        }
        if !matches!(request.method, "GET" | "HEAD") {
            let mut refused = response(405, "text/plain; charset=utf-8", "only GET and HEAD\n");
            refused.fields.push(("Allow".to_owned(), b"GET, HEAD".to_vec()));
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

fn response(status: u16, media_type: &str, body: &str) -> Response {
    let fields = vec![("Content-Type".to_owned(), media_type.as_bytes().to_vec())];
    Response { status, fields, body: Content::Whole(body.as_bytes().into()), delay: Duration::ZERO, fault: None }
}
