//! `brunt colocate queue`: adds, lists and cancels jobs.

use crate::cmd::stdout;
use brunt_colocate::queue::{self, Attempt, JobOptions, Listed, Pattern, Queue, Spec, State, check_command};
use brunt_colocate::user::User;
use brunt_lab::format::{number, table, three_digits};
use brunt_results::{Count, Error, ExitCode, Size, Span};
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::{env, path::PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The queue is an SQLite file, which several processes may use at once: $BRUNT_STATE_DIR/queue.sqlite, \
$XDG_STATE_HOME/brunt/queue.sqlite or ~/.local/state/brunt/queue.sqlite.

Exit status: 0 success, 1 the queue cannot be read or written, 2 wrong usage; nothing was changed then.")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    /// File of the queue, created if missing
    #[arg(long, value_name = "FILE", global = true)]
    queue: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Add a job; prints its id
    Add(Box<Add>),
    /// List jobs in the order in which they were added
    List(List),
    /// Cancel jobs that wait or run
    Cancel(Cancel),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A job runs until it exits with 0. One that was killed to free the machine, or whose runner disappeared, runs again; one that \
fails runs again --retries times.

Examples:
  brunt colocate queue add -- xz -k -9 logs.tar
  brunt colocate queue add --priority 5 --retries 2 --env THREADS=1 -- ./train.sh
  brunt colocate queue add --progress 'frame= *(\\d+)' -- ffmpeg -nostdin -i in.mkv out.mp4")]
struct Add {
    /// Jobs of a higher priority start first
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,
    /// Further starts after failures
    #[arg(long, value_name = "N", default_value_t = 0)]
    retries: u32,
    /// Environment variable, added to the environment of the runner; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Working directory [default: the current one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Regular expression that finds the job's progress in a line of its output: a number in parentheses, of work done since
    /// the start [default: CPU time]
    #[arg(long, value_name = "REGEX")]
    progress: Option<Pattern>,
    /// Most memory of its processes, such as 2GiB: the kernel kills one that would exceed it
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,
    /// Most processes and threads
    #[arg(long, value_name = "N")]
    processes: Option<Count>,
    /// Most CPU time, in cores, such as 0.5
    #[arg(long, value_name = "CORES")]
    cores: Option<f64>,
    /// Jobs of a kind disturb the service alike: limits are learned by kind [default: the name of the program]
    #[arg(long, value_name = "NAME")]
    kind: Option<String>,
    /// Time from SIGTERM to SIGKILL, where the job is told to end [default: 500ms]
    #[arg(long, value_name = "TIME")]
    term_grace: Option<Span>,
    /// User that the job runs as; only root can start it then
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Add the job so many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    times: u32,
    /// Program and arguments; no shell reads them
    #[arg(last = true, required = true, value_name = "COMMAND")]
    argv: Vec<String>,
}

#[derive(Debug, clap::Args)]
struct List {
    /// Only jobs in these states
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = State::ALL.map(State::word))]
    state: Vec<String>,
    /// Print all fields and attempts as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Cancel {
    /// Jobs, as printed by add and list
    #[arg(required = true, value_name = "ID")]
    ids: Vec<i64>,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let path = self.queue.clone().map_or_else(Queue::default_path, Ok).map_err(error)?;
        // What only looks makes no file.
        if self.queue.is_some() && !matches!(self.command, Command::Add(_)) && !path.exists() {
            let path = path.display();
            return Err(Error::Usage(format!("{path}: there is no such queue; brunt colocate queue add makes one")));
        }
        let mut queue = Queue::open(&path).map_err(error)?;
        match &self.command {
            Command::Add(add) => add.run(&mut queue)?,
            Command::List(list) => list.run(&queue)?,
            Command::Cancel(cancel) => cancel.run(&mut queue)?,
        }
        Ok(ExitCode::Good)
    }
}

fn error(error: queue::Error) -> Error {
    match error {
        queue::Error::Usage(why) => Error::Usage(why),
        queue::Error::Busy(why) | queue::Error::Failed(why) => Error::Failed(why),
    }
}

impl Add {
    fn run(&self, queue: &mut Queue) -> Result<(), Error> {
        let ids = queue.add(&self.spec()?, self.times).map_err(error)?;
        let text: String = ids.iter().map(|id| format!("{id}\n")).collect();
        Ok(stdout::print(&text)?)
    }

