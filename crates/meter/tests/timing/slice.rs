//! What is read between slices agrees with the clocks of the processes and with pauses made on purpose.

use crate::shared::{Actor, burn};
use brunt_meter::slice::{CpuSource, LostTime, ServerCpu};
use brunt_testkit::{alone, until};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

fn read_after(cpu: &mut ServerCpu, actor: &mut Actor, order: &str) -> (Duration, Duration) {
    let before = cpu.read().unwrap();
    let truth = actor.run(order);
    (cpu.read().unwrap() - before, truth)
}

/// Errors of the sum and of the ninth decile of 50 windows of 5 to 14 ms, each as a share.
fn errors_of_drained_reads() -> (f64, f64) {
    let mut actor = Actor::start();
    let mut cpu = ServerCpu::attach(actor.pid()).unwrap();
    assert_eq!(cpu.source(), CpuSource::ProcessClock);
    let first = (cpu.read().unwrap(), actor.run("cpu"));
    let share = |measured: Duration, truth: Duration| measured.abs_diff(truth).as_secs_f64() / truth.as_secs_f64();
    let window = |window: u32| {
        let (measured, truth) = read_after(&mut cpu, &mut actor, &format!("burn {}", 5 + window % 10));
        share(measured, truth)
    };
    let mut errors: Vec<f64> = (0..50).map(window).collect();
    let last = (cpu.read().unwrap(), actor.run("cpu"));
    errors.sort_by(f64::total_cmp);
    assert!(cpu.rss_bytes() > 500_000);
    (share(last.0 - first.0, last.1 - first.1), errors[45])
}

// Other load keeps the child from sleeping before it is read, and makes the reads of two clocks lie apart: a moment without it
// is enough.

#[test]
fn drained_reads_are_exact_in_short_windows() {
    let _turn = alone();
    let is_exact = |_| {
        let (sum, window) = errors_of_drained_reads();
        println!("{sum} of the sum, {window} of a window");
        sum < 0.01 && window < 0.1
    };
    assert!((0..20).any(is_exact));
}

#[test]
fn the_task_clock_is_exact_while_threads_run() {
    let _turn = alone();
    let is_exact = |_| {
        let error = Actor::start().count("meter-itself 50");
        println!("{error} millionths");
        error < 10_000
    };
    assert!((0..20).any(is_exact));
}

#[test]
fn later_threads_and_processes_are_counted_by_both_sources() {
    let _turn = alone();
    let mut actor = Actor::start();
    let mut sources = vec![ServerCpu::attach(actor.pid()).unwrap()];
    sources.extend(ServerCpu::attach_task_clock(actor.pid()));
    for cpu in &mut sources {
        // Other load adds to the task clock; a missed thread takes a quarter away, a thread counted twice adds one.
        let agrees = |_| {
            let (measured, truth) = read_after(cpu, &mut actor, "threads 50");
            println!("{measured:?} of {truth:?}");
            assert!(measured >= truth.mul_f64(0.97), "{measured:?} of {truth:?}");
            measured < truth.mul_f64(1.2)
        };
        assert!((0..10).any(agrees));
        // The whole of a process that it did not know, which is looked for at intervals: its start may count too.
        let agrees = |_| {
            actor.run("keep");
            let before = cpu.read().unwrap();
            actor.run("forward burn 100");
            actor.run("reply");
            actor.run("forward cpu");
            let most = actor.run("reply");
            until("the child's time", || cpu.read().unwrap() - before >= 97 * MS);
            let measured = cpu.read().unwrap() - before;
            println!("{measured:?} of 100 ms to {most:?}");
            measured < most.mul_f64(1.2) + 5 * MS
        };
        assert!((0..10).any(agrees));
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
    // Counted once. Starting the child takes time too, and more of it on a busy machine.
    let agrees = |_| {
        let (measured, _) = read_after(&mut cpu, &mut forker, "child 50");
        println!("{measured:?} of 50 ms");
        assert!(measured >= 49 * MS, "{measured:?}");
        measured < 97 * MS
    };
    assert!((0..20).any(agrees));
    forker.kill();
    until("the end", || cpu.read().is_none());
}

#[test]
fn a_read_is_cheap() {
    let _turn = alone();
    let mut actor = Actor::start();
    let mut sources = vec![ServerCpu::attach(actor.pid()).unwrap()];
    sources.extend(ServerCpu::attach_task_clock(actor.pid()));
    let own = rustix::thread::gettid().as_raw_pid() as u32;
    let mut lost = LostTime::attach(&[own], &[0]);
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); 3];
    for _ in 0..50 {
        actor.run("burn 1");
        thread::sleep(MS);
        for (cpu, times) in sources.iter_mut().zip(&mut times) {
            let begin = Instant::now();
            cpu.read().unwrap();
            times.push(begin.elapsed());
        }
        let begin = Instant::now();
        lost.read();
        times[2].push(begin.elapsed());
    }
    for times in times.iter_mut().filter(|times| !times.is_empty()) {
        times.sort();
        println!("median {:?}, ninth decile {:?}", times[25], times[45]);
        assert!(times[25] < 500 * MS / 1000, "{times:?}");
    }
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
    let text = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).unwrap();
    Duration::from_nanos(text.split(' ').nth(1).unwrap().parse().unwrap())
}

#[test]
fn pauses_of_everything_are_lost_time() {
    let _turn = alone();
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
    println!("lost {lost:?} of {paused:?}, the control {quiet:?}, waited {main:?} and {gaps:?}");
    assert!(lost + gaps > paused.mul_f64(0.7), "lost {lost:?} of {paused:?}, waited {gaps:?}");
    assert!(lost < paused + 2 * quiet + main + 100 * MS, "lost {lost:?} of {paused:?}, {quiet:?}, {main:?}");
}

#[test]
fn waiting_for_a_core_is_lost_time_unless_the_server_has_it() {
    let _turn = alone();
    let core = rustix::thread::sched_getcpu();
    let pin = move || {
        let mut set = rustix::thread::CpuSet::new();
        set.set(core);
        rustix::thread::sched_setaffinity(None, &set).unwrap();
    };
    let (sender, receiver) = std::sync::mpsc::channel();
    let generator = thread::spawn(move || {
        pin();
        sender.send(rustix::thread::gettid().as_raw_pid() as u32).unwrap();
        burn(200 * MS);
    });
    let tid = receiver.recv().unwrap();
    let (mut lost, mut shared) = (LostTime::attach(&[tid], &[]), LostTime::attach(&[tid], &[core]));
    let rival = thread::spawn(move || {
        pin();
        burn(200 * MS);
    });
    thread::sleep(200 * MS);
    let (lost, shared) = (lost.read(), shared.read());
    generator.join().unwrap();
    rival.join().unwrap();
    assert!(lost > 40 * MS && lost > 2 * shared, "{lost:?}, and {shared:?} with the server on this core");
}
