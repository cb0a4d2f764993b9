//! Whether a target spins: uses a core without work for it. Its CPU time a request is the core's time then, not a cost.

use std::time::Duration;

/// Share of one core above which a target without work spins.
const SPINS: f64 = 0.9;
/// Share of one core above which a target that idles disturbs the others.
const BURNS: f64 = 0.005;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polling {
    /// Also while it has no requests.
    Always,
    /// While requests come, and parks later.
    Serving,
}

/// CPU time of one target while it has nothing, or little, to do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Polls {
    idle: Share,
    light: Share,
}

#[derive(Debug, Clone, Copy, Default)]
struct Share {
    cpu: Duration,
    wall: Duration,
}

impl Share {
    fn add(&mut self, cpu: Duration, wall: Duration) {
        self.cpu += cpu;
        self.wall += wall;
    }

    fn get(self) -> Option<f64> {
        (self.wall > Duration::ZERO).then(|| self.cpu.as_secs_f64() / self.wall.as_secs_f64())
    }
}

impl Polls {
    /// Adds a slice of another target.
    pub fn add_idle(&mut self, cpu: Duration, wall: Duration) {
        self.idle.add(cpu, wall);
    }

    /// Adds a slice of a load that leaves the target's cores idle for part of the time.
    pub fn add_light(&mut self, cpu: Duration, wall: Duration) {
        self.light.add(cpu, wall);
    }

    /// CPU time while it idles, in percent of one core.
    pub fn idle_percent(&self) -> Option<f64> {
        self.idle.get().map(|share| share * 100.0)
    }

    /// Whether it disturbs the slices of others and is to be frozen meanwhile.
    pub fn burns(&self) -> bool {
        self.idle.get().is_some_and(|share| share > BURNS)
    }

    pub fn polling(&self) -> Option<Polling> {
        let spins = |share: Share| share.get().is_some_and(|share| share > SPINS);
        if spins(self.idle) {
            return Some(Polling::Always);
        }
        spins(self.light).then_some(Polling::Serving)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spinning_is_told_from_idling_and_from_work() {
        let ms = Duration::from_millis;
        let mut polls = Polls::default();
        assert_eq!((polls.idle_percent(), polls.burns(), polls.polling()), (None, false, None));
        polls.add_idle(Duration::from_micros(100), ms(100));
        assert_eq!((polls.burns(), polls.polling()), (false, None));
        polls.add_light(ms(97), ms(100));
        assert_eq!((polls.burns(), polls.polling()), (false, Some(Polling::Serving)));
        polls.add_idle(ms(1), ms(100));
        assert!(polls.burns() && polls.idle_percent().unwrap() < 0.6);
        polls.add_idle(ms(9999), ms(10_000));
        assert_eq!(polls.polling(), Some(Polling::Always));
    }
}
