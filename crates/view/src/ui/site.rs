//! What is at which path.

use super::gate::{Gate, Pass};
use super::jobs::Jobs;
use super::pages::{self, Menu};
use super::results::{Results, leads_out};
use super::watcher::Watchers;
use super::{form, reply};
use crate::page;
use brunt_lab::compare::{MARGIN, ResultSet, compare};
use brunt_results::Error;
use brunt_serve::http::handler::{Request, Response};
use brunt_serve::http::query_pairs;
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Results on the first page.
const SHOWN: usize = 100;
/// Results in a comparison.
const MOST: usize = 10;
/// Time for pages to show the end of a load.
const LAST: Duration = Duration::from_secs(2);
const HTML: &str = "text/html; charset=utf-8";

/// Refuses the words of a load that `brunt load` would refuse; the error is one line.
pub type Check = fn(&[String]) -> Result<(), Error>;

/// What is needed to start loads.
#[derive(Debug, Clone)]
pub struct Starting {
    /// The program of `brunt load`.
    pub program: PathBuf,
    /// Where the loads get their directories.
    pub folder: PathBuf,
}

/// The pages, and what they are made of.
#[derive(Debug)]
pub struct Site {
    gate: Gate,
    results: Arc<Results>,
    watchers: Watchers,
    check: Check,
    /// If loads may be started.
    jobs: Option<Arc<Jobs>>,
    menu: Menu,
}

type Pairs = Vec<(String, String)>;

fn pairs(text: &[u8]) -> Pairs {
    let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    query_pairs(text).map(|(name, value)| (lossy(name), lossy(value))).collect()
}

impl Site {
    /// The site of the results below `root`, or of all; with `starting`, it may start loads.
    pub fn new(root: Option<&Path>, starting: Option<Starting>, check: Check) -> Result<Self, Error> {
        let started = starting.as_ref().map(|starting| starting.folder.clone());
        let jobs = starting.map(|Starting { program, folder }| Arc::new(Jobs::new(program, folder)));
        let results = match root {
            Some(root) => Results::below(root, started)?,
            None => Results::listed(started)?,
        };
        Self::of(results, check, jobs, true)
    }

    /// The site of the load that writes to `dir`.
    pub(super) fn of_load(dir: &Path, check: Check) -> Result<Self, Error> {
        Self::of(Results::below(dir, None)?, check, None, false)
    }

    fn of(results: Results, check: Check, jobs: Option<Arc<Jobs>>, has_history: bool) -> Result<Self, Error> {
        let random = |error: io::Error| Error::Failed(format!("cannot make a token: /dev/urandom: {error}"));
        let gate = Gate::new().map_err(random)?;
        let menu = Menu { has_history };
        Ok(Self { gate, results: Arc::new(results), watchers: Watchers::default(), check, jobs, menu })
    }

    pub(super) fn token(&self) -> &str {
        self.gate.token()
    }

    /// Ends the loads that were started, and lets pages see the end of what they show.
    pub(super) fn close(&self) {
        self.jobs.iter().for_each(|jobs| jobs.end());
        let is_of_load = !self.menu.has_history;
        // Other pages may show what goes on.
        self.watchers.close(if is_of_load { LAST } else { LAST / 4 });
    }

    pub(super) fn respond(&self, request: &Request<'_>) -> Response {
        match self.gate.check(request) {
            Err(refusal) => reply::text(refusal.status, refusal.text),
            Ok(pass) => {
                let mut response = self.route(request);
                if pass == Pass::Url {
                    response.fields.push(("Set-Cookie".to_owned(), self.gate.cookie(request).into_bytes()));
                }
                response
            }
        }
    }

    fn route(&self, request: &Request<'_>) -> Response {
        let query = pairs(request.query.as_bytes());
        match (request.method, request.path) {
            ("GET" | "HEAD", path) => self.read(path, &query),
            ("POST", "/command") => self.command(request),
            ("POST", "/start") => self.start(&pairs(request.body)),
            ("POST", "/stop") => self.stop(&pairs(request.body)),
            ("POST", _) => self.message(404, "Not found", "There is nothing to post to here."),
            _ => {
                let mut response = reply::text(405, "only GET, HEAD and POST");
                response.fields.push(("Allow".to_owned(), b"GET, HEAD, POST".to_vec()));
                response
            }
        }
    }

    fn read(&self, path: &str, query: &Pairs) -> Response {
        match path {
            "/" => match self.results.only(!self.menu.has_history) {
                Some(dir) => self.live(dir),
                None => self.history(query),
            },
            "/history" => self.history(query),
            "/ui.css" => reply::asset("text/css; charset=utf-8", include_str!("assets/ui.css")),
            "/ui.js" => reply::asset("text/javascript; charset=utf-8", SCRIPTS),
            "/start" if self.menu.has_history => {
                reply::html(200, pages::start(self.menu, query, None, self.jobs.is_some()))
            }
            "/compare" => self.compare(query),
            "/live" | "/events" | "/result" => {
                let asked = query.iter().find(|(name, _)| name == "dir").map_or("", |(_, dir)| dir);
                match self.results.admit(asked) {
                    Some(dir) if path == "/live" => self.live(&dir),
                    Some(dir) if path == "/events" => self.events(&dir),
                    Some(dir) => self.result(dir),
                    None => self.not_shown(),
                }
            }
            _ => self.message(404, "Not found", "There is no such page."),
        }
    }

