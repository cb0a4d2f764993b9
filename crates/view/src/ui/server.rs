//! The site on our own HTTP server, on a thread of its own.

use super::loopback::Loopback;
use super::site::{Check, Site};
use crate::cores::leave;
use brunt_results::Error;
use brunt_runtime::{CancellationToken, Spinning};
use brunt_serve::http::handler::{Factory, Request};
use brunt_serve::http::{Options, Plan, Server, Settings};
use brunt_serve::{Model, Notice, ServeError};
use std::io;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time for requests in progress at the end.
const GRACE: Duration = Duration::from_millis(500);
/// Longest form, in bytes.
const LARGEST_FORM: u64 = 64 << 10;

/// A site that is served until this is dropped.
#[derive(Debug)]
pub struct Served {
    /// With the token.
    url: String,
    site: Arc<Site>,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Serves the load that writes to `dir`, on no core of `cores`.
    pub fn of_load(dir: &Path, check: Check, listen: Loopback, cores: &[usize]) -> Result<Self, Error> {
        Self::start(Site::of_load(dir, check)?, listen, cores, "--ui")
    }

    /// Listens, and serves on no core of `cores`. `flag` is where the address comes from.
    pub fn start(site: Site, listen: Loopback, cores: &[usize], flag: &str) -> Result<Self, Error> {
        let site = Arc::new(site);
        let shared = Arc::clone(&site);
        let make = Factory::new(move || {
            let site = Arc::clone(&shared);
            Box::new(move |request: &Request<'_>| site.respond(request))
        });
        let failed = |error: ServeError| Error::Failed(format!("{flag} {}: {error}", listen.0));
        let server = Server::new(options(Plan::handler("ui", make, vec![listen.0]))).map_err(failed)?;
        let (stop, cores) = (CancellationToken::new(), cores.to_vec());
        let (notices, heard) = mpsc::channel();
        let (stopped, result) = (stop.clone(), notices.clone());
        let serve = move || {
            leave(&cores);
            if let Err(error) = server.run(&stopped, &notices) {
                let _ = result.send(Notice::Trouble(error.to_string()));
            }
        };
        let thread = thread::Builder::new().name("ui".to_owned()).spawn(serve)?;
        let address = match heard.recv() {
            Ok(Notice::Listening { addresses, .. }) => addresses.first().and_then(|address| address.tcp()),
            Ok(Notice::Trouble(why)) => return Err(Error::Failed(format!("{flag}: {why}"))),
            Ok(Notice::Queued(_)) | Err(_) => None,
        };
        let address = address.ok_or_else(|| io::Error::other(format!("{flag}: the server ended")))?;
        let url = format!("http://{address}/?token={}", site.token());
        Ok(Self { url, site, stop, thread: Some(thread) })
    }

    /// The URL of the page, with its token.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// Ends the loads that the page has started, lets open pages see the end, and closes.
impl Drop for Served {
    fn drop(&mut self) {
        self.site.close();
        self.stop.cancel();
        // A panic has printed its message.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn options(plan: Plan) -> Options {
    let mut settings = Settings { bodies: 16 * LARGEST_FORM, ..Settings::default() };
    settings.limits.body = LARGEST_FORM;
    Options {
        plan,
        // A few requests a second need no rings.
        model: Model::Epoll,
        workers: vec![None],
        grace: GRACE,
        spin: Spinning { most: Duration::ZERO, connections: 0 },
        settings,
        access_log: None,
    }
}
