//! Accounts of the kernel: time of all cores, CPU time of this program and its descendants, waits of a thread for a core.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

/// Of the accounts in `/proc`: USER_HZ is 100 on every platform that Linux is built for here.
const TICK: Duration = Duration::from_millis(10);

/// Sums since the machine began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Machine {
    cores: u32,
    /// Of all cores, in ticks.
    busy: u64,
    stolen: u64,
    /// Of this program, its descendants, and those that these waited for, in ticks.
    own: u64,
}

impl Machine {
    pub fn now() -> Self {
        let mut machine = of_cores(&fs::read_to_string("/proc/stat").expect("/proc/stat"));
        machine.own = of_family(std::process::id(), &processes());
        machine
    }

    /// Stolen time of a core as a mean, and CPU time of programs that are no descendants of this one.
    pub fn since(&self, before: &Self) -> (Duration, Duration) {
        let ticks = |ticks: u64| TICK * u32::try_from(ticks).unwrap_or(u32::MAX);
        let stolen = ticks(self.stolen.saturating_sub(before.stolen)) / self.cores.max(1);
        // A descendant that has become an orphan takes its past with it.
        let own = self.own.saturating_sub(before.own);
        (stolen, ticks(self.busy.saturating_sub(before.busy).saturating_sub(own)))
    }
}

/// From `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
fn of_cores(stat: &str) -> Machine {
    let mut lines = stat.lines();
    let all = lines.next().unwrap_or_default().split_whitespace().skip(1);
    let all: Vec<u64> = all.map_while(|field| field.parse().ok()).collect();
    let field = |at: usize| all.get(at).copied().unwrap_or_default();
    let cores = lines.take_while(|line| line.starts_with("cpu")).count() as u32;
    let busy = [0, 1, 2, 5, 6].into_iter().map(field).sum();
    Machine { cores, busy, stolen: field(7), own: 0 }
}

/// A process: its parent, and ticks of CPU time of its own and of children that it waited for.
type Processes = HashMap<u32, (u32, u64)>;

fn processes() -> Processes {
    let numbers = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter_map(|pid: u32| Some((pid, of_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?)))
        .collect()
}

/// From `/proc/PID/stat`; the name in brackets may hold anything.
fn of_stat(stat: &str) -> Option<(u32, u64)> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11..15)?.iter().map(|field| field.parse::<u64>());
    Some((fields.get(1)?.parse().ok()?, ticks.sum::<Result<u64, _>>().ok()?))
}

/// Ticks of a process and all its descendants.
fn of_family(root: u32, all: &Processes) -> u64 {
    let belongs = |pid: u32| {
        // Bounded, as the list is not read at one instant.
        let line = std::iter::successors(Some(pid), |pid| all.get(pid).map(|(parent, _)| *parent));
        line.take(all.len() + 1).any(|pid| pid == root)
    };
    all.iter().filter(|(pid, _)| belongs(**pid)).map(|(_, (_, ticks))| ticks).sum()
}

/// CPU time of a process that has not been waited for.
#[cfg(test)]
pub fn cpu_of(pid: u32) -> Option<Duration> {
    let (_, ticks) = of_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?;
    Some(TICK * u32::try_from(ticks).ok()?)
}

/// How long the calling thread has waited for a core, since it began; nothing on a kernel without this account.
pub fn waited() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').nth(1).and_then(|wait| wait.parse().ok()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_parsed_and_subtracted() {
        let before = of_cores(
            "cpu  10 1 5 900 7 2 3 40 0 0\ncpu0 5 0 2 450 3 1 1 20 0 0\ncpu1 5 1 3 450 4 1 2 20 0 0\nintr 1 2\n",
        );
        assert_eq!(before, Machine { cores: 2, busy: 21, stolen: 40, own: 0 });
        let now = Machine { busy: 51, stolen: 46, own: 10, ..before };
        assert_eq!(now.since(&before), (Duration::from_millis(30), Duration::from_millis(200)));
        assert_eq!(Machine { own: 99, ..now }.since(&before).1, Duration::ZERO);
    }

    #[test]
    fn a_family_is_all_that_descends() {
        assert_eq!(of_stat("7 (a) b) R 3 7 7 0 -1 0 0 0 0 0 11 12 13 14 20 0"), Some((3, 50)));
        assert_eq!(of_stat("7 (a) R 3"), None);
        // 2 and 3 are children of 1, 4 is one of 3; 6 and 7 seem to be parents of each other.
        let all = Processes::from([
            (1, (0, 1)),
            (2, (1, 10)),
            (3, (1, 100)),
            (4, (3, 1000)),
            (5, (0, 7)),
            (6, (7, 7)),
            (7, (6, 7)),
        ]);
        assert_eq!((of_family(1, &all), of_family(3, &all), of_family(9, &all)), (1111, 1100, 0));
        assert!(processes()[&std::process::id()].0 > 0);
    }
}
