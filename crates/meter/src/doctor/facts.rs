//! Values read from the machine, not yet judged.

use crate::counters::{Counters, Event};
use crate::cpu_interference::{self, CpuInterference};
use crate::environment;
use crate::host::HostCpu;
use crate::memory_limit::MemoryLimits;
use crate::process::Tree;
use crate::quota::Quotas;
use crate::regime;
use brunt_results::{env::Env, regime::Regime};
use procfs::Current;
use std::{collections::BTreeMap, fs, thread, time::Duration};

/// `None` where a value could not be read.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Machine, kernel, limits and settings, as in `env.json`.
    pub env: Env,
    /// Memory available without swapping, in bytes.
    pub memory_free_bytes: Option<u64>,
    /// Steal time, in percent of all processors.
    pub steal_percent: Option<f64>,
    /// Processors kept busy while nothing was measured.
    pub busy_cores: Option<f64>,
    /// Time lost by one busy core, and by the worst core with all of them busy.
    pub lost: Option<(CpuInterference, CpuInterference)>,
    /// What CPU time contains, on the last allowed processor.
    pub regime: Option<Regime>,
    /// The lowest CPU quota of this process's control groups and of those above them, in processors.
    pub quota_cores: Option<f64>,
    /// The lowest memory limit of these.
    pub memory_limit_bytes: Option<u64>,
    /// Why hardware counters are unavailable; `None` if they work.
    pub counters_missing: Option<String>,
    pub sysctls: BTreeMap<String, u64>,
}

/// Settings that limit connections and are not in `env.json`.
const SYSCTLS: [&str; 3] = ["fs.file-max", "net.netfilter.nf_conntrack_max", "net.netfilter.nf_conntrack_count"];

impl Facts {
    /// Reads all values; observes the processors for `watch`, several times.
    pub fn read(watch: Duration) -> Self {
        let before = HostCpu::now();
        thread::sleep(watch);
        let cpu = before.zip(HostCpu::now());
        let facts = Self::of_limits();
        let env = &facts.env;
        Self {
            steal_percent: cpu.and_then(|(before, after)| after.steal_percent_since(&before)),
            busy_cores: cpu
                .and_then(|(before, after)| Some(after.busy_share_since(&before)? * env.cpus_online? as f64)),
            lost: lost(env, watch),
            regime: allowed(env).and_then(|cores| regime::measure(*cores.last()?, watch).ok()),
            quota_cores: Quotas::of(std::process::id()).cores(),
            counters_missing: counters_missing(),
            ..facts
        }
    }

    /// Reads the limits on connections only, without observing the processors.
    pub fn of_limits() -> Self {
        let number = |name: &&str| {
            let text = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
            Some(((**name).to_owned(), text.trim().parse().ok()?))
        };
        Self {
            memory_free_bytes: procfs::Meminfo::current().ok().and_then(|info| info.mem_available),
            memory_limit_bytes: MemoryLimits::of(std::process::id()).bytes(),
            sysctls: SYSCTLS.iter().filter_map(number).collect(),
            env: environment::collect(),
            ..Self::default()
        }
    }

    /// The last number of a setting of `env.json`.
    pub(super) fn setting(&self, name: &str) -> Option<u64> {
        self.env.sysctls.get(name)?.split_whitespace().last()?.parse().ok()
    }
}

fn lost(env: &Env, watch: Duration) -> Option<(CpuInterference, CpuInterference)> {
    let all = allowed(env)?;
    Some((cpu_interference::measure(&[*all.last()?], watch).ok()?, cpu_interference::measure(&all, watch).ok()?))
}

fn allowed(env: &Env) -> Option<Vec<usize>> {
    Some(env.cpus_allowed.as_deref()?.parse::<brunt_results::Cores>().ok()?.0)
}

fn counters_missing() -> Option<String> {
    let mut tree = match Tree::new(&[std::process::id()]) {
        Ok(tree) => tree,
        Err(why) => return Some(why),
    };
    let mut counters = Counters::attach_tree(&mut tree, &[Event::InstructionsUser]);
    let first = counters.read();
    counters.read().since(&first, Event::InstructionsUser).err()
}
