//! The `generator` part of a result: cost of a request to the load threads, and interference on their cores.
//!
//! Thread figures cover the given load threads, of this process or of its workers; page faults and memory cover their whole
//! processes.

use crate::counters::{Counters, Event, Reading};
use crate::packet_threads::PacketTime;
use crate::threads::{self, ThreadTimes};
use crate::{absent, cpu_accounting, proc};
use brunt_results::{result::Generator, series::Second};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct GeneratorMeter {
    threads: Vec<u32>,
    /// Cores of each thread, as pinned before the load: the threads end before the meter is closed.
    cores: BTreeMap<u32, Vec<usize>>,
    /// This process and those of the threads.
    processes: BTreeSet<u32>,
    counters: Counters,
    first: Option<Sample>,
    last: Option<Sample>,
}

#[derive(Debug)]
struct Sample {
    at: Instant,
    counted: Reading,
    times: ThreadTimes,
    packets: PacketTime,
    /// Of each process; `None` if one could not be read.
    stats: Option<Vec<proc::Stat>>,
}

impl GeneratorMeter {
    pub fn attach(threads: &[u32]) -> Self {
        let counters = Counters::attach_threads(threads, &[Event::InstructionsUser]);
        let owner = |tid: &u32| proc::status_line(&format!("/proc/{tid}/status"), "Tgid")?.parse().ok();
        let processes = threads.iter().filter_map(owner).chain([std::process::id()]).collect();
        let cores = threads.iter().filter_map(|tid| Some((*tid, threads::allowed_cores(&[*tid])?))).collect();
        Self { threads: threads.to_vec(), cores, processes, counters, first: None, last: None }
    }

    pub fn open(&mut self) {
        self.first = Some(self.sample_now());
        self.last = None;
    }

    pub fn stop(&mut self) {
        self.last = Some(self.sample_now());
    }

    fn sample_now(&mut self) -> Sample {
        // /proc/TID works for a thread id as well.
        let times = self.threads.iter().filter_map(|tid| Some((*tid, threads::of(*tid, *tid)?))).collect();
        let packets = PacketTime::now();
        Sample { at: Instant::now(), counted: self.counters.read(), times, packets, stats: self.stats() }
    }

    fn stats(&self) -> Option<Vec<proc::Stat>> {
        self.processes.iter().map(|pid| proc::Stat::of(*pid)).collect()
    }

    pub fn sample(&self, second: &mut Second) {
        second.generator_rss_bytes = sum(&self.stats(), |stat| stat.rss_bytes);
    }

    /// Fills in the figures of the window, in which `completed` requests completed. Returns the reasons for absent ones by name
    /// (`generator.rss_bytes`). `window` is the length of that of the load, of which this one is a reading.
    pub fn close(&self, completed: u64, window: Duration, generator: &mut Generator) -> BTreeMap<String, String> {
        let (Some(first), Some(last)) = (&self.first, &self.last) else {
            return all_absent_in(generator, "the measured window never opened");
        };
        let cores: BTreeSet<usize> = self.cores.values().flatten().copied().collect();
        generator.allowed_cores = (!cores.is_empty()).then(|| cores.into_iter().collect());
        generator.rss_bytes = sum(&last.stats, |stat| stat.rss_bytes).filter(|_| first.stats.is_some());
        if let Some(too_short) = cpu_accounting::too_short(window) {
            return all_absent_in(generator, &too_short);
        }
        let instructions = match completed {
            0 => Err("no request completed".to_owned()),
            _ => last.counted.since(&first.counted, Event::InstructionsUser).map(|count| count / completed as f64),
        };
        generator.instructions_user_per_request = instructions.as_ref().ok().copied();
        // Several processes of the generator wait for each other.
        let is_alone = self.processes.len() == 1;
        generator.run_queue_wait_percent = last.run_queue_wait_percent(first, &self.cores).filter(|_| is_alone);
        let all_live = self.threads.iter().all(|tid| last.times.contains_key(tid));
        let switches = threads::switches(&first.times, &last.times).filter(|_| all_live);
        generator.voluntary_switches = switches.map(|switches| switches.voluntary);
        generator.involuntary_switches = switches.map(|switches| switches.involuntary);
        let increase = |of| Some(sum(&last.stats, of)?.saturating_sub(sum(&first.stats, of)?));
        generator.minor_faults = increase(|stat| stat.minor_faults);
        generator.major_faults = increase(|stat| stat.major_faults);
        let why = |figure: &str| match figure {
            "instructions_user_per_request" => instructions.as_ref().err().map(String::as_str),
            "run_queue_wait_percent" if is_alone => {
                Some("the kernel does not account for waiting, or a load thread had ended")
            }
            "run_queue_wait_percent" => Some("the processes of the generator wait for each other's cores"),
            "voluntary_switches" | "involuntary_switches" => Some("a load thread had ended"),
            "minor_faults" | "major_faults" | "rss_bytes" => {
                Some("/proc/PID/stat of a process of the generator could not be read")
            }
            _ => None,
        };
        absent::reasons("generator", generator, |figure| why(figure).map(str::to_owned))
    }
}

