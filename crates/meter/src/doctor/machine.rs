//! Checks of processors, clock and interference.

use super::{Facts, Finding, State};
use crate::cpu_interference::CpuInterference;

/// Acceptable steal time, in percent; more shows in percentiles.
const STEAL_PERCENT: f64 = 1.0;
/// Processors that other programs may keep busy.
const BUSY_CORES: f64 = 0.1;
/// Time that a busy core may lose, in percent: more affects p99.9, ten times as much p99.
const LOST_PERCENT: f64 = 0.1;
/// Time that the machine may take from a spinning thread, in percent.
const TAKEN_PERCENT: f64 = 1.0;
const QUOTA_EFFECT: &str = "the kernel stops this cgroup for the rest of each period: pauses of up to 100 ms that the server \
                            does not cause";
/// Clock sources that are read without a system call.
const FAST_CLOCKS: [&str; 5] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase"];

pub(super) fn examine(facts: &Facts) -> Vec<Finding> {
    let processors = [cores(facts), quota(facts), clock(facts), governor(facts), smt(facts)];
    let others = [steal(facts), busy(facts), lost(facts), cpu_time(facts), counters(facts)];
    processors.into_iter().chain(others).collect()
}

fn cores(facts: &Facts) -> Finding {
    let subject = "processors";
    let allowed: Option<brunt_results::Cores> = facts.env.cpus_allowed.as_deref().and_then(|list| list.parse().ok());
    match allowed.map(|cores| cores.count()) {
        None => Finding::unknown(subject, "no list of allowed processors", "server and generator may share a core"),
        Some(1) => Finding::good(subject, "one processor")
            .but(State::Bad, "server and generator share it: every latency contains the generator's work")
            .remedy("taskset -c 0-1 brunt ... (or a machine with two)"),
        Some(count) => {
            let model = facts.env.cpu.as_deref().unwrap_or("unknown model");
            Finding::good(subject, format!("{count} of {model}"))
        }
    }
}

fn quota(facts: &Facts) -> Finding {
    match facts.quota_cores {
        None => Finding::good("CPU quota", "none"),
        Some(cores) => Finding::good("CPU quota", format!("{cores:.2} processors"))
            .but(State::Bad, QUOTA_EFFECT)
            .remedy("run outside of the group, or give the container no --cpus limit and pin it with --cpuset-cpus"),
    }
}

fn clock(facts: &Facts) -> Finding {
    let subject = "clock";
    match facts.env.clock_source.as_deref() {
        None => Finding::unknown(subject, "unknown", "a slow clock would cost a microsecond per reading"),
        Some(name) if FAST_CLOCKS.contains(&name) => Finding::good(subject, name),
        Some(name) => Finding::good(subject, name)
            .but(
                State::Bad,
                "each reading is a system call of about a microsecond, in the generator and in many servers",
            )
            .remedy("echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"),
    }
}

fn governor(facts: &Facts) -> Finding {
    let subject = "frequency governor";
    match facts.env.governor.as_deref() {
        None => Finding::unknown(
            subject,
            "not visible here, as on most virtual machines",
            "the host may change frequency unseen: compare only what ran interleaved in one experiment",
        ),
        Some("performance") => Finding::good(subject, "performance"),
        Some(name) => Finding::good(subject, name)
            .but(
                State::Warn,
                "a lightly loaded server runs on a slower core: latency at low rates depends on the governor",
            )
            .remedy("cpupower frequency-set -g performance"),
    }
}

fn smt(facts: &Facts) -> Finding {
    let subject = "hyper-threads";
    match facts.env.smt.as_deref() {
        None => Finding::unknown(subject, "unknown", "two processors may be one core"),
        Some("on") => Finding::good(subject, "on")
            .but(State::Warn, "server and generator on two threads of one core slow each other down")
            .remedy("pin them to different cores (lscpu -e), or: echo off > /sys/devices/system/cpu/smt/control"),
        Some(other) => Finding::good(subject, other),
    }
}

fn steal(facts: &Facts) -> Finding {
    let subject = "stolen time";
    match facts.steal_percent {
        None => Finding::unknown(subject, "not counted", "a hypervisor's other guests would go unnoticed"),
        Some(percent) if percent <= STEAL_PERCENT => Finding::good(subject, format!("{percent:.1} %")),
        Some(percent) => Finding::good(subject, format!("{percent:.1} % of all processors"))
            .but(State::Bad, "the hypervisor runs other guests in between: results will be `disturbed`")
            .remedy("wait for a quieter time, or use a dedicated machine"),
    }
}

fn busy(facts: &Facts) -> Finding {
    let subject = "other processes";
    match facts.busy_cores {
        None => Finding::unknown(subject, "not counted", "other programs may share the cores"),
        Some(cores) if cores <= BUSY_CORES => Finding::good(subject, format!("{cores:.2} processors busy")),
        Some(cores) => Finding::good(subject, format!("{cores:.2} processors busy"))
            .but(State::Warn, "other programs take time from server or generator")
            .remedy("top -b -n1 -o %CPU | head -15, and stop what is not needed"),
    }
}

