//! `brunt fleet up`: a NATS server with keys of its own, until Ctrl-C, and agents of this machine if asked for.

use super::access::{OF_OPERATOR, directory, failed};
use super::children::{Held, wait};
use super::files::Files;
use super::key::joining;
use super::nats_server;
use crate::cmd::signals::{self, Repeated, SIGHUP, SIGINT, SIGTERM};
use crate::cmd::{current_binary, stdout};
use brunt_fleet::nats::{self, Access, Holder};
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
Writes keys to the directory at the first start, and keeps them. Each agent has a key of its own: --agents makes it, or brunt fleet key \
while the fleet is up. On a machine that joins, copy the file there and run:

  brunt agent --fleet NAME.fleet

Off loopback the connection has TLS, by a certificate that is in that file.

Exit status: 0 ended by a signal, 1 the server could not be started or has ended, 2 wrong usage.")]
pub struct Args {
    /// Address of the server, as other machines reach it
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4222")]
    listen: SocketAddr,
    /// Make keys for these agents, as web-1,web-2; NAME-* makes one for those of a launch
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    agents: Vec<Holder>,
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
        let files = Files::new(&dir, self.listen);
        let local: Vec<String> = (1..=self.local).map(|number| format!("local-{number}")).collect();
        let holders = local.iter().cloned().map(Holder::Agent).chain(self.agents.iter().cloned());
        let access = files.write(&holders.collect::<Vec<_>>())?;
        let mut server = Held::server(&program, &files.configuration(), &files.log())?;
        let there = || nats::agents(&access).ok().map(|agents| agents.len());
        wait(&stop, std::slice::from_mut(&mut server), READY, || there().is_some())?;
        let mut agents = Vec::new();
        for name in &local {
            let mut command = Command::new(current_binary()?);
            command.args(["agent", "--fleet", "-", "--id", name]);
            let own = Access::read(&files.of(&Holder::Agent(name.clone()))).map_err(failed)?;
            let mut agent = Held::agent(name, command, Some(&dir.join(format!("{name}.log"))))?;
            agent.give(&own)?;
            agents.push(agent);
        }
        wait(&stop, &mut agents, READY, || there().is_some_and(|there| there >= usize::from(self.local)))?;
        stdout::print(&self.joined(&dir, &files))?;
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
    fn joined(&self, dir: &Path, files: &Files) -> String {
        let (fleet, of_dir) = match self.dir {
            None => (String::new(), String::new()),
            Some(_) => (format!(" --fleet {}", dir.join(OF_OPERATOR).display()), format!(" --dir {}", dir.display())),
        };
        let (count, target) = (usize::from(self.local).max(self.agents.len()).max(1), "tcp://127.0.0.1:7100");
        let joining: String = self.agents.iter().map(|holder| joining(holder, &files.of(holder))).collect();
        format!(
            "fleet at {}\n{joining}to let an agent join, make its key:\n  brunt fleet key NAME{of_dir}\nto load from {count}:\n  \
             brunt load {target} --on {count}{fleet}\n",
            self.listen,
        )
    }
}

fn nats_server_runs(listen: SocketAddr) -> bool {
    std::net::TcpStream::connect_timeout(&listen, Duration::from_secs(1)).is_ok()
}
