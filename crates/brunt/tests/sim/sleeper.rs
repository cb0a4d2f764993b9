//! A worker that only sleeps: when its sleeps end is known.

use brunt_runtime::sim::World;
use brunt_runtime::{Builder, time};
use std::{cell::Cell, rc::Rc, time::Duration};

/// What ends a sleep: a turn, which costs at most half as much again, and readings of the clock.
const LATEST: Duration = Duration::from_nanos(1400);

pub struct Sleeper {
    /// How late a sleep ended, at most; `None` if one ended early.
    late: Rc<Cell<Option<Duration>>>,
}

impl Sleeper {
    /// Sleeps for times from a microsecond to 16 ms, drawn from the world.
    pub fn spawn(world: &World) -> Self {
        let late = Rc::new(Cell::new(Some(Duration::ZERO)));
        let mut number = world.random();
        let latest = late.clone();
        let sleeps = async move {
            loop {
                number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1);
                // As many of each order of magnitude.
                let time = Duration::from_nanos((1000 << ((number >> 40) % 11)) * (1 + (number >> 32) % 16));
                let end = time::now() + time;
                time::sleep_until(end).await;
                let after = time::now().checked_duration_since(end);
                latest.set(latest.get().zip(after).map(|(latest, after)| latest.max(after)));
            }
        };
        world.spawn_worker(&Builder::default(), sleeps).unwrap();
        Self { late }
    }

    pub fn holds(&self) {
        let late = self.late.get();
        assert!(late.is_some_and(|late| late <= LATEST), "a sleep of a worker that only sleeps ended late by {late:?}");
    }
}
