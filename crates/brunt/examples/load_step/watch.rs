//! Threads that watch a step while it goes on: one adds the counts of two loads for the controller, one looks at the jobs' group.
//!
//! Invariant: every request that a load has counted is in one line for the controller, whose `end` is not before that of its own
//! window.

use brunt_colocate::cgroup::Group;
use brunt_meter::affinity;
use brunt_meter::cgroup::Linux;
use brunt_results::counts::Counts;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

/// Between two looks at the files of the loads, and at the group.
const LOOK: Duration = Duration::from_millis(1);
/// A window for the controller is not shorter than this part of its length: windows of loads are not exactly as long as asked for.
const NEARLY: f64 = 0.97;

/// Seconds of CLOCK_MONOTONIC.
pub fn now() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// A thread that runs until it is asked for its result.
#[derive(Debug)]
pub struct Watch<T> {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Watch<T> {
    fn start(core: usize, watch: impl FnOnce(&AtomicBool) -> T + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            // Away from the service; on a machine that does not permit it, on any core.
            let _ = affinity::pin(&[core]);
            watch(&asked)
        });
        Self { stop, thread: Some(thread) }
    }

    pub fn end(mut self) -> Result<T, String> {
        self.stop.store(true, Relaxed);
        let thread = self.thread.take().ok_or("a thread has ended before")?;
        thread.join().map_err(|_| "a thread has failed".to_owned())
    }
}

impl<T> Drop for Watch<T> {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
    }
}

/// The counts of a step.
#[derive(Debug, Default)]
pub struct Counted {
    /// Windows of the low load, and of the one that comes on top of it.
    pub loads: [Vec<Counts>; 2],
    /// What the controller was given.
    pub given: Vec<Counts>,
}

/// Adds the counts of two files to windows of about `every` seconds in a third. The windows end as those of the first file do; what
/// the second file has not said by then is in the next one.
pub fn add(core: usize, files: [PathBuf; 2], sum: &Path, every: f64) -> Result<Watch<Result<Counted, String>>, String> {
    let named = format!("{}", sum.display());
    let mut out = File::create(sum).map_err(|e| format!("{named}: {e}"))?;
    let mut readers = files.map(Reader::new);
    let watch = move |stop: &AtomicBool| {
        let (mut counted, mut next) = (Counted::default(), Vec::new());
        while !stop.load(Relaxed) {
            // The second first: nothing that ended earlier is then missing from a window without need.
            for index in [1, 0] {
                let new = readers[index].read()?;
                counted.loads[index].extend(&new);
                next.extend(new.into_iter().map(|counts| (index, counts)));
            }
            if let Some(line) = added(&next, every) {
                out.write_all(line.line().as_bytes()).map_err(|e| format!("{named}: {e}"))?;
                counted.given.push(line);
                next.clear();
            }
            sleep(LOOK);
        }
        Ok(counted)
    };
    Ok(Watch::start(core, watch))
}

/// One window of those of both files, if the first has filled it.
pub fn added(windows: &[(usize, Counts)], every: f64) -> Option<Counts> {
    let first = || windows.iter().filter(|(file, _)| *file == 0).map(|(_, counts)| counts);
    let seconds: f64 = first().map(|counts| counts.seconds).sum();
    if seconds < every * NEARLY {
        return None;
    }
    let all = || windows.iter().map(|(_, counts)| counts);
    let offered: f64 = all().map(|counts| counts.offered.unwrap_or_default() * counts.seconds).sum();
    let newest = |file| windows.iter().rfind(|(of, _)| *of == file).map_or(0.0, |(_, counts)| counts.latency_ms);
    Some(Counts {
        end: first().next_back()?.end,
        seconds,
        count: all().map(|counts| counts.count).sum(),
        slow: all().map(|counts| counts.slow).sum(),
        failed: all().map(|counts| counts.failed).sum(),
        // The percentile of all requests is not above that of the slower load.
        latency_ms: newest(0).max(newest(1)),
        offered: Some(offered / seconds),
        load: None,
    })
}

/// Complete lines of a file that grows, which may not exist yet.
struct Reader {
    path: PathBuf,
    file: Option<File>,
    begun: String,
}

impl Reader {
    fn new(path: PathBuf) -> Self {
        Self { path, file: None, begun: String::new() }
    }

    fn read(&mut self) -> Result<Vec<Counts>, String> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let Some(file) = &mut self.file else { return Ok(Vec::new()) };
        let named = |why: String| format!("{}: {why}", self.path.display());
        file.read_to_string(&mut self.begun).map_err(|e| named(e.to_string()))?;
        let complete = self.begun.rfind('\n').map_or(0, |end| end + 1);
        let lines: String = self.begun.drain(..complete).collect();
        lines.lines().map(|line| Counts::of_line(line).map_err(named)).collect()
    }
}

/// What the group of the jobs is found to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// In seconds of CLOCK_MONOTONIC.
    pub at: f64,
    pub frozen: bool,
    /// CPU time that its processes have used, in seconds.
    pub cpu: Option<f64>,
}

/// Every look at the group that found something new.
pub fn looks(core: usize, dirs: Vec<PathBuf>) -> Watch<Vec<Look>> {
    Watch::start(core, move |stop| {
        let (group, mut looks) = (Group::of(Arc::new(Linux), dirs), Vec::<Look>::new());
        while !stop.load(Relaxed) {
            // The time comes last: what is found was so then.
            let (frozen, cpu) = (group.is_frozen(), group.cpu().map(|cpu| cpu.as_secs_f64()));
            let is_new = looks.last().is_none_or(|last| (last.frozen, last.cpu) != (frozen, cpu));
            looks.extend(is_new.then(|| Look { at: now(), frozen, cpu }));
            sleep(LOOK);
        }
        looks
    })
}