    fn message(&self, status: u16, title: &str, text: &str) -> Response {
        reply::html(status, pages::message(self.menu, title, text))
    }

    fn not_shown(&self) -> Response {
        self.message(404, "Not found", &format!("The directory is none of {}.", self.results.title()))
    }

    fn history(&self, query: &Pairs) -> Response {
        let limit = if query.iter().any(|(name, _)| name == "all") { usize::MAX } else { SHOWN };
        let (results, menu) = (Arc::clone(&self.results), self.menu);
        reply::later(HTML, move || match results.find(limit) {
            Ok(found) => pages::history(menu, &results.title(), &found),
            Err(error) => pages::message(menu, "History", &error.to_string()),
        })
    }

    fn live(&self, dir: &Path) -> Response {
        let may_stop = self.jobs.as_ref().is_some_and(|jobs| jobs.state(dir).is_some());
        reply::html(200, pages::live(self.menu, dir, may_stop))
    }

    fn events(&self, dir: &Path) -> Response {
        match self.watchers.stream(dir, self.jobs.as_ref()) {
            Some(events) => reply::reply(200, "text/event-stream", events),
            None => reply::text(503, "too many pages are open"),
        }
    }

    fn result(&self, dir: PathBuf) -> Response {
        let menu = self.menu;
        reply::result(move || {
            let made = leads_out(&dir).map_or_else(|| page::page(&dir).map_err(|error| error.to_string()), Err);
            made.unwrap_or_else(|why| pages::message(menu, "Result", &why))
        })
    }

    fn compare(&self, query: &Pairs) -> Response {
        let asked = query.iter().filter(|(name, _)| name == "dir").take(MOST + 1);
        let dirs: Option<Vec<PathBuf>> = asked.map(|(_, dir)| self.results.admit(dir)).collect();
        let Some(mut dirs) = dirs else { return self.not_shown() };
        // The history has the newest first; A is what was before.
        dirs.reverse();
        if dirs.len() < 2 || dirs.len() > MOST {
            let text = format!("Choose two results or more in the history, at most {MOST}.");
            return self.message(400, "Comparison", &text);
        }
        let menu = self.menu;
        reply::later(HTML, move || {
            let read = |dir: &PathBuf| match leads_out(dir) {
                Some(why) => Err(why),
                None => ResultSet::read(dir).map_err(|error| error.to_string()),
            };
            let first = read(&dirs[0]);
            let with = |dir: &PathBuf| {
                let first = first.as_ref().map_err(Clone::clone)?;
                compare(first, &read(dir)?, MARGIN).map_err(|error| error.to_string())
            };
            pages::comparison(menu, &dirs[1..].iter().map(with).collect::<Vec<_>>())
        })
    }

    /// The command that the form stands for: as JSON for the script of the page, else as the page.
    fn command(&self, request: &Request<'_>) -> Response {
        let (values, menu, may_start) = (pairs(request.body), self.menu, self.jobs.is_some());
        let check = self.check;
        let outcome = move |values: &Pairs| {
            let words = form::words(values)?;
            check(&words).map_err(|error| error.to_string())?;
            Ok(form::command(&words))
        };
        if request.fields.get("accept") == Some(b"application/json") {
            return reply::later("application/json", move || match outcome(&values) {
                Ok(command) => json!({ "command": command }).to_string(),
                Err(error) => json!({ "error": error }).to_string(),
            });
        }
        reply::later(HTML, move || pages::start(menu, &values, Some(&outcome(&values)), may_start))
    }

    fn start(&self, values: &Pairs) -> Response {
        let Some(jobs) = &self.jobs else {
            return self.message(
                403,
                "Not allowed",
                "Loads can be started from here only with brunt ui --allow-start.",
            );
        };
        let started = form::words(values).and_then(|words| {
            (self.check)(&words).map_err(|error| error.to_string())?;
            jobs.start(&words, form::command).map_err(|error| error.to_string())
        });
        match started {
            Ok(dir) => reply::see_other(&pages::live_link(&dir)),
            Err(why) => reply::html(422, pages::start(self.menu, values, Some(&Err(why)), true)),
        }
    }

    fn stop(&self, values: &Pairs) -> Response {
        let asked = values.iter().find(|(name, _)| name == "dir").map_or("", |(_, dir)| dir);
        let dir = Path::new(asked);
        match &self.jobs {
            Some(jobs) if jobs.stop(dir) => reply::see_other(&pages::live_link(dir)),
            _ => self.message(409, "Nothing to stop", "No load that was started here is running in that directory."),
        }
    }
}

/// In dependency order.
const SCRIPTS: &str = concat!(
    "'use strict';\n",
    include_str!("assets/chart.js"),
    include_str!("assets/live.js"),
    include_str!("assets/form.js"),
    include_str!("assets/page.js"),
);
