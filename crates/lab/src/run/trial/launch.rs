//! Where a target runs, and its command line: its words with their placeholders filled in, or what we know how to start.

use super::{TARGET_LOG, TrialGroup, TrialRunner};
use crate::{
    plan::{TargetKind, template::expand},
    run::{
        nginx,
        preflight::{self, folder},
    },
    schedule::Machine,
    system::{cgroup::MemoryCgroup, process_group::Launch, rlimits},
};
use brunt_results::Cores;
use rustix::process::{Resource, getrlimit};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::PathBuf,
};

/// What is settled before anything of a trial is started.
pub(super) struct TrialContext {
    pub(super) port: u16,
    /// The target's folder.
    pub(super) dir: PathBuf,
    /// Of the placeholders.
    values: BTreeMap<String, String>,
    /// Every core that this process may use.
    all: Cores,
}

impl TrialContext {
    pub(super) fn new(job: &TrialGroup, port: u16, bench: &TrialRunner<'_>, machine: Machine) -> io::Result<Self> {
        let dir = std::path::absolute(folder(job.target, bench.base))?;
        let mut values = job.cell().placeholders();
        values.insert("listen".into(), format!("127.0.0.1:{port}"));
        values.insert("host".into(), "127.0.0.1".into());
        values.insert("port".into(), port.to_string());
        values.insert("dir".into(), dir.display().to_string());
        values.insert("brunt".into(), bench.brunt.display().to_string());
        Ok(Self { port, dir, values, all: Cores(machine.cores) })
    }

    /// The words with their placeholders filled in.
    pub(super) fn words(&self, words: &[String]) -> Result<Vec<String>, String> {
        words.iter().map(|word| expand(word, &self.values)).collect()
    }

    /// The target's environment.
    pub(super) fn env(&self, job: &TrialGroup) -> Result<BTreeMap<String, String>, String> {
        let env = job.target.env.iter();
        env.map(|(name, value)| Ok((name.clone(), expand(value, &self.values)?))).collect()
    }

    /// The folder to start something in, if there is one.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        Some(self.dir.clone()).filter(|dir| dir.is_dir())
    }
}

impl TrialRunner<'_> {
    /// The target's command, or why its words make none.
    pub(super) fn target(
        &self,
        job: &TrialGroup,
        site: &TrialContext,
        cage: Option<&MemoryCgroup>,
    ) -> io::Result<Result<Launch, String>> {
        let command = || -> io::Result<Result<_, String>> {
            Ok(match &job.target.kind {
                TargetKind::Serve { service, model, args } => {
                    let own = ["serve", service, "--listen", "{listen}", "--model", model, "--cores", "{cores}"];
                    let tls = job.cell().settings.uses_tls().then_some("--tls");
                    let own = own.into_iter().chain(tls).map(str::to_owned).chain(args.iter().cloned());
                    let own: Vec<String> = own.chain(processes(job, service, args)).collect();
                    site.words(&own).map(|words| (self.brunt.to_owned(), words))
                }
                TargetKind::Command(all) => site.words(all).map(|mut words| {
                    let args = words.split_off(1);
                    (preflight::program(&words[0], &site.dir), args)
                }),
                TargetKind::Nginx { body } => match site.words(std::slice::from_ref(body)) {
                    Ok(body) => {
                        let workers = job.cell().placement.server.count();
                        let connections = job.steps.iter().map(|step| step.cell.connections()).max().unwrap_or(0);
                        let tls = job.cell().settings.uses_tls();
                        if tls {
                            nginx::write_identity(job.dir())?;
                        }
                        let config = nginx::config(site.port, workers, connections, &body[0], tls);
                        fs::write(job.dir().join(nginx::FILE), config)?;
                        let here = std::path::absolute(job.dir())?.display().to_string();
                        Ok((nginx::PROGRAM.into(), nginx::args(&here)))
                    }
                    Err(why) => Err(why),
                },
            })
        };
        let ((program, args), env) = match (command()?, site.env(job)) {
            (Ok(command), Ok(env)) => (command, env),
            (Err(why), _) | (_, Err(why)) => return Ok(Err(why)),
        };
        let (program, args) = rlimits::wrap_command(&job.target.limits, program, args, cage);
        let placement = &job.cell().placement;
        let log = File::create(job.dir().join(TARGET_LOG))?;
        Ok(Ok(Launch {
            program,
            args,
            dir: site.folder(),
            env,
            cores: Some(if placement.free { site.all.clone() } else { placement.server.clone() }),
            stdout: log.try_clone()?,
            stderr: log,
        }))
    }
}

/// Files of a server beside its connections.
const BESIDE: u64 = 100;

/// What tells our own server that one process cannot hold the connections of the cell, if that is so.
fn processes(job: &TrialGroup, service: &str, args: &[String]) -> Vec<String> {
    let flag = "--connections";
    let connections = job.steps.iter().map(|step| step.cell.connections()).max().unwrap_or(0);
    let own = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let files = job.target.limits.nofile.map_or(own, |nofile| nofile.0);
    let is_said = args.iter().any(|word| word.split('=').next() == Some(flag));
    match service {
        "echo" if connections.saturating_add(BESIDE) > files && !is_said => {
            vec![flag.to_owned(), connections.to_string()]
        }
        _ => Vec::new(),
    }
}
