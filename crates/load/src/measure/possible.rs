//! What can follow on what a thread of another process has reported. The collector takes differences of these times and advances
//! schedules to them, which what does not follow would make endless.

use super::interval::{Interval, Phase, Usage};

/// What was taken of a thread so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before {
    /// The first number that the next interval can have.
    next: u32,
    usage: Usage,
}

impl Before {
    /// Whether it can be the next interval of the thread in a load that begins at `start` and is over at `latest`, in nanoseconds of
    /// the run's clock. If so, it is the last one from then on.
    pub fn is_followed_by(&mut self, interval: &Interval, [start, latest]: [u64; 2]) -> bool {
        let Interval { number, phase, end_ns, usage_start, usage_end, .. } = interval;
        let is_possible = *number >= self.next
            && (*phase == Phase::Connect || (start..=latest).contains(end_ns))
            && is_later(usage_start, &self.usage)
            && is_later(usage_end, usage_start)
            && interval.pieces.as_ref().is_none_or(|pieces| pieces.service.is_part_of(&interval.service));
        if is_possible {
            *self = Self { next: number.saturating_add(1), usage: *usage_end };
        }
        is_possible
    }
}

fn is_later(usage: &Usage, before: &Usage) -> bool {
    usage.at_ns >= before.at_ns && usage.cpu_ns >= before.cpu_ns && usage.spin_ns >= before.spin_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_follow_each_other() {
        let usage = |at_ns| Usage { at_ns, cpu_ns: at_ns / 2, spin_ns: 0 };
        let interval = |number: u32, from: u64, to: u64| Interval {
            number,
            phase: Phase::Window,
            start_ns: from,
            end_ns: to,
            usage_start: usage(from),
            usage_end: usage(to),
            ..Interval::default()
        };
        let mut before = Before::default();
        let mut follows = |interval: &Interval| before.is_followed_by(interval, [100, 900]);
        assert!(follows(&Interval { phase: Phase::Connect, ..interval(0, 10, 20) }));
        assert!(follows(&interval(1, 100, 200)));
        let other = [
            interval(1, 200, 300),
            interval(2, 200, 901),
            interval(2, 150, 300),
            Interval { usage_end: usage(199), ..interval(2, 200, 300) },
            Interval { end_ns: 99, ..interval(2, 200, 300) },
        ];
        assert!(!other.iter().any(&mut follows));
        assert!(follows(&interval(2, 200, 300)));
    }
}
