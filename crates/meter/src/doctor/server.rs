//! Limits under which a running server works: of its control groups and of those above them, and the cores that it may use.

use super::{Finding, State};
use crate::memory_limit::MemoryLimits;
use crate::quota::Quotas;
use crate::{affinity, environment, proc};
use brunt_results::Cores;
use brunt_results::result::{MemoryLimit, Throttled};

/// What limits this process.
pub fn examine_server(pid: u32) -> Vec<Finding> {
    let name = proc::name_of(pid).unwrap_or_default();
    let server = Finding::good("server", format!("{name}, pid {pid}"));
    vec![server, cores(pid), quota(Quotas::so_far(pid).as_ref()), memory(MemoryLimits::so_far(pid).as_ref())]
}

fn cores(pid: u32) -> Finding {
    let (subject, cores) = ("server's cores", affinity::of_processes(&[pid]));
    if cores.is_empty() {
        return Finding::unknown(subject, "they were not read", "the server may share cores with the generator");
    }
    let online =
        environment::collect().cpus_online.map_or(String::new(), |online| format!(", of {online} of the machine"));
    Finding::good(subject, format!("{}{online}", Cores(cores)))
}

fn quota(quota: Option<&Throttled>) -> Finding {
    let subject = "server's CPU quota";
    let Some(Throttled { group, quota_cores, periods, throttled_periods, .. }) = quota else {
        return Finding::good(subject, "none");
    };
    let evidence = format!(
        "{quota_cores:.2} cores of {group}, which stopped it in {throttled_periods} of {periods} periods since the group began"
    );
    Finding::good(subject, evidence)
        .but(
            State::Warn,
            "beyond the quota the server stands still until the period of 100 ms is over: its p99 is the quota's",
        )
        .remedy("raise the quota (cpu.max, cpu.cfs_quota_us, --cpus of a container) before its own speed is measured")
}

fn memory(limit: Option<&MemoryLimit>) -> Finding {
    let subject = "server's memory limit";
    let Some(limit) = limit else { return Finding::good(subject, "none") };
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    let limits = [("memory.high", limit.high_bytes), ("memory.max", limit.max_bytes)];
    let limits: Vec<String> =
        limits.into_iter().filter_map(|(name, bytes)| Some(format!("{name} {}", mib(bytes?)))).collect();
    let MemoryLimit { group, used_bytes, high_events, max_events, killed, .. } = limit;
    let used = used_bytes.map_or(String::new(), |used| format!(", {} used", mib(used)));
    let evidence = format!(
        "{} of {group}{used}; since the group began, reached {} times, {killed} processes killed",
        limits.join(", "),
        high_events + max_events
    );
    let is_reached = high_events + killed > 0;
    Finding::good(subject, evidence).but_if(
        is_reached,
        State::Warn,
        "at the limit the server waits until memory is reclaimed, or is killed",
        "raise it (memory.high, memory.max, memory.limit_in_bytes, --memory of a container)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_with_what_they_did() {
        let throttled = Throttled {
            group: "/g".to_owned(),
            quota_cores: 0.5,
            periods: 10,
            throttled_periods: 4,
            ..Throttled::default()
        };
        let found = quota(Some(&throttled));
        assert_eq!(found.state, State::Warn);
        assert!(found.evidence.starts_with("0.50 cores of /g, which stopped it in 4 of 10 periods"), "{found:?}");
        let reached = |killed| MemoryLimit {
            group: "/g".to_owned(),
            max_bytes: Some(64 << 20),
            used_bytes: Some(32 << 20),
            max_events: 3,
            killed,
            ..MemoryLimit::default()
        };
        let found = memory(Some(&reached(0)));
        let expected =
            "memory.max 64 MiB of /g, 32 MiB used; since the group began, reached 3 times, 0 processes killed";
        assert_eq!((found.state, found.evidence.as_str()), (State::Good, expected));
        assert_eq!(memory(Some(&reached(1))).state, State::Warn);
        assert_eq!([quota(None).evidence, memory(None).evidence], ["none", "none"]);
        let own = examine_server(std::process::id());
        assert_eq!(own.len(), 4);
        assert!(
            own[0].evidence.ends_with(&format!("pid {}", std::process::id())) && own[1].state == State::Good,
            "{own:?}"
        );
    }
}