fn lost(facts: &Facts) -> Finding {
    let subject = "lost time";
    let Some((alone, together)) = facts.lost else {
        return Finding::unknown(subject, "not measured", "pauses of the machine would be attributed to the server");
    };
    let ms = |lost: CpuInterference| lost.longest.as_secs_f64() * 1e3;
    let evidence = format!(
        "{:.2} % of a busy core, up to {:.1} ms at once; with all cores busy {:.2} %, up to {:.1} ms",
        alone.percent,
        ms(alone),
        together.percent,
        ms(together)
    );
    let worst = alone.percent.max(together.percent);
    let state = match worst {
        ..=LOST_PERCENT => return Finding::good(subject, evidence),
        _ if worst <= 10.0 * LOST_PERCENT => State::Warn,
        _ => State::Bad,
    };
    let below = 100.0 - worst;
    let consequence = format!("latencies above p{below:.1} are pauses of the machine, not of server or generator");
    let remedy = match together.percent > 2.0 * alone.percent {
        true => "leave processors idle (a lower rate, fewer threads): the host does not give all of them at once",
        false => "stop other programs (top -b -n1 -o %CPU | head -15), or use a dedicated machine",
    };
    Finding::good(subject, evidence).but(state, consequence).remedy(remedy)
}

fn cpu_time(facts: &Facts) -> Finding {
    let subject = "CPU time";
    let Some(regime) = &facts.regime else {
        return Finding::unknown(
            subject,
            "not measured",
            "CPU time may contain pauses of the machine, or leave out interrupts",
        );
    };
    let tick = regime.tick_ms.map_or(String::new(), |tick| format!("; updated every {tick:.0} ms while a thread runs"));
    let finding = Finding::good(subject, format!("{regime}{tick}"));
    let taken = regime.billed_percent().max(regime.unbilled_percent);
    if taken <= TAKEN_PERCENT {
        return finding;
    }
    finding
        .but(
            State::Warn,
            "CPU time a request changes with what the machine takes: compare only slices of one experiment",
        )
        .remedy("stop other programs (top -b -n1 -o %CPU | head -15), or use a dedicated machine")
}

fn counters(facts: &Facts) -> Finding {
    let subject = "hardware counters";
    match &facts.counters_missing {
        None => Finding::good(subject, "instructions are counted"),
        Some(why) => {
            let finding =
                Finding::good(subject, why).but(State::Warn, "no instructions or cycles per request in results");
            match facts.setting("kernel.perf_event_paranoid") {
                Some(3..100) => finding.remedy("sysctl -w kernel.perf_event_paranoid=1"),
                _ => finding,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::regime::Regime;

    fn state(change: impl FnOnce(&mut Facts), judge: fn(&Facts) -> Finding) -> State {
        let mut facts = Facts::default();
        change(&mut facts);
        judge(&facts).state
    }

    #[test]
    fn each_check_distinguishes_good_bad_and_unread_values() {
        for (bad, good, judge) in [
            ("0", "0-1", cores as fn(&Facts) -> Finding),
            ("acpi_pm", "tsc", clock),
            ("powersave", "performance", governor),
            ("on", "notsupported", smt),
        ] {
            let set = |value: &'static str| {
                move |facts: &mut Facts| {
                    let env = &mut facts.env;
                    let value = Some(value.to_owned());
                    (env.cpus_allowed, env.clock_source) = (value.clone(), value.clone());
                    (env.governor, env.smt) = (value.clone(), value);
                }
            };
            assert!(state(set(bad), judge) >= State::Warn, "{bad}");
            assert_eq!(state(set(good), judge), State::Good, "{good}");
            assert_eq!(state(|_| (), judge), State::Unknown, "{good} unread");
        }
        assert_eq!(state(|facts| facts.quota_cores = Some(1.5), quota), State::Bad);
        assert_eq!(state(|_| (), quota), State::Good);
        assert_eq!(state(|facts| facts.steal_percent = Some(3.0), steal), State::Bad);
        assert_eq!(state(|facts| facts.steal_percent = Some(0.2), steal), State::Good);
        assert_eq!(state(|facts| facts.busy_cores = Some(0.8), busy), State::Warn);
        assert_eq!(state(|facts| facts.busy_cores = Some(0.01), busy), State::Good);
        let loses = |percent| CpuInterference { percent, ..Default::default() };
        assert_eq!(state(|facts| facts.lost = Some((loses(0.02), loses(3.0))), lost), State::Bad);
        assert_eq!(state(|facts| facts.lost = Some((loses(0.3), loses(0.2))), lost), State::Warn);
        assert_eq!(state(|facts| facts.lost = Some((loses(0.02), loses(0.05))), lost), State::Good);
        assert_eq!(state(|_| (), lost), State::Unknown);
        let takes =
            |lost_percent, unbilled_percent| Some(Regime { lost_percent, unbilled_percent, ..Regime::default() });
        assert_eq!(state(|facts| facts.regime = takes(0.3, 0.0), cpu_time), State::Good);
        assert_eq!(state(|facts| facts.regime = takes(3.0, 0.1), cpu_time), State::Warn);
        assert_eq!(state(|facts| facts.regime = takes(3.0, 3.0), cpu_time), State::Warn);
        assert_eq!(state(|_| (), cpu_time), State::Unknown);
        assert_eq!(state(|facts| facts.counters_missing = Some("no".to_owned()), counters), State::Warn);
    }
}