    fn spec(&self) -> Result<Spec, Error> {
        let dir = match &self.dir {
            Some(dir) => {
                dir.canonicalize().map_err(|error| Error::Usage(format!("--dir {}: {error}", dir.display())))?
            }
            None => env::current_dir()
                .map_err(|error| Error::Failed(format!("the current directory: {error}; give another with --dir")))?,
        };
        check_command(&self.argv).map_err(|why| Error::Usage(format!("the job's {why}")))?;
        if !dir.is_dir() {
            return Err(Error::Usage(format!("--dir {} is not a directory", dir.display())));
        }
        let env: BTreeMap<_, _> = self.env.iter().cloned().collect();
        let Self { memory, processes, cores, term_grace, .. } = *self;
        let options =
            JobOptions { kind: self.kind.clone(), memory, processes, cores, term_grace, user: self.user.clone() };
        options.check().map_err(|why| Error::Usage(format!("--{}", why.replacen('_', "-", 1))))?;
        if let Some(user) = &options.user {
            User::named(user).map_err(|why| Error::Usage(format!("--user {user}: {why}")))?;
        }
        Ok(Spec {
            argv: self.argv.clone(),
            env,
            dir,
            priority: self.priority,
            retries: self.retries,
            progress_pattern: self.progress.clone(),
            options,
        })
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or_default();
    match name {
        "" => Err(format!("'{text}' is not NAME=VALUE, such as THREADS=1")),
        name => Ok((name.to_owned(), value.to_owned())),
    }
}

impl List {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let mut jobs = queue.list().map_err(error)?;
        let all = jobs.len();
        jobs.retain(|listed| self.state.is_empty() || self.state.iter().any(|word| word == listed.job.state.word()));
        if self.json || !jobs.is_empty() {
            stdout::print_as(self.json, &jobs, |jobs| text(jobs))?;
        }
        if jobs.is_empty() {
            let _ = match all {
                0 => writeln!(io::stderr(), "no jobs in {}", queue.path().display()),
                all => writeln!(io::stderr(), "no such job among {all}"),
            };
        }
        Ok(())
    }
}

impl Cancel {
    fn run(&self, queue: &mut Queue) -> Result<(), Error> {
        queue.cancel(&self.ids).map_err(error)?;
        let jobs = queue.list().map_err(error)?;
        let line = |Listed { job, .. }: &Listed| match job.state {
            State::Running | State::Frozen => format!("{} is {}: its runner ends it\n", job.id, job.state.word()),
            State::Lost => format!("{} is lost: the next runner ends what is left of it\n", job.id),
            state => format!("{} {}\n", job.id, state.word()),
        };
        let text: String = jobs.iter().filter(|listed| self.ids.contains(&listed.job.id)).map(line).collect();
        Ok(stdout::print(&text)?)
    }
}

/// One line per job.
fn text(jobs: &[Listed]) -> String {
    let heads = ["id", "state", "priority", "attempts", "last end", "CPU s", "progress", "per s", "command"];
    let lines = jobs.iter().map(|Listed { job, attempts }| {
        let last = attempts.last();
        let cpu: Vec<f64> = attempts.iter().filter_map(|attempt| attempt.usage.cpu_seconds).collect();
        let progress = last.and_then(|last| last.usage.progress);
        vec![
            job.id.to_string(),
            job.state.word().to_owned(),
            job.spec.priority.to_string(),
            attempts.len().to_string(),
            end(attempts),
            number((!cpu.is_empty()).then(|| cpu.iter().sum()), 2),
            three_digits(progress.map(|progress| progress.value)),
            three_digits(progress.and_then(|progress| progress.rate)),
            command(&job.spec.argv),
        ]
    });
    table(&heads, |column| matches!(column, 0 | 2 | 3 | 5 | 6 | 7), lines)
}

/// How the last attempt that has ended did so.
fn end(attempts: &[Attempt]) -> String {
    match attempts.iter().rev().find_map(|attempt| attempt.outcome.as_ref()) {
        None => "-".to_owned(),
        Some(outcome) => shortened(&outcome.to_string()),
    }
}

/// The begin of what --json has in full.
fn shortened(text: &str) -> String {
    const MOST: usize = 48;
    match text.chars().count() > MOST {
        true => text.chars().take(MOST - 3).chain("...".chars()).collect(),
        false => text.to_owned(),
    }
}

/// Words as a shell takes them.
fn command(argv: &[String]) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./=:,+@%".contains(c);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''").replace('\n', " ")),
    };
    argv.iter().map(quoted).collect::<Vec<_>>().join(" ")
}
