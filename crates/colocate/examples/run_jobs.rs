//! Runs the jobs of a queue until none is left, so many at once, without a controller: `run_jobs QUEUE OUTPUT SLOTS`.

use brunt_colocate::jobs::{Options, Output, Runner, plain};
use brunt_colocate::queue::Queue;
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{env, thread};

const TICK: Duration = Duration::from_millis(5);

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [queue, dir, slots] = args.as_slice() else { return Err("usage: run_jobs QUEUE OUTPUT SLOTS".into()) };
    let (queue, slots) = (PathBuf::from(queue), slots.parse()?);
    let options = Options { output: Output { dir: dir.into(), bytes: 1 << 20 }, grace: Duration::from_millis(200) };
    let mut runner = Runner::new(Queue::open_for_runner(&queue)?, plain, options);
    let jobs = Queue::open(&queue)?;
    let (mut longest, mut ticks) = (Duration::ZERO, 0_u32);
    loop {
        let now = Instant::now();
        for event in runner.poll(now, slots)? {
            println!("{event:?}");
        }
        longest = longest.max(now.elapsed());
        ticks += 1;
        if ticks % 20 == 0 && runner.is_idle() && jobs.list()?.iter().all(|listed| listed.job.state.is_final()) {
            break;
        }
        thread::sleep(TICK);
    }
    println!("longest of {ticks} polls: {:.1} ms", longest.as_secs_f64() * 1e3);
    Ok(())
}
