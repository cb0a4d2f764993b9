//! The server's part of a result: its process tree and its hardware counters over the measured window.
//!
//! Attach before the load, open and stop at the ends of the window, close when the number of completed requests is
//! known. A server that ended inside the window has no cost: its figures are absent, not those of its last second.

use crate::{
    counters::{Counters, Event, Reading},
    process::{Snapshot, Tree, Usage, Window},
};
use outcome::{result::Server, series::Second};
use std::collections::BTreeMap;

/// Meters one server.
#[derive(Debug)]
pub struct ServerMeter {
    pid: u32,
    tree: Tree,
    counters: Counters,
    rss_start_bytes: u64,
    window: Option<Window>,
    counted_first: Option<Reading>,
    last_sample: Snapshot,
    stopped: Option<(Usage, Option<Reading>)>,
}

impl ServerMeter {
    /// Attaches to a process and all its descendants.
    ///
    /// # Errors
    /// The reason, when there is no such process.
    pub fn attach(pid: u32) -> Result<Self, String> {
        Self::attach_all(&[pid])
    }

    /// Attaches to several processes that serve together; the first gives its pid to the result.
    ///
    /// # Errors
    /// The reason, when one of them does not exist or none is named.
    pub fn attach_all(pids: &[u32]) -> Result<Self, String> {
        let pid = *pids.first().ok_or("no process was named")?;
        let mut tree = Tree::new(pids)?;
        let counters = Counters::attach_tree(&mut tree, &Event::RESULT);
        let last_sample = tree.sample();
        let rss_start_bytes = last_sample.rss_bytes;
        Ok(Self { pid, tree, counters, rss_start_bytes, window: None, counted_first: None, last_sample, stopped: None })
    }

    /// The process it was attached to.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Opens the measured window now; opening again starts it anew.
    pub fn open(&mut self) {
        self.stopped = None;
        let window = Window::open(&mut self.tree);
        self.counted_first = Some(self.counters.read());
        self.last_sample = *window.opened();
        self.window = Some(window);
    }

    /// Fills in what the server used since the last sample (or the opening), for the series.
    pub fn sample(&mut self, second: &mut Second) {
        let now = self.tree.sample();
        if let Some(window) = &mut self.window {
            window.remember_threads(&self.tree, &now);
        }
        if now.alive {
            let cpu = now.since(&self.last_sample);
            second.server_cpu_user_percent = Some(cpu.user_percent());
            second.server_cpu_system_percent = Some(cpu.system_percent());
            second.server_rss_bytes = Some(now.rss_bytes);
        }
        self.last_sample = now;
    }

    /// Ends the measured window now. Without it, `close` ends it.
    pub fn stop(&mut self) {
        if let Some(window) = self.window.take() {
            let usage = window.close(&mut self.tree);
            self.stopped = Some((usage, Some(self.counters.read())));
        }
    }

