//! What is read between slices agrees with the clocks of the processes and with pauses made on purpose.

use crate::shared::{Actor, Bracket};
use brunt_meter::slice::{CpuSource, Lost, LostTime, ServerCpu};
use brunt_testkit::{alone, at_most, judge, until};
use rustix::process::{Pid, Signal, kill_process};
use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

#[test]
fn drained_reads_are_exact_in_short_windows() {
    let _turn = alone();
    let mut actor = Actor::start();
    let mut cpu = ServerCpu::attach(actor.pid()).unwrap();
    assert_eq!(cpu.source(), CpuSource::ProcessClock);
    let read = |cpu: &RefCell<&mut ServerCpu>| cpu.borrow_mut().read().unwrap();
    for window in 0..50 {
        let cpu = RefCell::new(&mut cpu);
        let work = |actor: &mut Actor| _ = actor.run(&format!("burn {}", 5 + window % 10));
        let (measured, truth) = Bracket::around(&mut actor, "cpu", || read(&cpu), work, |before| read(&cpu) - before);
        truth.assert_holds("a window", measured, Duration::ZERO);
    }
    assert!(cpu.rss_bytes() > 500_000);
}

#[test]
fn the_task_clock_is_exact_while_threads_run() {
    let _turn = alone();
    // Unlike the clocks of the threads it contains stolen time.
    judge("the task clock is that of the threads within 1 %", || {
        let error = Actor::start().count("meter-itself 50");
        println!("{error} millionths");
        if error < 10_000 { Ok(()) } else { Err(format!("{error} millionths outside of the clocks of the threads")) }
    });
}

/// The most CPU time that an actor and what it starts can have taken since, in the clock of a source.
struct Most {
    begun: Instant,
    first_thread: Duration,
    /// Of each thread, inherited by all that it starts: contain stolen time, as the task clock of a server does.
    task_clocks: Vec<perf_event::Counter>,
}

impl Most {
    fn begin(actor: &mut Actor) -> Self {
        let mut event = perf_event::Builder::new(perf_event::events::Software::TASK_CLOCK);
        event.exclude_kernel(true).enabled(true).inherit(true);
        let threads = std::fs::read_dir(format!("/proc/{}/task", actor.pid())).unwrap();
        let threads = threads.map(|thread| thread.unwrap().file_name().to_str().unwrap().parse().unwrap());
        let task_clocks = threads.filter_map(|thread| event.observe_pid(thread).build().ok()).collect();
        Self { task_clocks, begun: Instant::now(), first_thread: actor.run("cpu-thread") }
    }

    /// By their own clocks one thread runs at a time, but for the first one while another starts: no more than the time that
    /// passes and that of the first thread.
    fn read(&mut self, actor: &mut Actor, source: CpuSource) -> Duration {
        match source {
            CpuSource::ProcessClock => actor.run("cpu-thread") - self.first_thread + self.begun.elapsed(),
            CpuSource::TaskClock => {
                let counted = self.task_clocks.iter_mut().map(|clock| clock.read().unwrap()).sum();
                Duration::from_nanos(counted).mul_f64(DIFFERENCE)
            }
        }
    }
}

/// Two clocks of a thread start and stop one after the other, so they differ. A thread of four that counts twice is beyond it.
const DIFFERENCE: f64 = 1.1;

/// CPU time of an order, of which the actor's clock or the order says that it is `truth` at least.
#[track_caller]
fn assert_counted_once(cpu: &mut ServerCpu, actor: &mut Actor, order: &str) {
    let (mut most, before) = (Most::begin(actor), cpu.read().unwrap());
    let truth = actor.run(order);
    until("all of it is counted", || cpu.read().unwrap() - before >= truth.mul_f64(0.97));
    let measured = cpu.read().unwrap() - before;
    let most = most.read(actor, cpu.source());
    println!("{order}: {measured:?}, {truth:?} to {most:?}");
    assert!(measured <= most, "{order}: {measured:?}, not {truth:?} to {most:?}");
}

