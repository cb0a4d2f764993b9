//! Jobs of a cluster: those that wait, those that run on each machine, and what has become of the others.

use super::scheduler::{Placement, Report};
use crate::simulator::chance::Chance;
use std::collections::VecDeque;

/// Share of a core below which a job gets too little, and the seconds after which it is placed anew.
const STARVED: f64 = 0.2;
const PATIENCE: f64 = 60.0;

#[derive(Debug, Clone, Copy)]
struct Job {
    arrived: u64,
    /// Seconds of a core.
    work: f64,
    left: f64,
    starved: f64,
}

#[derive(Debug)]
pub(super) struct Jobs {
    waiting: VecDeque<Job>,
    /// By machine.
    running: Vec<Vec<Job>>,
    /// Most jobs of a machine.
    slots: usize,
    slowdowns: Vec<f64>,
    finished: f64,
    pub(super) evicted: u64,
    /// Work of evicted jobs.
    pub(super) wasted: f64,
}

impl Jobs {
    pub(super) fn new(machines: usize, slots: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            running: vec![Vec::new(); machines],
            slots,
            slowdowns: Vec::new(),
            finished: 0.0,
            evicted: 0,
            wasted: 0.0,
        }
    }

    pub(super) fn arrive(&mut self, now: u64, work: f64) {
        self.waiting.push_back(Job { arrived: now, work, left: work, starved: 0.0 });
    }

    /// Takes jobs that have got too little for too long from their machines.
    pub(super) fn evict(&mut self) {
        for running in &mut self.running {
            // The newest has the least to lose.
            let newest = running.iter().rposition(|job| job.starved >= PATIENCE);
            if let Some(job) = newest.map(|index| running.remove(index)) {
                self.evicted += 1;
                self.wasted += job.work - job.left;
                self.waiting.push_front(Job { left: job.work, starved: 0.0, ..job });
                running.iter_mut().for_each(|job| job.starved = 0.0);
            }
        }
    }

    /// Places as many waiting jobs as possible, the oldest first.
    pub(super) fn place(&mut self, reports: &[Report], placement: Placement, chance: &mut Chance) {
        while let Some(job) = self.waiting.front() {
            let counts: Vec<usize> = self.running.iter().map(Vec::len).collect();
            let Some(machine) = placement.machine(reports, &counts, self.slots, chance) else { break };
            self.running[machine].push(*job);
            self.waiting.pop_front();
        }
    }

    pub(super) fn running(&self, machine: usize) -> usize {
        self.running[machine].len()
    }

    /// Shares work that a machine did in so many seconds among its jobs.
    pub(super) fn work(&mut self, machine: usize, done: f64, seconds: f64, now: u64) {
        let running = &mut self.running[machine];
        let share = done / running.len().max(1) as f64;
        for job in running.iter_mut() {
            job.left -= share;
            job.starved = if share < STARVED * seconds { job.starved + seconds } else { 0.0 };
        }
        let (finished, slowdowns) = (&mut self.finished, &mut self.slowdowns);
        running.retain(|job| {
            if job.left <= 0.0 {
                *finished += job.work;
                slowdowns.push((now - job.arrived) as f64 / job.work.max(seconds));
            }
            job.left > 0.0
        });
    }

    pub(super) fn done(&self) -> u64 {
        self.slowdowns.len() as u64
    }

    /// Work that was not in vain, that of jobs which still run included.
    pub(super) fn useful(&self) -> f64 {
        self.finished + self.running.iter().flatten().map(|job| job.work - job.left).sum::<f64>()
    }

    pub(super) fn slowdown(&self, quantile: f64) -> f64 {
        let mut sorted = self.slowdowns.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let index = (quantile * sorted.len() as f64) as usize;
        sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    }
}
