//! Our own HTTP server on a thread beside a load or alone, for pages and metrics.

use crate::cores::leave;
use brunt_runtime::{CancellationToken, Spinning};
use brunt_serve::http::handler::Factory;
use brunt_serve::http::{Options, Plan, Server, Settings};
use brunt_serve::{Model, Notice, ServeError};
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time for requests in progress at the end.
const GRACE: Duration = Duration::from_millis(500);

/// A server until it is dropped; then requests in progress are answered.
#[derive(Debug)]
pub(crate) struct Web {
    /// With the port that was free, if any was asked for.
    pub address: SocketAddr,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Web {
    /// Listens, and serves on a thread of this name on no core of `cores`.
    pub fn start(
        name: &'static str,
        handler: Factory,
        listen: SocketAddr,
        settings: Settings,
        cores: &[usize],
    ) -> Result<Self, ServeError> {
        let server = Server::new(options(Plan::handler(name, handler, vec![listen]), settings))?;
        let (stop, cores) = (CancellationToken::new(), cores.to_vec());
        let (notices, heard) = mpsc::channel();
        let (stopped, result) = (stop.clone(), notices.clone());
        let serve = move || {
            leave(&cores);
            if let Err(error) = server.run(&stopped, &notices) {
                let _ = result.send(Notice::Trouble(error.to_string()));
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(serve)?;
        let address = match heard.recv() {
            Ok(Notice::Listening { addresses, .. }) => addresses.first().and_then(|address| address.tcp()),
            Ok(Notice::Trouble(why)) => return Err(ServeError::Failed(why)),
            Ok(Notice::Queued(_)) | Err(_) => None,
        };
        let address = address.ok_or_else(|| ServeError::Failed("the server ended".to_owned()))?;
        Ok(Self { address, stop, thread: Some(thread) })
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.stop.cancel();
        // A panic has printed its message.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn options(plan: Plan, settings: Settings) -> Options {
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