fn sum(stats: &Option<Vec<proc::Stat>>, of: fn(&proc::Stat) -> u64) -> Option<u64> {
    Some(stats.as_ref()?.iter().map(of).sum())
}

impl Sample {
    /// Longest time that one thread was runnable without a core, less that of packet threads on it, in percent of the window;
    /// `None` if not accounted for.
    fn run_queue_wait_percent(&self, first: &Self, cores: &BTreeMap<u32, Vec<usize>>) -> Option<f64> {
        let waits = threads::used(&first.times, &self.times)
            .map(|(tid, used)| self.packets.wait_for_others(&first.packets, cores.get(&tid)?, &used));
        let longest = waits.collect::<Option<Vec<_>>>()?.into_iter().max()?;
        let wall = self.at.duration_since(first.at).as_secs_f64().max(1e-9);
        // A wait that began before the window is accounted for when it ends.
        Some((longest.as_secs_f64() / wall * 100.0).min(100.0))
    }
}

/// `why` for each absent figure, except for those that the generator determines itself.
fn all_absent_in(generator: &Generator, why: &str) -> BTreeMap<String, String> {
    let is_metered = |figure: &str| !["cpu_percent", "spin_percent", "ceiling_rate"].contains(&figure);
    absent::reasons("generator", generator, |figure| is_metered(figure).then(|| why.to_owned()))
}

/// The reasons for a generator that was not metered.
pub fn all_absent(why: &str) -> BTreeMap<String, String> {
    all_absent_in(&Generator::default(), why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc, thread};

    /// The load threads end when the window is over, and the meter is closed after that.
    #[test]
    fn figures_of_threads_that_have_ended_are_those_of_their_last_sample() {
        let (go_on, wait) = mpsc::channel::<()>();
        let (told, tid) = mpsc::channel();
        let thread = thread::spawn(move || {
            told.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            let _ = wait.recv();
        });
        let tid = tid.recv().unwrap();
        let mut meter = GeneratorMeter::attach(&[tid]);
        meter.open();
        meter.stop();
        assert_eq!(meter.cores.get(&tid).cloned(), threads::allowed_cores(&[tid]));
        assert!(!meter.cores[&tid].is_empty());
        drop(go_on);
        thread.join().unwrap();
        let mut generator = Generator::default();
        let absent = meter.close(1, Duration::MAX, &mut generator);
        assert_eq!(
            generator.run_queue_wait_percent.is_some(),
            !absent.contains_key("generator.run_queue_wait_percent")
        );
        assert!(
            generator.run_queue_wait_percent.is_none_or(|percent| (0.0..=100.0).contains(&percent)),
            "{generator:?}"
        );
    }
}
