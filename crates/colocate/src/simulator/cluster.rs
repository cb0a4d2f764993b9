//! Many machines, and a scheduler that places jobs on them.
//!
//! Each machine has its own service, at its own time of the day, and its own controller, which knows nothing of the others. A job
//! needs one core for a time; the scheduler sees what machines report of the last minute, and places waiting jobs every ten
//! seconds. A job that gets too little is placed anew, from its beginning.

mod jobs;
mod scheduler;

pub use scheduler::Placement;

use super::chance::Chance;
use super::node::{Node, Second};
use super::scenario::Scenario;
use jobs::Jobs;
use scheduler::Report;
use serde::Serialize;
use std::thread;

/// Time between two rounds of placement, in seconds.
const ROUND: u64 = 10;
const HOUR: u64 = 3600;

#[derive(Debug, Clone, Copy)]
pub struct Cluster {
    /// Of each machine, but for its seed.
    pub machine: Scenario,
    pub machines: usize,
    pub placement: Placement,
    /// Work of the jobs that arrive, as a share of what the machines could do without services.
    pub offered: f64,
    /// Mean work of a job, in seconds of a core.
    pub job_seconds: f64,
}

/// Shares are 0 to 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Outcome {
    pub policy: String,
    pub placement: String,
    /// Load of the services, of their peaks, plus work of jobs that was not in vain, in the mean.
    pub emu: f64,
    /// The same of the lowest hour, with all work.
    pub lowest_emu: f64,
    /// The part of it that is the jobs'.
    pub be_rate: f64,
    pub jobs: u64,
    pub evicted: u64,
    /// Part of the jobs' work that was done in vain.
    pub wasted: f64,
    /// Time from the arrival of a job to its end, as a multiple of its work: the median, and the 95th percentile.
    pub slowdown: f64,
    pub slowdown_p95: f64,
    /// Seconds in which more requests were slow than the objective allows: of all, and of the worst machine.
    pub bad: f64,
    pub worst_bad: f64,
}

/// One machine of the cluster.
#[derive(Debug)]
struct Member {
    node: Node,
    seconds: Vec<Second>,
    bad: u64,
    load: f64,
}

/// Simulates whole rounds.
pub fn simulate(cluster: &Cluster) -> Outcome {
    let mut chance = Chance::new(cluster.machine.seed ^ 0xf1ee7);
    let cores = cluster.machine.machine.cores;
    let member = |number: usize| {
        let seed = cluster.machine.seed.wrapping_add(1 + number as u64);
        let ahead = (24 * HOUR) as f64 * number as f64 / cluster.machines as f64;
        Member { node: Node::new(&Scenario { seed, ..cluster.machine }, ahead), seconds: Vec::new(), bad: 0, load: 0.0 }
    };
    let mut members: Vec<Member> = (0..cluster.machines).map(member).collect();
    let mut jobs = Jobs::new(cluster.machines, cores as usize);
    let capacity = cores * cluster.machines as f64 / (cores * cluster.machine.job.memory_bandwidth).max(1.0);
    let arrivals = cluster.offered * capacity * ROUND as f64 / cluster.job_seconds;
    let (mut hours, mut done): (Vec<(f64, f64)>, f64) = (Vec::new(), 0.0);
    for round in 0..cluster.machine.seconds / ROUND {
        let now = round * ROUND;
        for _ in 0..chance.poisson(arrivals) {
            jobs.arrive(now, chance.exponential(cluster.job_seconds));
        }
        let reports: Vec<Report> = members.iter().map(|member| Report::of(&member.seconds, cores)).collect();
        jobs.evict();
        jobs.place(&reports, cluster.placement, &mut chance);
        let wanted: Vec<f64> = (0..cluster.machines).map(|machine| jobs.running(machine) as f64).collect();
        advance(&mut members, now, &wanted, cluster);
        for (number, member) in members.iter().enumerate() {
            jobs.work(number, member.seconds.iter().map(|second| second.be_work).sum(), ROUND as f64, now + ROUND);
        }
        let load: f64 = members.iter().flat_map(|member| &member.seconds).map(|second| second.load).sum();
        let work = jobs.useful() + jobs.wasted - done;
        done += work;
        if hours.len() as u64 <= now / HOUR {
            hours.push((0.0, 0.0));
        }
        if let Some(hour) = hours.last_mut() {
            let time = (ROUND as usize * cluster.machines) as f64;
            *hour = (hour.0 + load / time + work / (capacity * ROUND as f64), hour.1 + 1.0);
        }
    }
    outcome(cluster, &members, &jobs, &hours, capacity)
}

/// Simulates a round of every machine, on all cores.
fn advance(members: &mut [Member], begin: u64, wanted: &[f64], cluster: &Cluster) {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = members.len().div_ceil(threads).max(1);
    let one = |member: &mut Member, wanted: f64| {
        member.seconds.clear();
        for second in begin..begin + ROUND {
            let done = member.node.second(second, wanted, &mut |_| {});
            member.bad += u64::from(done.is_bad(cluster.machine.objective));
            member.load += done.load;
            member.seconds.push(done);
        }
    };
    thread::scope(|scope| {
        for (members, wanted) in members.chunks_mut(share).zip(wanted.chunks(share)) {
            scope.spawn(move || members.iter_mut().zip(wanted).for_each(|(member, wanted)| one(member, *wanted)));
        }
    });
}

fn outcome(cluster: &Cluster, members: &[Member], jobs: &Jobs, hours: &[(f64, f64)], capacity: f64) -> Outcome {
    let time = (cluster.machine.seconds / ROUND * ROUND).max(1) as f64;
    let load = members.iter().map(|member| member.load).sum::<f64>() / time / cluster.machines.max(1) as f64;
    let be_rate = jobs.useful() / (capacity * time);
    let bad = |member: &Member| member.bad as f64 / time;
    Outcome {
        policy: cluster.machine.policy.to_string(),
        placement: cluster.placement.to_string(),
        emu: load + be_rate,
        lowest_emu: hours.iter().map(|(sum, rounds)| sum / rounds).fold(f64::INFINITY, f64::min),
        be_rate,
        jobs: jobs.done(),
        evicted: jobs.evicted,
        wasted: jobs.wasted / (jobs.wasted + jobs.useful()).max(f64::MIN_POSITIVE),
        slowdown: jobs.slowdown(0.5),
        slowdown_p95: jobs.slowdown(0.95),
        bad: members.iter().map(bad).sum::<f64>() / members.len().max(1) as f64,
        worst_bad: members.iter().map(bad).fold(0.0, f64::max),
    }
}

#[cfg(test)]
mod tests;
