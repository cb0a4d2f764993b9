//! The target's command line for one trial: its words with their placeholders filled in, or what we know how to start.

use super::{Bench, Job, TARGET_LOG};
use crate::{
    nginx,
    plan::Start,
    prepare::{self, folder},
    process::Launch,
    template::expand,
};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
};

impl Bench<'_> {
    /// The target's command, or why its words make none.
    pub(super) fn target(&self, job: &Job, port: u16) -> io::Result<Result<Launch, String>> {
        let dir = std::path::absolute(folder(job.target, self.base))?;
        let mut values = job.cell.placeholders();
        values.insert("listen".into(), format!("127.0.0.1:{port}"));
        values.insert("host".into(), "127.0.0.1".into());
        values.insert("port".into(), port.to_string());
        values.insert("dir".into(), dir.display().to_string());
        values.insert("brunt".into(), self.brunt.display().to_string());
        let words = |words: &[String]| words.iter().map(|word| expand(word, &values)).collect::<Result<Vec<_>, _>>();
        let (program, args) = match &job.target.start {
            Start::Serve { service, model, args } => {
                let own = ["serve", service, "--listen", "{listen}", "--model", model, "--cores", "{cores}"];
                let own: Vec<String> = own.iter().map(|word| (*word).to_owned()).chain(args.iter().cloned()).collect();
                (self.brunt.to_owned(), words(&own))
            }
            Start::Command(all) => {
                let program = words(&all[..1]).map(|words| prepare::program(&words[0], &dir));
                match program {
                    Ok(program) => (program, words(&all[1..])),
                    Err(why) => return Ok(Err(why)),
                }
            }
            Start::Nginx { body } => {
                let body = match expand(body, &values) {
                    Ok(body) => body,
                    Err(why) => return Ok(Err(why)),
                };
                let workers = job.cell.placement.server.count();
                fs::write(job.dir.join(nginx::FILE), nginx::config(port, workers, job.cell.connections(), &body))?;
                let here = std::path::absolute(&job.dir)?.display().to_string();
                (nginx::PROGRAM.into(), Ok(nginx::args(&here)))
            }
        };
        let env = job.target.env.iter().map(|(name, value)| Ok((name.clone(), expand(value, &values)?)));
        let (args, env) = match (args, env.collect::<Result<BTreeMap<_, _>, String>>()) {
            (Ok(args), Ok(env)) => (args, env),
            (Err(why), _) | (_, Err(why)) => return Ok(Err(why)),
        };
        let log = File::create(job.dir.join(TARGET_LOG))?;
        Ok(Ok(Launch {
            program,
            args,
            dir: Some(dir).filter(|dir| dir.is_dir()),
            env,
            cores: Some(job.cell.placement.server.clone()),
            stdout: log.try_clone()?,
            stderr: log,
        }))
    }
}
