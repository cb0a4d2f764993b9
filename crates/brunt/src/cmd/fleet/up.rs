//! `brunt fleet up`: a NATS server with keys of its own, until Ctrl-C, and agents of this machine if asked for.

use super::access::{OF_AGENT, OF_OPERATOR, directory, failed};
use super::children::{Held, wait};
use super::nats_server::{self, Files};
use crate::cmd::signals::{self, Repeated, SIGHUP, SIGINT, SIGTERM};
use crate::cmd::{current_binary, stdout};
use brunt_fleet::nats::{self, Access};
use brunt_results::{Error, ExitCode};
use std::fs;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// The server listens within a fraction of a second, and agents join it.
const READY: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Writes keys to the directory at the first start, and keeps them. On a machine that joins, copy agent.fleet there and run:

  brunt agent --fleet agent.fleet

Off loopback the connection has TLS, by a certificate that is in that file.

Exit status: 0 ended by a signal, 1 the server could not be started or has ended, 2 wrong usage.")]
pub struct Args {
    /// Address of the server, as other machines reach it
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4222")]
    listen: SocketAddr,
    /// Also run so many agents on this machine
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=64))]
    local: u16,
    /// Keys and logs [default: ~/.local/state/brunt/fleet]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The nats-server program [default: that in PATH, or of Go]
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        if self.listen.ip().is_unspecified() || self.listen.port() == 0 {
            let listen = self.listen;
            return Err(Error::Usage(format!(
                "--listen {listen}: name the address and port by which machines reach this one"
            )));
        }
        let program = nats_server::program(self.server.as_deref())?;
        let dir = self.dir.clone().map_or_else(directory, Ok)?;
        fs::create_dir_all(&dir)?;
        let dir = dir.canonicalize()?;
        if nats_server_runs(self.listen) {
            return Err(Error::Failed(format!(
                "something listens on {} already: end it, or give another --listen",
                self.listen
            )));
        }
        let stop = signals::flag(&[SIGINT, SIGTERM, SIGHUP], Repeated::Ignore)?;
        let files = Files { directory: &dir, listen: self.listen };
        let (of_operator, of_agent) = (dir.join(OF_OPERATOR), dir.join(OF_AGENT));
        let access = files.write(&of_operator, &of_agent)?;
        let for_agents = Access::read(&of_agent).map_err(failed)?;
        let mut server = Held::server(&program, &files.configuration(), &files.log())?;
        let there = || nats::agents(&access).ok().map(|agents| agents.len());
        wait(&stop, std::slice::from_mut(&mut server), READY, || there().is_some())?;
        let mut agents = Vec::new();
        for number in 1..=self.local {
            let name = format!("local-{number}");
            let mut command = Command::new(current_binary()?);
            command.args(["agent", "--fleet", "-", "--id", &name]);
            agents.push(Held::agent(&name, command, &for_agents, Some(&dir.join(format!("{name}.log"))))?);
        }
        wait(&stop, &mut agents, READY, || there().is_some_and(|there| there >= usize::from(self.local)))?;
        stdout::print(&self.joined(&of_operator, &of_agent))?;
        while !stop.load(Ordering::SeqCst) {
            server.is_there()?;
            // The fleet goes on without an agent that has ended.
            agents.retain_mut(|agent| match agent.is_there() {
                Ok(()) => true,
                Err(error) => {
                    let _ = writeln!(io::stderr(), "{error}");
                    false
                }
            });
            thread::sleep(LOOK);
        }
        agents.iter_mut().for_each(Held::tell);
        Ok(ExitCode::Good)
    }

    /// How to join, and how to load.
    fn joined(&self, of_operator: &Path, of_agent: &Path) -> String {
        let is_default = self.dir.is_none();
        let fleet = if is_default { String::new() } else { format!(" --fleet {}", of_operator.display()) };
        let (agents, target) = (self.local.max(1), "tcp://127.0.0.1:7100");
        format!(
            "fleet at {}; to join it from another machine, copy {} there and run:\n  brunt agent --fleet {OF_AGENT}\n\
             to load from {agents}:\n  brunt load {target} --on {agents}{fleet}\n",
            self.listen,
            of_agent.display(),
        )
    }
}

fn nats_server_runs(listen: SocketAddr) -> bool {
    std::net::TcpStream::connect_timeout(&listen, Duration::from_secs(1)).is_ok()
}
