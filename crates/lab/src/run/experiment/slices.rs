//! Loads whose targets take turns by slices: a start of one, and as many more as its comparison takes.

use super::Runner;
use super::time_left::TimeLeft;
use crate::clock;
use crate::run::sliced::{Enough, SlicedStart, time_of_starts};
use crate::run::trial::{TrialRunner, TrialStatus};
use crate::run::{Event, Request, TrialProgress};
use crate::run_directory::RunDirectory;
use crate::schedule::{Cell, OVERHEAD, Schedule, ScheduledTrial};
use crate::slices::Generator;
use brunt_results::Error;
use brunt_slices::record;

/// Time that a run still takes, after the starts that its directory has.
pub(super) fn time_left(request: &Request, schedule: &Schedule, run_dir: &RunDirectory) -> Result<TimeLeft, Error> {
    let budget = schedule.budget.unwrap_or(request.plan.slicing.budget.0);
    let mut time = TimeLeft::new(budget, schedule.repeats);
    for (_, load) in schedule.todo(|trial| trial.repeat > 1) {
        let cells: Vec<&Cell> = load.iter().map(|trial| schedule.cell(*trial)).collect();
        let (combination, beside) =
            (cells[0].combination(), cells.iter().map(|cell| cell.settings.warmup.0 + OVERHEAD));
        let file = run_dir.slices(combination);
        let mut slices = if file.exists() { record::read(&file).map_err(Error::Failed)? } else { Vec::new() };
        slices.retain(|slice| cells.iter().all(|cell| run_dir.is_done(cell.id(), slice.start)));
        time.add(combination, beside.sum(), &time_of_starts(&slices));
    }
    Ok(time)
}

impl<'a> Runner<'a> {
    /// Starts the targets of each load again until its comparison is precise or its budget used; false if the user stopped the
    /// run.
    pub(super) fn add_starts(&mut self) -> Result<bool, Error> {
        let mut loads: Vec<&[ScheduledTrial]> =
            self.schedule.todo(|trial| trial.repeat > 1).into_iter().map(|(_, load)| load).collect();
        loop {
            let mut unfinished = Vec::new();
            for load in loads {
                match self.next_start(load)? {
                    Some(repeat) => unfinished.push((load, repeat)),
                    None => self.finish(load),
                }
            }
            if unfinished.is_empty() {
                return Ok(true);
            }
            for (load, repeat) in &unfinished {
                let start: Vec<ScheduledTrial> =
                    load.iter().map(|trial| ScheduledTrial { repeat: *repeat, ..*trial }).collect();
                let first = self.record_start(&start)?;
                self.total = self.total.max(first + start.len());
                if !self.run_next(&[(first, &start)])? {
                    return Ok(false);
                }
            }
            loads = unfinished.into_iter().map(|(load, _)| load).collect();
        }
    }

    fn finish(&mut self, load: &[ScheduledTrial]) {
        let combination = self.schedule.cell(load[0]).combination();
        self.time_left.iter_mut().for_each(|time| time.finish(combination));
    }

    /// The number of the next start of a load; `None` if it has enough of them, or the last one has failed.
    fn next_start(&self, load: &[ScheduledTrial]) -> Result<Option<u32>, Error> {
        let cells: Vec<&Cell> = load.iter().map(|trial| self.schedule.cell(*trial)).collect();
        let done = |cell: &Cell| self.run_dir.repeats(cell.id()).last().copied().unwrap_or_default();
        let last = cells.iter().map(|cell| done(cell)).max().unwrap_or_default();
        if !cells.iter().all(|cell| self.run_dir.is_done(cell.id(), last)) {
            return Ok(None);
        }
        let mut slices = record::read(&self.run_dir.slices(cells[0].combination())).map_err(Error::Failed)?;
        slices.retain(|slice| slice.start <= last);
        Ok((!self.enough(&cells).of_starts(&slices)).then_some(last + 1))
    }

    /// Adds a start to `experiment.json`; returns the position of its first trial.
    fn record_start(&self, start: &[ScheduledTrial]) -> Result<usize, Error> {
        let Some(mut experiment) = self.run_dir.experiment()? else { return Ok(self.total) };
        let names = start.iter().map(|trial| self.schedule.name(*trial));
        // An interrupted start is there already.
        let first = experiment.order.iter().position(|name| *name == self.schedule.name(start[0]));
        let first = first.unwrap_or(experiment.order.len());
        let new: Vec<String> = names.filter(|name| !experiment.order.contains(name)).collect();
        experiment.order.extend(new);
        experiment.repeats = experiment.repeats.max(start[0].repeat);
        self.run_dir.begin(&experiment, &self.request.plan_text)?;
        Ok(first)
    }

    /// When a load has enough rounds and starts.
    fn enough(&self, cells: &[&Cell]) -> Enough<'a> {
        let plan = &self.request.plan;
        Enough::new(plan, self.schedule.budget.unwrap_or(plan.slicing.budget.0), self.schedule.repeats, cells)
    }

    /// Runs the trials of one start of a load by slices and returns how each ended.
    pub(super) fn run_slices(
        &mut self,
        generator: &dyn Generator,
        first: usize,
        start: &[ScheduledTrial],
        progress: &dyn Fn(usize) -> TrialProgress<'a>,
    ) -> Result<Vec<TrialStatus>, Error> {
        let (schedule, request) = (self.schedule, self.request);
        let (repeat, load) = (start[0].repeat, schedule.cell(start[0]).combination());
        let (mut statuses, mut groups) = (Vec::new(), Vec::new());
        for trial in self.specs(first, start) {
            let failed = self.fail_unbuilt(&trial)?;
            if failed.is_none() {
                groups.push(self.group(vec![trial], repeat));
            }
            statuses.push(failed);
        }
        if groups.is_empty() {
            return Ok(statuses.into_iter().flatten().collect());
        }
        let enough = self.enough(&start.iter().map(|trial| schedule.cell(*trial)).collect::<Vec<_>>());
        let runner = TrialRunner { request, registry: &self.registry, stop: self.stop };
        let sliced = SlicedStart {
            runner: &runner,
            generator,
            groups,
            file: self.run_dir.slices(load),
            enough: &enough,
            regime: self.regime.as_ref(),
        };
        let observer = &mut self.observer;
        let begun = clock::now();
        let (ran, slices) = self.starts.slices(&sliced, &mut |activity| {
            observer.on_event(&Event::TrialRunning { trial: progress(0), activity });
        })?;
        self.time_left.iter_mut().for_each(|time| time.observe(load, clock::since(begun), slices));
        let mut ran = ran.into_iter();
        Ok(statuses.into_iter().filter_map(|status| status.or_else(|| ran.next())).collect())
    }
}
