//! Drives the workers of a world: the one that is next in virtual time goes on, and time moves when none can.
//!
//! Invariants:
//! - Events of a time come before the turns of that time; turns of one time in the order of the workers.
//! - A worker runs a whole turn: it takes completions, runs tasks, submits. Workers on cores of their own overlap in virtual
//!   time: what one costs delays no other.
//! - Never waits in real time.

use super::root::{self, Root};
use super::stopped::Stopped;
use crate::executor::Worker;
use crate::executor::worker::Rest;
use crate::sim_kernel::clock::nanos;
use crate::sim_kernel::{Machine, Pace, active};
use crate::task::OnDrop;
use std::pin::{Pin, pin};
use std::{future::Future, rc::Rc, time::Duration};

/// Whose turn it is.
enum Next {
    Event,
    /// With the time at which it goes on.
    Worker(usize, u64),
    Nothing,
}

struct Drive<'a> {
    machine: &'a Machine,
    /// Its world is that of this thread, whose workers the roots are. Otherwise it has ended, and its workers with it.
    is_active: bool,
    roots: Vec<Rc<Root>>,
    /// Index of the first worker's ring, and of the roots' rings.
    rings: Vec<usize>,
    front: &'a Worker,
}

/// Runs a future on a worker of a world.
///
/// # Panics
/// If the run ends otherwise than by the future's end.
pub(crate) fn block_on<F: Future>(worker: &Worker, machine: &Machine, future: F) -> F::Output {
    run(worker, machine, future).unwrap_or_else(|stopped| panic!("{stopped}"))
}

pub(super) fn run<F: Future>(worker: &Worker, machine: &Machine, future: F) -> Result<F::Output, Stopped> {
    let mut output = None;
    {
        let main = pin!(async { output = Some(future.await) });
        drive(machine, worker, main)?;
    }
    Ok(output.expect("the future is done"))
}

/// Runs `future` on `front`, and all roots, until it is done.
fn drive(machine: &Machine, front: &Worker, mut future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), Stopped> {
    assert!(!machine.driven.replace(true), "block_on was called inside block_on of the same world");
    let _driven = OnDrop(|| machine.driven.set(false));
    let ring = front.io().world_ring().expect("the worker is one of a world");
    let is_active = active().is_some_and(|active| std::ptr::eq(&raw const *active, machine));
    let mut drive = Drive { machine, is_active, roots: Vec::new(), rings: vec![ring], front };
    front.scheduler.tasks.wake_main();
    let mut rest = None;
    drive.enter(0);
    loop {
        drive.add_roots();
        drive.look_for_mail();
        match drive.next() {
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
                let now = root.worker.step(root.future.borrow_mut().as_mut(), root.rest.take());
                match &now {
                    Some(now) => drive.end(nth, now),
                    None => drive.retire(nth),
                }
                root.rest.set(now);
            }
            Next::Nothing if drive.poll_real() => (),
            Next::Nothing => return Err(drive.deadlock()),
        }
    }
}

impl Drive<'_> {
    fn worker(&self, nth: usize) -> &Worker {
        if nth == 0 { self.front } else { &self.roots[nth - 1].worker }
    }

    fn add_roots(&mut self) {
        if !self.is_active {
            return;
        }
        let known = self.roots.len();
        root::copy_from(known, &mut self.roots);
        let ring = |root: &Rc<Root>| root.worker.io().world_ring().expect("roots are built in the world");
        self.rings.extend(self.roots[known..].iter().map(ring));
    }

    /// Workers with messages of others in their mailboxes are woken.
    fn look_for_mail(&self) {
        let now = self.machine.clock.elapsed();
        let mut state = self.machine.state.borrow_mut();
        for nth in (0..self.rings.len()).filter(|nth| self.worker(*nth).remote.mailbox.is_pending()) {
            state.rings[self.rings[nth]].wake(now);
        }
    }

    fn next(&self) -> Next {
        let state = self.machine.state.borrow();
        let (event, wake) = (state.next_event(), nanos(state.settings.costs.wake));
        let due = |ring: &usize| state.rings[*ring].due(wake).map(|due| self.machine.clock.after_pauses(due));
        let due = self.rings.iter().enumerate().filter_map(|(nth, ring)| Some((due(ring)?, nth))).min();
        match (event, due) {
            (Some(event), Some((due, _))) if event <= due => Next::Event,
            (Some(_), None) => Next::Event,
            (_, Some((due, nth))) => Next::Worker(nth, due),
            (None, None) => Next::Nothing,
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

    /// The future of that root is done.
    fn retire(&self, nth: usize) {
        self.machine.state.borrow_mut().rings[self.rings[nth]].pace = Pace::Ended;
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
        let has_ended = |nth: &usize| self.machine.state.borrow().rings[self.rings[*nth]].pace == Pace::Ended;
        for nth in (0..self.rings.len()).filter(|nth| !has_ended(nth)) {
            text += &format!("\nworker {nth} waits for:");
            for line in self.worker(nth).pending() {
                text += &format!("\n  {line}");
            }
        }
        Stopped::new(text, self.machine.state.borrow().trace.entries())
    }
}
