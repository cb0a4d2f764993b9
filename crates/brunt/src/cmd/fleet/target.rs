//! A target that is started on the machine of an agent, as its owner says in a plan: what is asked and answered, and the agent's end.
//! [`super::start`] is the other one.

use crate::cmd::current_binary;
use brunt_fleet::nats::Service;
use brunt_lab::plan;
use brunt_lab::plan::settings::Settings;
use brunt_lab::run::endpoint::Endpoint;
use brunt_lab::run::hosted::{Host, Up};
use brunt_results::Error;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Of the service.
pub(super) const NAME: &str = "target";
/// Between two looks at whether the target is still there.
const LOOK: Duration = Duration::from_millis(100);
/// Lines of its output that go to the operator when it ends.
const LINES: usize = 20;

/// Which target, for which load.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Wanted {
    pub target: String,
    pub settings: Settings,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Question {
    State,
    /// Ends it. The answer is the state then.
    Stop,
}

/// Where a target is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    /// It is built or started.
    Starting,
    Up(Endpoint),
    /// It has ended, with its last lines of output; without a reason, as was asked for.
    Over {
        why: Option<String>,
        log: Vec<String>,
    },
}

/// The targets that the owner of this machine allows to be started.
pub(super) struct Targets {
    host: Host,
    dir: PathBuf,
    started: AtomicU64,
}

impl Targets {
    /// Those of a plan, reached at this address. `dir` takes their output.
    ///
    /// # Errors
    /// It is no plan, or the directory cannot be written.
    pub fn read(file: &Path, address: IpAddr, dir: &Path) -> Result<Self, Error> {
        let name = file.display().to_string();
        let text = fs::read_to_string(file).map_err(|error| Error::Usage(format!("--targets {name}: {error}")))?;
        let plan = plan::read(&name, &text).map_err(|error| Error::Usage(error.to_string()))?;
        let base = file.parent().unwrap_or(Path::new("")).to_owned();
        // Those of earlier starts.
        let _ = fs::remove_dir_all(dir.join("targets"));
        let host = Host::new(plan, base, current_binary()?, address, dir)?;
        Ok(Self { host, dir: dir.join("targets"), started: AtomicU64::new(0) })
    }

    /// What may be started, in words.
    pub fn words(&self) -> String {
        self.host.names().join(", ")
    }

    /// Begins to start a target.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn open(self: &Arc<Self>, settings: Value) -> Result<Box<dyn Service>, String> {
        let Wanted { target, settings } = serde_json::from_value(settings).map_err(|error| error.to_string())?;
        self.host.check(&target)?;
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let (dir, targets) = (self.dir.join(number.to_string()), Arc::clone(self));
        let (state, stop) = (Arc::new(Mutex::new(State::Starting)), Arc::new(AtomicBool::new(false)));
        let (end, ended) = channel();
        let (of_thread, is_stopped) = (Arc::clone(&state), Arc::clone(&stop));
        let work = move || targets.run((&target, &settings), &dir, &is_stopped, &ended, &of_thread);
        let thread = thread::Builder::new().name("target".to_owned()).spawn(work);
        let thread = Some(thread.map_err(|error| format!("no thread for the target: {error}"))?);
        Ok(Box::new(Started { state, stop, end: Some(end), thread }))
    }

    /// The life of a target.
    fn run(
        &self,
        (target, settings): (&str, &Settings),
        dir: &Path,
        stop: &AtomicBool,
        ended: &Receiver<()>,
        state: &Mutex<State>,
    ) {
        let set = |now| *state.lock().unwrap_or_else(PoisonError::into_inner) = now;
        let (mut why, mut log) = (None, Vec::new());
        let done = self.host.with(target, settings, dir, stop, |up| {
            set(State::Up(up.endpoint.clone()));
            why = until_ended(up, ended);
            log = up.log(LINES);
        });
        set(State::Over { why: why.or(done.err()), log });
    }
}

/// Why it has ended by itself; `None` once its end was ordered.
fn until_ended(up: &mut Up<'_>, ended: &Receiver<()>) -> Option<String> {
    while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        if let Some(why) = up.gone() {
            return Some(why);
        }
    }
    None
}

struct Started {
    state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Started {
    fn end(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.end = None;
        self.thread.take().into_iter().for_each(|thread| _ = thread.join());
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.end();
    }
}

impl Service for Started {
    fn ask(&mut self, question: Value) -> Result<Value, String> {
        if let Question::Stop = serde_json::from_value(question).map_err(|error| error.to_string())? {
            self.end();
        }
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner).clone();
        serde_json::to_value(state).map_err(|error| error.to_string())
    }
}