#[test]
fn later_threads_and_processes_are_counted_by_both_sources() {
    let _turn = alone();
    let mut actor = Actor::start();
    let mut sources = vec![ServerCpu::attach(actor.pid()).unwrap()];
    sources.extend(ServerCpu::attach_task_clock(actor.pid()));
    for cpu in &mut sources {
        assert_counted_once(cpu, &mut actor, "threads 50");
        // The whole of a process that it did not know, which is looked for at intervals: its start may count too.
        let (mut most, before) = (Most::begin(&mut actor), cpu.read().unwrap());
        actor.run("keep");
        actor.run("forward burn 200");
        actor.run("reply");
        until("the child's time", || cpu.read().unwrap() - before >= 190 * MS);
        let measured = cpu.read().unwrap() - before;
        let most = most.read(&mut actor, cpu.source());
        println!("{measured:?} of 200 ms to {most:?}");
        assert!(measured <= most, "{measured:?} of 200 ms to {most:?}");
    }
}

#[test]
fn a_server_that_spins_or_forks_gets_the_task_clock() {
    let _turn = alone();
    if let Err(why) = ServerCpu::attach_task_clock(std::process::id()) {
        println!("skipped: {why}");
        return;
    }
    let (mut spinner, mut forker) = (Actor::start(), Actor::start());
    let mut cpu = ServerCpu::attach(spinner.pid()).unwrap();
    spinner.send("burn 60000");
    let mut last = Duration::ZERO;
    until("the task clock", || {
        let now = cpu.read().unwrap();
        assert!(now >= last, "{now:?} after {last:?}");
        last = now;
        cpu.source() == CpuSource::TaskClock
    });

    let mut cpu = ServerCpu::attach(forker.pid()).unwrap();
    forker.run("child 30");
    until("the task clock", || cpu.read().is_some() && cpu.source() == CpuSource::TaskClock);
    assert_counted_once(&mut cpu, &mut forker, "child 200");
    forker.kill();
    until("the end", || cpu.read().is_none());
}

/// CPU time of this thread.
fn cpu_of(work: impl FnOnce()) -> f64 {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let before = now();
    work();
    now() - before
}

#[test]
fn a_read_is_cheap() {
    let _turn = alone();
    let mut actor = Actor::start();
    let (pid, own) = (actor.pid(), rustix::thread::gettid().as_raw_pid() as u32);
    // The control are plain reads of five files of `/proc`.
    let mut check = |what: &str, factor: f64, read: &mut dyn FnMut()| {
        let mut pair = || {
            actor.run("burn 1");
            thread::sleep(MS);
            let control = || (0..5).for_each(|_| _ = std::hint::black_box(std::fs::read("/proc/self/stat")));
            (cpu_of(&mut *read), cpu_of(control))
        };
        judge(&format!("a read of {what} is cheap"), || at_most(15, factor, &mut pair));
    };
    for cpu in [ServerCpu::attach(pid).ok(), ServerCpu::attach_task_clock(pid).ok()] {
        let Some(mut cpu) = cpu else { continue };
        check(&format!("CPU time, {}", cpu.source()), 3.0, &mut || _ = cpu.read().unwrap());
    }
    let mut lost = LostTime::attach(&[own], &[0]);
    check("lost time", 1.0, &mut || _ = lost.read());
}

/// An actor that watches its lost time, and its thread that notes gaps.
fn watcher() -> (Actor, u32) {
    let mut actor = Actor::start();
    actor.run("watch-lost");
    let tasks = || std::fs::read_dir(format!("/proc/{}/task", actor.pid())).unwrap().flatten();
    let named = |path: &Path| std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "brunt-gaps");
    let find = || tasks().find(|task| named(&task.path())).map(|task| task.file_name());
    until("the thread starts", || find().is_some());
    let thread = find().unwrap().to_str().unwrap().parse().unwrap();
    until_it_slept(thread);
    (actor, thread)
}

