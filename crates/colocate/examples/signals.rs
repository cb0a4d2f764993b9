//! Prints the readings of a service at every tick of a controller, a line of JSON each, and at the end what it cost:
//! `signals (PID | ADDRESS | DIR) GROUP SECONDS [quiet]`. GROUP is the directory of the BE
//! jobs' control group.

use brunt_colocate::cgroup::Group;
use brunt_colocate::signals::{Machine, Options, Service};
use brunt_meter::ProcessTree;
use brunt_meter::cgroup::Linux;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, process, thread};

const TICK: Duration = Duration::from_millis(20);

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [service, group, seconds, quiet @ ..] = args.as_slice() else {
        return Err("usage: signals (PID | ADDRESS | DIR) GROUP SECONDS [quiet]".into());
    };
    let service = match service.parse() {
        Ok(pid) => Service::process(pid)?,
        Err(_) if service.starts_with('/') => Service::group(Path::new(service))?,
        Err(_) => Service::listening(service)?,
    };
    let group = Group::of(Arc::new(Linux), vec![group.into()]);
    let mut machine = Machine::open(service, &group, Options::default());
    let begin = Instant::now();
    let cpu = || ProcessTree::cpu_seconds_by(process::id()).unwrap_or_default();
    let (before, end) = (cpu(), begin + Duration::from_secs_f64(seconds.parse()?));
    while Instant::now() < end {
        let readings = machine.read(Instant::now());
        if quiet.is_empty() {
            println!("{}", serde_json::to_string(&(begin.elapsed().as_secs_f64(), readings))?);
        }
        thread::sleep(TICK);
    }
    println!("{}", serde_json::to_string(&machine.totals())?);
    eprintln!("{:.3} % of a core", 100.0 * (cpu() - before) / begin.elapsed().as_secs_f64());
    Ok(())
}
