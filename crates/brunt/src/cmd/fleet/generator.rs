//! The load that an agent makes: its threads of a load that is described by the coordinator.

use super::allowed::Allowed;
use super::secrets;
use super::shipped::Shipped;
use crate::cmd::load;
use brunt_fleet::nats::{Files, Load, Loads, Tell, Told};
use brunt_fleet::words::Task;
use brunt_load::Options;
use brunt_load::remote::{self, Control, Part};
use brunt_results::named;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

/// Makes loads on this machine.
pub(super) struct Generator {
    pub allowed: Arc<Allowed>,
    /// Directory of the files of secrets.
    pub secrets: Option<PathBuf>,
}

impl Loads for Generator {
    fn prepare(&self, task: &Task, files: Files, tell: Tell) {
        let (task, allowed, secrets) = (task.clone(), Arc::clone(&self.allowed), self.secrets.clone());
        let of_thread = tell.clone();
        // Names are looked up, and files are fetched and read here.
        let work = move || {
            let described = describe(&task, secrets.as_deref(), &files);
            drop(files);
            if let Err(why) = described.and_then(|options| run(options, &task, &allowed, &of_thread)) {
                of_thread.tell(Told::Failed(why));
            }
            of_thread.tell(Told::Ended);
        };
        if let Err(error) = thread::Builder::new().name("load".to_owned()).spawn(work) {
            tell.tell(Told::Failed(format!("no thread for the load: {error}")));
            tell.tell(Told::Ended);
        }
    }
}

/// The load of a task, from its description and copies of the files that this names.
fn describe(task: &Task, secrets: Option<&Path>, files: &Files) -> Result<Options, String> {
    let shipped = serde_json::from_value(task.load.clone()).map_err(|error| error.to_string())?;
    let Shipped { spec, counts, files: named, script } = shipped;
    let spec = secrets::own(spec, secrets)?;
    let copies = files.fetch(&named)?;
    let copies = named.into_iter().map(|file| file.path).zip(copies).collect();
    let options = named::copied(copies, || match script {
        None => load::resolved_here(&spec, false),
        Some(script) => script.resolved_here(&spec),
    })?;
    Ok(Options { counts, ..options })
}

/// The whole load of so many threads, of which those of a range are this machine's, from its description as this machine reads it.
///
/// # Errors
/// There is no such part, or it is not allowed.
pub(super) fn part_of(
    mut options: Options,
    threads: usize,
    range: Range<usize>,
    allowed: &Allowed,
) -> Result<Options, String> {
    let Range { start: first, end } = range;
    let is_possible = first < end && end <= threads && options.threads.len() == end - first;
    if !is_possible || options.connections < threads {
        return Err(format!("threads {first} to {end} of {threads} are no part of this load"));
    }
    let own = std::mem::replace(&mut options.threads, vec![None; threads]);
    options.threads[range].copy_from_slice(&own);
    allowed.check(&options, own.len() as f64 / threads as f64)?;
    Ok(options)
}

/// Makes the load of a task; returns when it is over.
fn run(options: Options, task: &Task, allowed: &Allowed, tell: &Tell) -> Result<(), String> {
    let range = task.first..task.end;
    let options = part_of(options, task.threads, range.clone(), allowed)?;
    let part = Part::new(options, range).map_err(|error| error.to_string())?;
    tell.tell(Told::Prepared(Box::new(Orders(part.control()))));
    part.run(|told| {
        tell.tell(match told {
            remote::Told::Connecting(opened) => Told::Connecting(opened),
            remote::Told::Connected => Told::Connected,
            remote::Told::Began(at) => Told::Began(at as i64),
            remote::Told::Second(number, bytes) => Told::Second(number, Shipped::table(&bytes)),
            remote::Told::Failed(error) => Told::Failed(error),
            // Told once the thread is done.
            remote::Told::Ended => return,
        });
    });
    Ok(())
}

struct Orders(Control);

/// No time of the clock is negative; a message may name one.
fn time(ns: i64) -> u64 {
    ns.max(0) as u64
}

impl Load for Orders {
    fn connect(&self) {
        self.0.connect();
    }

    fn begin(&self, times: [i64; 3]) {
        self.0.begin(times.map(time));
    }

    fn lease(&self, until: i64) {
        // One that is too late ends the load, which tells so itself.
        self.0.lease(time(until));
    }

    fn close(&self, at: i64) {
        self.0.close(time(at));
    }

    fn release(&self) {
        self.0.release();
    }

    fn abandon(&self) {
        self.0.abandon();
    }
}