/// Waits until the thread has slept and woken up a few times more.
fn until_it_slept(thread: u32) {
    let sleeps = || {
        let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap();
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        count.trim().parse::<u64>().unwrap()
    };
    let before = sleeps();
    until("it sleeps", || sleeps() > before + 3);
}

/// Time for which a thread was runnable without a core.
fn waited(thread: u32) -> Duration {
    scheduled(thread, 1)
}

/// CPU time of the thread.
fn ran(thread: u32) -> Duration {
    scheduled(thread, 0)
}

/// A time of `/proc/PID/schedstat`.
fn scheduled(thread: u32, field: usize) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).unwrap();
    Duration::from_nanos(text.split(' ').nth(field).unwrap().parse().unwrap())
}

#[test]
fn pauses_of_everything_are_lost_time() {
    let _turn = alone();
    judge("pauses of everything are lost time", pauses_are_lost);
}

fn pauses_are_lost() -> Result<(), String> {
    // The control suffers what the machine does meanwhile.
    let ((mut actor, gaps), (mut control, _)) = (watcher(), watcher());
    let main = actor.pid();
    let pid = Pid::from_raw(main as i32).unwrap();
    let before = (actor.run("lost"), control.run("lost"), waited(main), waited(gaps));
    let mut paused = Duration::ZERO;
    for _ in 0..10 {
        kill_process(pid, Signal::STOP).unwrap();
        let begin = Instant::now();
        thread::sleep(15 * MS);
        kill_process(pid, Signal::CONT).unwrap();
        paused += begin.elapsed();
        thread::sleep(15 * MS);
    }
    until_it_slept(gaps);
    let (lost, quiet) = (actor.run("lost") - before.0, control.run("lost") - before.1);
    // A thread waits for a core to stop, and to go on.
    let (main, gaps) = (waited(main) - before.2, waited(gaps) - before.3);
    let told = format!("lost {lost:?} of {paused:?}, the control {quiet:?}, waited {main:?} and {gaps:?}");
    println!("{told}");
    let agrees = lost + gaps > paused.mul_f64(0.7) && lost < paused + 2 * quiet + main + 100 * MS;
    if agrees { Ok(()) } else { Err(told) }
}

#[test]
fn waiting_for_a_core_is_lost_time_unless_the_server_has_it() {
    let _turn = alone();
    let (core, stop) = (rustix::thread::sched_getcpu(), AtomicBool::new(false));
    let (sender, receiver) = std::sync::mpsc::channel();
    let busy = || {
        let mut set = rustix::thread::CpuSet::new();
        set.set(core);
        rustix::thread::sched_setaffinity(None, &set).unwrap();
        sender.send(rustix::thread::gettid().as_raw_pid() as u32).unwrap();
        while !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    };
    thread::scope(|scope| {
        // However the claim ends, so do the threads.
        let _stops = Stops(&stop);
        let generator = scope.spawn(busy);
        let tid = receiver.recv().unwrap();
        let mut lost = LostTime::attach(&[tid], &[]);
        assert!(lost.is_on(&[core]) && !lost.is_on(&[core + 1]));
        let before = waited(tid);
        let _rival = scope.spawn(busy);
        let rival = receiver.recv().unwrap();
        until("the generator has waited", || waited(tid) - before >= 100 * MS);
        let least = waited(tid) - before;
        let ours = ran(rival);
        let [lost, ours, unknown] = {
            let lost = lost.read();
            [Some(Duration::ZERO), Some(ours), None].map(|ours| lost.since(Lost::default(), ours))
        };
        println!(
            "{lost:?} of {least:?} at least, {ours:?} without what the rival used, {unknown:?} if it is not known"
        );
        assert!(!generator.is_finished());
        // What packet threads have used is not lost.
        assert!(lost + 10 * MS > least, "{lost:?} of {least:?} at least");
        assert!(unknown <= ours && ours < lost, "{unknown:?} {ours:?} {lost:?}");
    });
}

/// Stops threads on drop.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
