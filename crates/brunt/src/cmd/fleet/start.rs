//! `brunt fleet start`: keeps a target up on the machine of an agent, as its owner says how to start it.

use super::access::{FleetFlag, failed};
use super::one;
use super::target::{self, Question, State, Wanted};
use crate::cmd::signals::{self, Repeated, SIGHUP, SIGINT, SIGTERM};
use brunt_fleet::nats::{self, Session};
use brunt_lab::plan::settings::Settings;
use brunt_lab::run::endpoint::Endpoint;
use brunt_results::directory::Directory;
use brunt_results::{Error, ExitCode};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

const ANSWER: Duration = Duration::from_secs(5);
/// A target ends within 2 s of its last request, or is killed; what was built or prepared may take longer.
const STOP: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The owner of the machine says which targets there are, in a plan: brunt agent --targets PLAN. Nothing else is started there. The
target ends with this command, or 10 s after the machine has last heard of it.

Exit status: 0 ended by a signal, 1 it could not be started or has ended, 2 wrong usage.")]
pub struct Args {
    /// The agent: its name, or a label that it alone has, as role=server
    #[arg(value_name = "AGENT")]
    agent: String,
    /// Name of the target in the plan of its owner
    #[arg(value_name = "TARGET")]
    target: String,
    /// A setting of the load that is to come, as server_cores=2, tls=true or connections=10k; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Write where it listens, as JSON, once it is up
    #[arg(long, value_name = "FILE")]
    endpoint: Option<PathBuf>,
    /// All settings of the load, as JSON
    #[arg(long, value_name = "JSON", hide = true, conflicts_with = "set")]
    settings: Option<String>,
    #[command(flatten)]
    fleet: FleetFlag,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let wanted = Wanted { target: self.target.clone(), settings: self.settings()? };
        let access = self.fleet.of_operator()?;
        let agent = &one("AGENT", &self.agent, nats::agents(&access).map_err(failed)?)?;
        // A second signal is ignored: exiting at once would leave the target running for some seconds.
        let stop = signals::flag(&[SIGINT, SIGTERM, SIGHUP], Repeated::Ignore)?;
        let session = Session::open(&access, agent, target::NAME, &wanted, ANSWER).map_err(failed)?;
        let mut is_up = false;
        while !stop.load(Ordering::SeqCst) {
            match ask(&session, &Question::State, ANSWER)? {
                State::Up(endpoint) if !is_up => {
                    is_up = true;
                    self.tell(Endpoint { agent: Some(agent.id.clone()), ..endpoint })?;
                }
                over @ State::Over { .. } => return conclude(&self.target, agent.id.as_str(), over),
                State::Starting | State::Up(_) => (),
            }
            thread::sleep(LOOK);
        }
        conclude(&self.target, &agent.id, ask(&session, &Question::Stop, STOP)?)
    }

    fn settings(&self) -> Result<Settings, Error> {
        if let Some(json) = &self.settings {
            return serde_json::from_str(json).map_err(|error| Error::Usage(format!("--settings: {error}")));
        }
        let mut settings = Settings::default();
        for pair in &self.set {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(Error::Usage(format!("--set '{pair}' is not NAME=VALUE, such as server_cores=2")));
            };
            settings.set(name.trim(), value).map_err(|why| Error::Usage(format!("--set {name}: {why}")))?;
        }
        Ok(settings)
    }

    fn tell(&self, endpoint: Endpoint) -> Result<(), Error> {
        let Endpoint { address, pid, agent } = &endpoint;
        let agent = agent.as_deref().unwrap_or_default();
        self.endpoint.as_deref().map_or(Ok(()), |path| write(path, &endpoint))?;
        let _ = writeln!(io::stderr(), "{} is up on the machine of agent {agent}: {address}, pid {pid}", self.target);
        Ok(())
    }
}

/// Writes the file at once.
fn write(path: &Path, endpoint: &Endpoint) -> Result<(), Error> {
    let (directory, name) = (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default());
    let written = Directory::open(directory).write_json(&name.to_string_lossy(), endpoint);
    written.map_err(|error| Error::Failed(format!("--endpoint {}: {error}", path.display())))
}

fn ask(session: &Session, question: &Question, patience: Duration) -> Result<State, Error> {
    session.ask(question, patience).map_err(|why| Error::Failed(format!("agent {}: {why}", session.agent())))
}

fn conclude(target: &str, agent: &str, state: State) -> Result<ExitCode, Error> {
    let State::Over { why: Some(why), log } = state else { return Ok(ExitCode::Good) };
    log.iter().for_each(|line| _ = writeln!(io::stderr(), "{line}"));
    Err(Error::Failed(format!("target {target} on the machine of agent {agent}: {why}")))
}
