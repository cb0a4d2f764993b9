//! Drives the workers of a world: whoever is next in virtual time goes on, and time moves when nobody can.
//!
//! Invariants:
//! - Events of a time come before the turns of that time; turns of one time in the order of the workers.
//! - A worker runs a whole turn: it takes completions, runs tasks, submits. Workers on cores of their own overlap in virtual
//!   time: what one costs delays no other.
//! - Never waits in real time.

use super::clock::nanos;
use super::machine::{Machine, State};
use super::ring_state::Pace;
use super::root::Root;
use super::stopped::Stopped;
use crate::executor::Worker;
use crate::executor::worker::Rest;
use crate::task::OnDrop;
use std::{future::Future, pin::Pin, rc::Rc, time::Duration};

/// Whose turn it is.
enum Next {
    Event,
    /// With the time at which it goes on.
    Worker(usize, u64),
    Nobody,
}

pub(super) struct Drive<'a> {
    machine: &'a Machine,
    roots: Vec<Rc<Root>>,
    /// Index of the first worker's ring, and of the roots' rings.
    rings: Vec<usize>,
    front: &'a Worker,
}

/// Runs `future` on `front`, and all roots, until it is done.
pub(super) fn drive(
    machine: &Machine,
    front: &Worker,
    mut future: Pin<&mut dyn Future<Output = ()>>,
) -> Result<(), Stopped> {
    assert!(!machine.driven.replace(true), "block_on was called inside block_on of the same world");
    let _driven = OnDrop(|| machine.driven.set(false));
    let ring = front.io().world_ring().expect("the worker is one of a world");
    let mut drive = Drive { machine, roots: Vec::new(), rings: vec![ring], front };
    front.scheduler.tasks.wake_main();
    let mut rest = None;
    drive.enter(0);
    loop {
        drive.add_roots();
        let next = drive.next();
        match next {
            Next::Event => {
                let mut state = machine.state.borrow_mut();
                machine.clock.set(state.next_event().expect("it was found"));
                state.happen();
            }
            Next::Worker(0, due) => {
                drive.begin(0, due)?;
                let Some(now) = front.step(future.as_mut(), rest.take()) else {
                    drive.leave(0);
                    return Ok(());
                };
                drive.end(0, &now);
                rest = Some(now);
            }
            Next::Worker(nth, due) => {
                drive.begin(nth, due)?;
                let root = drive.roots[nth - 1].clone();
                let now = root.runtime.worker().step(root.future.borrow_mut().as_mut(), root.rest.take());
                root.done.set(now.is_none());
                now.iter().for_each(|now| drive.end(nth, now));
                root.rest.set(now);
            }
            Next::Nobody if drive.poll_real() => (),
            Next::Nobody => return Err(drive.deadlock()),
        }
    }
}

impl Drive<'_> {
    fn worker(&self, nth: usize) -> &Worker {
        if nth == 0 { self.front } else { self.roots[nth - 1].runtime.worker() }
    }

    fn add_roots(&mut self) {
        let roots = self.machine.roots.borrow();
        for root in &roots[self.roots.len()..] {
            self.rings.push(root.runtime.worker().io().world_ring().expect("roots are built in the world"));
            self.roots.push(root.clone());
        }
    }

    /// The time at which a worker goes on; `None` if it waits without a bound.
    fn due(&self, state: &mut State, nth: usize) -> Option<u64> {
        if nth > 0 && self.roots[nth - 1].done.get() {
            return None;
        }
        let mailbox = &self.worker(nth).remote.mailbox;
        let wake = nanos(state.settings.costs.wake);
        let ring = &mut state.rings[self.rings[nth]];
        if mailbox.is_pending() {
            ring.wake(self.machine.clock.elapsed());
        }
        let due = match ring.pace {
            Pace::Runs => Some(ring.at),
            Pace::Sleeps(until) => {
                let woken = ring.woken.map(|woken| woken.max(ring.at) + wake);
                [woken, until].into_iter().flatten().min()
            }
        };
        due.map(|due| self.machine.clock.after_pauses(due))
    }

    fn next(&self) -> Next {
        let state = &mut *self.machine.state.borrow_mut();
        let due = (0..self.rings.len()).filter_map(|nth| self.due(state, nth).map(|due| (due, nth))).min();
        let event = state.next_event();
        match (event, due) {
            (Some(event), Some((due, _))) if event <= due => Next::Event,
            (Some(_), None) => Next::Event,
            (_, Some((due, nth))) => Next::Worker(nth, due),
            (None, None) => Next::Nobody,
        }
    }

    /// A call of `block_on` begins: its worker's own time is not before now.
    fn enter(&self, nth: usize) {
        let mut state = self.machine.state.borrow_mut();
        let ring = &mut state.rings[self.rings[nth]];
        (ring.at, ring.pace) = (ring.at.max(self.machine.clock.elapsed()), Pace::Runs);
    }

    fn begin(&self, nth: usize, due: u64) -> Result<(), Stopped> {
        self.machine.clock.set(due);
        let mut state = self.machine.state.borrow_mut();
        state.rings[self.rings[nth]].woken = None;
        state.trace.note(due, "turn", nth as u32, 0);
        let turns = self.machine.turns.get() + 1;
        self.machine.turns.set(turns);
        if turns > state.settings.most_turns {
            return Err(Stopped::new(format!("{turns} turns without an end"), state.trace.entries()));
        }
        Ok(())
    }

    fn end(&self, nth: usize, rest: &Rest) {
        let now = self.machine.clock.elapsed();
        let mut state = self.machine.state.borrow_mut();
        let ring = &mut state.rings[self.rings[nth]];
        let runs = rest.timeout == Some(Duration::ZERO) || ring.has_work();
        // Its own completions are counted by `has_work`.
        (ring.at, ring.woken) = (now, None);
        ring.pace = if runs { Pace::Runs } else { Pace::Sleeps(rest.timeout.map(|timeout| now + nanos(timeout))) };
    }

    fn leave(&self, nth: usize) {
        let now = self.machine.clock.elapsed();
        self.machine.state.borrow_mut().rings[self.rings[nth]].at = now;
    }

    fn poll_real(&self) -> bool {
        let now = self.machine.clock.elapsed();
        let mut state = self.machine.state.borrow_mut();
        let ready = self.rings.iter().filter(|ring| state.poll_real(**ring, now)).count();
        ready > 0
    }

    fn deadlock(&self) -> Stopped {
        let mut text = format!(
            "deadlock: after {:?} nothing can run and nothing will happen",
            Duration::from_nanos(self.machine.clock.elapsed())
        );
        for nth in 0..self.rings.len() {
            if nth > 0 && self.roots[nth - 1].done.get() {
                continue;
            }
            text += &format!("\nworker {nth} waits for:");
            for line in self.worker(nth).pending() {
                text += &format!("\n  {line}");
            }
        }
        Stopped::new(text, self.machine.state.borrow().trace.entries())
    }
}