    /// The figures of the window, with `completed` requests in it, and why any of them is absent: by the name of the
    /// figure in `result.json`, as `server.cycles_per_request`.
    pub fn close(&mut self, completed: u64) -> (Server, BTreeMap<String, String>) {
        self.stop();
        let mut server = Server { pid: Some(self.pid), ..Server::default() };
        let mut absent = BTreeMap::new();
        let mut missing = |figures: &[&str], why: &str| {
            absent.extend(figures.iter().map(|figure| (format!("server.{figure}"), why.to_owned())));
        };
        let Some((usage, counted)) = self.stopped.take() else {
            missing(&FIGURES, "the measured window never opened");
            return (server, absent);
        };
        if !usage.alive {
            missing(&FIGURES, &format!("the server (pid {}) ended before the measured window did", self.pid));
            return (server, absent);
        }
        server.cpu_user_percent = Some(usage.cpu.user_percent());
        server.cpu_system_percent = Some(usage.cpu.system_percent());
        server.busiest_thread_percent = usage.busiest_thread_percent;
        server.run_queue_wait_percent = usage.run_queue_wait_percent;
        server.rss_start_bytes = Some(self.rss_start_bytes);
        server.rss_bytes = Some(usage.rss_bytes);
        server.rss_peak_bytes = usage.rss_peak_bytes;
        server.threads = Some(usage.threads);
        server.cores = usage.cores;
        if server.busiest_thread_percent.is_none() {
            missing(&["busiest_thread_percent"], &format!("{} threads are too many to look at each", usage.threads));
        }
        if server.run_queue_wait_percent.is_none() {
            let why = "more threads worked than it has cores, or the kernel keeps no account of waiting";
            missing(&["run_queue_wait_percent"], why);
        }
        if server.rss_peak_bytes.is_none() {
            missing(&["rss_peak_bytes"], "a process ended while it was read");
        }
        if server.cores.is_none() {
            missing(&["cores"], "the kernel does not say which cores the server may use");
        }
        if completed == 0 {
            missing(&PER_REQUEST, "no request completed");
            return (server, absent);
        }
        let completed = completed as f64;
        server.cpu_us_per_request = Some(usage.cpu.total().as_secs_f64() * 1e6 / completed);
        let mut per_request = |event: Event, figure: &str| {
            let count = match (&counted, &self.counted_first) {
                (Some(last), Some(first)) => last.since(first, event),
                _ => Err("the counters were not read".to_owned()),
            };
            count.map(|count| count / completed).map_err(|why| missing(&[figure], &why)).ok()
        };
        server.instructions_user_per_request = per_request(Event::InstructionsUser, "instructions_user_per_request");
        server.instructions_kernel_per_request =
            per_request(Event::InstructionsKernel, "instructions_kernel_per_request");
        server.cycles_per_request = per_request(Event::Cycles, "cycles_per_request");
        (server, absent)
    }
}

const PER_REQUEST: [&str; 4] =
    ["cpu_us_per_request", "instructions_user_per_request", "instructions_kernel_per_request", "cycles_per_request"];

const FIGURES: [&str; 13] = [
    "cpu_user_percent",
    "cpu_system_percent",
    "busiest_thread_percent",
    "run_queue_wait_percent",
    "rss_start_bytes",
    "rss_bytes",
    "rss_peak_bytes",
    "threads",
    "cpu_us_per_request",
    "instructions_user_per_request",
    "instructions_kernel_per_request",
    "cycles_per_request",
    "cores",
];

/// The reasons to note when no server could be metered at all.
pub fn all_absent(why: &str) -> BTreeMap<String, String> {
    let with_pid = FIGURES.iter().chain(&["pid"]);
    with_pid.map(|figure| (format!("server.{figure}"), why.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_of_a_server_is_there_or_has_a_reason() {
        let mut meter = ServerMeter::attach(std::process::id()).unwrap();
        meter.open();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let check = |(server, absent): (Server, BTreeMap<String, String>)| {
            let json = outcome_json(&server);
            for (figure, value) in json {
                assert_eq!(value == "null", absent.contains_key(&format!("server.{figure}")), "{figure} = {value}");
            }
        };
        meter.stop();
        check(meter.close(1000));
        meter.open();
        check(meter.close(0));
        let (nothing, absent) = ServerMeter::attach(std::process::id()).unwrap().close(5);
        assert_eq!(nothing.cpu_user_percent, None);
        check((nothing, absent));
        check((Server::default(), all_absent("because")));
    }

    /// Name and value of each field, read off the debug form so that a new field cannot be forgotten here.
    fn outcome_json(server: &Server) -> Vec<(String, String)> {
        let text = format!("{server:#?}");
        let fields = text.lines().filter(|line| line.starts_with("    ") && !line.starts_with("     "));
        let fields = fields.filter_map(|line| line.trim().split_once(": "));
        fields
            .map(|(name, value)| (name.to_owned(), if value == "None," { "null" } else { "some" }.to_owned()))
            .collect()
    }

    #[test]
    fn a_process_that_is_not_there_is_a_reason() {
        assert!(ServerMeter::attach(1 << 30).unwrap_err().contains("1073741824"));
        assert!(ServerMeter::attach_all(&[]).is_err());
    }
}
