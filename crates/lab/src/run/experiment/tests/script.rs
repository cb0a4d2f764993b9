//! Starts without processes, that take the time that a script says.

use super::super::*;
use crate::clock::given::{Given, Machine as _, Still};
use crate::plan::read;
use crate::run::sliced::SlicedStart;
use crate::run::trial::Tick;
use crate::schedule::Machine;
use crate::slices::{ConnectionSet, Generator};
use crate::testers::Tester;
use brunt_results::RunResult;
use brunt_slices::Slice;
use std::io::Write;
use std::{cell::Cell, fs::File, io, rc::Rc};
use tempfile::TempDir;

/// What starts do; they are counted from 1.
#[derive(Clone, Copy)]
pub struct Script<'a> {
    /// Time of a start beside its load or slices.
    pub beside: &'a dyn Fn(&TrialGroup) -> Duration,
    /// This one is interrupted by the user at its begin.
    pub interrupt: Option<u32>,
    /// This one fails at its end.
    pub fails: Option<u32>,
    /// Rate of the second target in a start by slices, to that of the first.
    pub ratio: &'a dyn Fn(u32) -> f64,
}

impl Default for Script<'_> {
    fn default() -> Self {
        Self { beside: &|_| Duration::ZERO, interrupt: None, fails: None, ratio: &|_| 1.0 }
    }
}

/// A plan with its directory.
pub struct Scene {
    home: TempDir,
    request: Request,
}

#[derive(Debug)]
struct NoLoad;

impl Generator for NoLoad {
    fn open(&self, _: &[String]) -> Result<Box<dyn ConnectionSet>, String> {
        unreachable!("the script makes the slices")
    }
}

impl Scene {
    pub fn new(text: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let request = Request {
            plan: read("p.toml", text).unwrap_or_else(|fault| panic!("{fault}")),
            plan_text: text.to_owned(),
            base: home.path().to_owned(),
            out: home.path().join("out"),
            fresh: false,
            tester: Tester { program: "sh".into(), lead: Vec::new(), grace: Duration::ZERO },
            generator: Some(Rc::new(NoLoad)),
            brunt: "brunt".into(),
            fleet: None,
            command: Vec::new(),
        };
        Self { home, request }
    }

    /// Runs it on a machine with two cores; returns what was told of it, in order.
    pub fn run(&self, script: &Script) -> (Summary, Vec<String>) {
        assert!(self.home.path().exists());
        let machine = Machine { cores: vec![0, 1], open_files: 1 << 20 };
        let mut schedule = Schedule::new(&self.request.plan, &machine, &BTreeMap::new(), &[]).unwrap();
        schedule.budget = self.request.is_sliced().then_some(self.request.plan.slicing.budget.0);
        let (still, stop) = (Rc::new(Still::default()), AtomicBool::new(false));
        let _given = Given::begin(still.clone());
        let starts = Scripted { script, machine: &still, stop: &stop, number: Cell::new(0) };
        let mut told = Told { machine: &still, lines: Vec::new() };
        let summary = run_by(&starts, &self.request, &schedule, &mut told, &stop).unwrap();
        (summary, told.lines)
    }
}

/// A line for each event.
struct Told<'a> {
    machine: &'a Still,
    lines: Vec<String>,
}

impl Observer for Told<'_> {
    fn on_event(&mut self, event: &Event<'_>) {
        let (trial, what) = match event {
            Event::TrialStarted(trial) => (trial, "begins".to_owned()),
            Event::TrialRunning { trial, activity } => (trial, (*activity).to_owned()),
            Event::TrialFinished { trial, status, took } => {
                let how = match status {
                    TrialStatus::Done(_) => "done",
                    TrialStatus::Failed(_) => "failed",
                    TrialStatus::Interrupted => "interrupted",
                };
                (trial, format!("{how} in {:.1} s", took.as_secs_f64()))
            }
            _ => return,
        };
        let TrialProgress { number, total, cell, repeat, left, .. } = trial;
        let (now, left) = (self.machine.time().as_secs_f64(), left.as_secs_f64());
        let target = &cell.target;
        self.lines.push(format!("{now:.1} s: {number}/{total} {target} {repeat} {what}, {left:.1} s left"));
    }
}

struct Scripted<'a> {
    script: &'a Script<'a>,
    machine: &'a Still,
    stop: &'a AtomicBool,
    number: Cell<u32>,
}

impl Scripted<'_> {
    /// Whether the next start is interrupted.
    fn interrupts(&self) -> bool {
        self.number.set(self.number.get() + 1);
        let interrupts = self.script.interrupt == Some(self.number.get());
        self.stop.fetch_or(interrupts, Ordering::Relaxed);
        interrupts
    }

    /// How the trial of a start ends.
    fn end(&self, trial: &TrialSpec) -> io::Result<TrialStatus> {
        let directory = Directory::create(&trial.dir)?;
        if self.script.fails == Some(self.number.get()) {
            let failure = Failure { why: "as the script says".to_owned(), log: Vec::new() };
            directory.write_json("failed.json", &failure)?;
            return Ok(TrialStatus::Failed(failure));
        }
        let result = RunResult::new("script");
        directory.write_result(&result)?;
        Ok(TrialStatus::Done(Box::new(result)))
    }
}

impl Starts for Scripted<'_> {
    fn trials(&self, _: &TrialRunner, group: &TrialGroup, tick: &mut Tick) -> io::Result<Vec<TrialStatus>> {
        if self.interrupts() {
            return Ok(group.trials.iter().map(|_| TrialStatus::Interrupted).collect());
        }
        self.machine.pass((self.script.beside)(group));
        let mut ends = Vec::new();
        for (index, trial) in group.trials.iter().enumerate() {
            tick(index, "load");
            self.machine.pass(trial.cell.load_time());
            ends.push(self.end(trial)?);
        }
        Ok(ends)
    }

    /// Ten rounds of 200 ms.
    fn slices(&self, start: &SlicedStart, tick: &mut dyn FnMut(&str)) -> io::Result<(Vec<TrialStatus>, Duration)> {
        if self.interrupts() {
            return Ok((start.groups.iter().map(|_| TrialStatus::Interrupted).collect(), Duration::ZERO));
        }
        self.machine.pass((self.script.beside)(&start.groups[0]));
        std::fs::create_dir_all(start.file.parent().unwrap())?;
        let mut file = File::options().create(true).append(true).open(&start.file)?;
        let number = start.groups[0].repeat;
        for round in 1..=10 {
            for group in &start.groups {
                let rate = if group.target.name == "b" { (self.script.ratio)(number) } else { 1.0 };
                let at_us = 200_000 * u64::from(round - 1);
                let completed = (10_000.0 * rate) as u64;
                let slice = Slice {
                    start: number,
                    round,
                    target: group.target.name.clone(),
                    at_us,
                    window_us: 200_000,
                    busy_us: 200_000,
                    completed,
                    replies: completed,
                    server_cpu_us: Some(100_000.0),
                    ..Slice::default()
                };
                file.write_all(&slice.line())?;
            }
            self.machine.pass(Duration::from_millis(200));
            tick("rounds");
        }
        let ends = start.groups.iter().map(|group| self.end(&group.trials[0])).collect::<io::Result<Vec<_>>>()?;
        Ok((ends, Duration::from_secs(2)))
    }

    fn regime(&self, _: usize) -> Option<Regime> {
        None
    }
}
