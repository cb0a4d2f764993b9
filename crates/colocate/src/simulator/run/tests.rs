use super::*;
use crate::policy::choice::Choice;
use crate::simulator::preset;
use crate::simulator::search::{ALLOWED, alone, best_static};
use crate::simulator::{Load, Trouble};

pub(super) fn server(job: Job, load: Load, seconds: u64, policy: Choice) -> Scenario {
    let (machine, service, objective) = preset::server();
    Scenario {
        machine,
        service,
        objective,
        job,
        turns: None,
        load,
        seconds,
        policy,
        missing: 0.01,
        knows_load: true,
        trouble: Trouble::default(),
        seed: 3,
    }
}

fn run(scenario: &Scenario) -> Outcome {
    simulate(scenario, |_| {})
}

/// The cycle of published tables: at 6,000 requests a second jobs get one core more every five seconds until memory bandwidth
/// is used up, the latency is far beyond the objective, jobs end, and begin again.
#[test]
fn the_prototype_goes_in_circles_with_memory_jobs_and_graded_does_not() {
    let scenario = server(Job::MEMORY, Load::Constant(0.6), 600, Choice::Prototype);
    let cycles = run(&scenario);
    assert!(cycles.emergencies >= 6, "{cycles:?}");
    let most = cycles.series.iter().map(|second| second.cores).fold(0.0, f64::max);
    assert!(most >= 6.0, "{most}");
    let graded = run(&Scenario { policy: Choice::Graded, ..scenario });
    assert!(
        2 * graded.emergencies <= cycles.emergencies && graded.bad_seconds < cycles.bad_seconds / 4,
        "{graded:?} {cycles:?}"
    );
    assert!(graded.be_rate > cycles.be_rate, "{} {}", graded.be_rate, cycles.be_rate);
}

#[test]
fn graded_protects_the_service_in_every_cell_and_does_nearly_what_the_best_static_setting_does() {
    for job in [Job::CPU, Job::CACHE, Job::MEMORY] {
        for load in [0.2, 0.4, 0.6, 0.8] {
            let scenario = server(job, Load::Constant(load), 300, Choice::Graded);
            let (graded, alone) = (run(&scenario), alone(&scenario));
            let best = best_static(&scenario, &alone);
            let bad = graded.bad_share();
            assert!(bad <= alone.bad_share() + ALLOWED, "{job:?} {load}: {bad} {graded:?}");
            assert!(graded.emu >= 0.9 * best.emu, "{job:?} {load}: {} of {} ({})", graded.emu, best.emu, best.policy);
        }
    }
}

#[test]
fn a_step_of_the_load_shrinks_within_a_quarter_of_a_second_and_is_over_in_one() {
    let load = Load::Steps { low: 0.2, high: 0.8, period: 30.0 };
    let scenario = server(Job::MEMORY, load, 300, Choice::Graded);
    let mut shrunk = Vec::new();
    let mut before = 0.0;
    simulate(&scenario, |record| {
        let since = record.now % 60.0 - 30.0;
        if since < 0.0 {
            before = record.decision.allotment.cores;
        } else if record.decision.allotment.cores < before {
            shrunk.push(since);
            before = 0.0;
        }
    });
    assert!(shrunk[0] <= 0.25, "{shrunk:?}");
    // Bad seconds of 300 steps by the time since the step.
    let mut bad = [0; 30];
    for seed in 0..60 {
        let outcome = run(&Scenario { seed, ..scenario });
        for step in [30, 90, 150, 210, 270] {
            for (since, second) in outcome.series[step..step + 30].iter().enumerate() {
                bad[since] += u64::from(second.is_bad(scenario.objective));
            }
        }
    }
    // That of the step itself at some, and where the allotment after a freeze is still too much.
    let (after, all) = (bad[1], bad.iter().sum::<u64>());
    assert!(after <= 3 && all <= 250, "of 9,000 seconds, by the time since the step: {bad:?}");
}

#[test]
fn without_reports_there_is_no_growth() {
    let scenario = Scenario { missing: 1.0, ..server(Job::CPU, Load::Constant(0.2), 60, Choice::Graded) };
    for policy in [Choice::Graded, Choice::Heracles(1.0), Choice::Prototype] {
        let outcome = run(&Scenario { policy, ..scenario });
        let most = outcome.series.iter().map(|second| second.cores).fold(0.0, f64::max);
        assert!(most <= scenario.bounds().floor + 1e-9 && outcome.frozen_seconds > 56.0, "{policy} {most}");
    }
}

#[test]
fn equal_seeds_give_equal_runs() {
    let scenario = server(Job::CACHE, Load::Day, 120, Choice::Graded);
    assert_eq!(run(&scenario), run(&scenario));
    assert_ne!(run(&scenario).slow + run(&scenario).requests, run(&Scenario { seed: 4, ..scenario }).requests);
}
