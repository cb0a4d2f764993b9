//! Other processes of the machine, by the CPU time that they used between two looks, with children that began and ended in between.

use crate::everyone::Everyone;
use crate::proc;

/// Share of a core, in percent, below which a process is left out.
const LEAST_PERCENT: f64 = 1.0;

#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    pub name: String,
    /// Of a core.
    pub cpu_percent: f64,
}

/// The busiest processes since `before`, at most `most`. Leaves out `ours` and what descends from them, and threads of the kernel.
pub fn busiest(before: &Everyone, ours: &[u32], most: usize) -> Vec<Neighbour> {
    let now = Everyone::take();
    let elapsed = now.at.duration_since(before.at).as_nanos().max(1) as f64;
    // Threads of the kernel work for other processes, which are to be named instead.
    let is_left_out = |pid: u32| now.lineage(pid).any(|pid| pid == proc::KTHREADD || ours.contains(&pid));
    let percents = before.used_by(&now).into_iter().map(|(pid, used)| (pid, used.nanos as f64 / elapsed * 100.0));
    let mut busy: Vec<(u32, f64)> =
        percents.filter(|(pid, percent)| *percent >= LEAST_PERCENT && !is_left_out(*pid)).collect();
    busy.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let named =
        busy.into_iter().filter_map(|(pid, cpu_percent)| Some(Neighbour { name: proc::name_of(pid)?, cpu_percent }));
    named.take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn a_busy_process_is_named_unless_it_is_ours() {
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let before = Everyone::take();
        let begun = std::time::Instant::now();
        brunt_testkit::until("it has used half a second of CPU time, and a tenth of all", || {
            let used = crate::process::cpu_of(busy.id()).unwrap();
            used >= Duration::from_millis(500) && used.mul_f64(10.0) > begun.elapsed()
        });
        let others = busiest(&before, &[], 1000);
        let without = busiest(&before, &[std::process::id()], 1000);
        busy.kill().and_then(|()| busy.wait()).unwrap();
        let most_of = |all: &[Neighbour]| {
            all.iter().filter(|one| one.name == "sh").map(|one| one.cpu_percent).fold(0.0, f64::max)
        };
        assert!(most_of(&others) > 5.0, "{others:?}");
        assert!(without.len() < others.len(), "{without:?} {others:?}");
        assert!(others.windows(2).all(|pair| pair[0].cpu_percent >= pair[1].cpu_percent), "{others:?}");
        assert!(busiest(&before, &[], 1).len() <= 1);
    }
}
