//! This very process: what the generator itself spends on a request, and whether others took its cores.
//!
//! Only the named threads count, not the one that watches them; page faults and memory belong to the whole process.

use crate::{
    absent::Absent,
    counters::{Counters, Event, Reading},
    proc,
    threads::{self, ThreadTimes},
};
use outcome::{result::Generator, series::Second};
use std::{collections::BTreeMap, time::Instant};

/// Watches some threads of this process.
#[derive(Debug)]
pub struct OwnMeter {
    threads: Vec<u32>,
    counters: Counters,
    first: Option<Look>,
    last: Option<Look>,
}

#[derive(Debug)]
struct Look {
    at: Instant,
    counted: Reading,
    times: ThreadTimes,
    stat: Option<proc::Stat>,
}

impl OwnMeter {
    /// Attaches to these thread ids.
    pub fn attach(threads: &[u32]) -> Self {
        let counters = Counters::attach_threads(threads, &[Event::InstructionsUser]);
        Self { threads: threads.to_vec(), counters, first: None, last: None }
    }

    /// Opens the measured window now.
    pub fn open(&mut self) {
        self.first = Some(self.look());
        self.last = None;
    }

    /// Ends the measured window now.
    pub fn stop(&mut self) {
        self.last = Some(self.look());
    }

    fn look(&mut self) -> Look {
        let me = std::process::id();
        let times = self.threads.iter().filter_map(|tid| Some((*tid, threads::of(me, *tid)?))).collect();
        Look { at: Instant::now(), counted: self.counters.read(), times, stat: proc::Stat::of(me) }
    }

    /// Fills in the memory it has now, for the series.
    pub fn sample(&self, second: &mut Second) {
        second.generator_rss_bytes = proc::Stat::of(std::process::id()).map(|stat| stat.rss_bytes);
    }

    /// Fills in the figures of the window, with `completed` requests in it; gives back why any of them is absent, by the
    /// name of the figure in `result.json`, as `generator.rss_bytes`.
    pub fn close(&self, completed: u64, generator: &mut Generator) -> BTreeMap<String, String> {
        let mut absent = Absent::of("generator");
        let (Some(first), Some(last)) = (&self.first, &self.last) else {
            absent.note(&FIGURES, "the measured window never opened");
            return absent.into();
        };
        let instructions = match completed {
            0 => Err("no request completed".to_owned()),
            _ => last.counted.since(&first.counted, Event::InstructionsUser).map(|count| count / completed as f64),
        };
        generator.instructions_user_per_request =
            instructions.map_err(|why| absent.note(&["instructions_user_per_request"], &why)).ok();
        generator.run_queue_wait_percent = last.run_queue_wait_percent(first);
        let why = "the kernel keeps no account of waiting, or a load thread had ended";
        absent.unless(generator.run_queue_wait_percent.is_some(), &["run_queue_wait_percent"], why);
        let all_live = self.threads.iter().all(|tid| last.times.contains_key(tid));
        let switches = threads::switches(&first.times, &last.times).filter(|_| all_live);
        generator.voluntary_switches = switches.map(|switches| switches.voluntary);
        generator.involuntary_switches = switches.map(|switches| switches.involuntary);
        absent.unless(switches.is_some(), &["voluntary_switches", "involuntary_switches"], "a load thread had ended");
        let stat = first.stat.zip(last.stat);
        generator.minor_faults = stat.map(|(first, last)| last.minor_faults.saturating_sub(first.minor_faults));
        generator.major_faults = stat.map(|(first, last)| last.major_faults.saturating_sub(first.major_faults));
        generator.rss_bytes = stat.map(|(_, last)| last.rss_bytes);
        let why = "/proc/self/stat could not be read";
        absent.unless(stat.is_some(), &["minor_faults", "major_faults", "rss_bytes"], why);
        absent.into()
    }
}

impl Look {
    /// How long the thread that waited most was ready to run and had no core, in percent of the window; absent where
    /// the kernel keeps no account of it.
    fn run_queue_wait_percent(&self, first: &Self) -> Option<f64> {
        let waits = threads::used(&first.times, &self.times).map(|(_, times)| times.wait);
        let longest = waits.collect::<Option<Vec<_>>>()?.into_iter().max()?;
        Some(longest as f64 / self.at.duration_since(first.at).as_nanos().max(1) as f64 * 100.0)
    }
}

const FIGURES: [&str; 7] = [
    "run_queue_wait_percent",
    "instructions_user_per_request",
    "voluntary_switches",
    "involuntary_switches",
    "minor_faults",
    "major_faults",
    "rss_bytes",
];

/// The reasons to note when no load thread was metered at all.
pub fn all_absent(why: &str) -> BTreeMap<String, String> {
    let mut absent = Absent::of("generator");
    absent.note(&FIGURES, why);
    absent.into()
}
