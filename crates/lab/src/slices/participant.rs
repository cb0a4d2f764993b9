//! A target that takes part in rounds, and what it does while it idles: it is frozen if it would use CPU time then.

use super::Loader;
use super::account::TargetAccount;
use crate::clock;
use crate::system::freezer::Freezer;
use brunt_results::env::Idle;
use std::time::Duration;

/// Time for which targets that use CPU time while others have the load are watched without any.
pub(super) const IDLE: Duration = Duration::from_millis(50);

/// A target that is up, with what loads it.
pub struct Participant<'a> {
    pub name: String,
    pub loader: Box<dyn Loader + 'a>,
    /// The process that serves it, which may be that of another target too.
    pub process: Option<u32>,
    /// `None` for a target that is not on this machine.
    pub server: Option<Box<dyn TargetAccount + 'a>>,
    /// Makes what stops its processes, if it may be frozen between its slices.
    pub freezable: Option<Freezable>,
}

impl Participant<'_> {
    /// Whether one process serves both, as it does two paths.
    pub fn is_one_server_with(&self, other: &Participant) -> bool {
        self.process.is_some() && self.process == other.process
    }
}

/// `None` if the processes cannot be frozen.
pub type Freezable = Box<dyn Fn() -> Option<Box<dyn Freeze>>>;

/// Stops the processes of a target for a while. Dropped, it thaws them.
pub trait Freeze {
    /// Returns once none of them can run.
    fn freeze(&mut self) -> Result<(), String>;

    fn thaw(&mut self);

    /// For a note under a table.
    fn method(&self) -> &'static str;
}

impl Freeze for Freezer {
    fn freeze(&mut self) -> Result<(), String> {
        Self::freeze(self)
    }

    fn thaw(&mut self) {
        Self::thaw(self);
    }

    fn method(&self) -> &'static str {
        Self::method(self)
    }
}

/// Freezes a process group.
pub fn process_group(group: u32) -> Freezable {
    Box::new(move || Some(Box::new(Freezer::new(group).ok()?)))
}

/// A participant, frozen while it idles if it would use CPU time then.
pub(super) struct Taking<'a> {
    pub(super) participant: Participant<'a>,
    freezer: Option<Box<dyn Freeze>>,
    /// CPU time and length of the time in which others were warmed up.
    idled: (Duration, Duration),
    /// Before it was frozen; `None` if it is the only target or not metered.
    pub(super) idle: Option<Idle>,
    /// It may run on cores of the generator.
    pub(super) is_beside: bool,
    /// It works while others have the load and rests while none has, as the backend of a proxy does.
    pub(super) is_shared: bool,
    /// Why its CPU time is not known, if a part of its service cannot be metered.
    pub(super) unseen: Option<String>,
}

impl<'a> Taking<'a> {
    pub(super) fn new(participant: Participant<'a>) -> Self {
        let (freezer, idle, unseen) = (None, None, None);
        Self { participant, freezer, idled: Default::default(), idle, is_beside: false, is_shared: false, unseen }
    }

    /// It used so much CPU time while others were warmed up for `time`.
    pub(super) fn idles(&mut self, cpu: Duration, time: Duration) {
        self.idled.0 += cpu;
        self.idled.1 += time;
    }

    pub(super) fn cpu(&mut self) -> Option<Duration> {
        self.participant.server.as_mut()?.cpu()
    }

    /// While others were warmed up.
    pub(super) fn idled(&self) -> Option<Idle> {
        Idle::of(self.idled.0, self.idled.1)
    }

    /// It used so much CPU time in `time`, in which no target had any load. What it used more while others had some is work for them.
    pub(super) fn rests(&mut self, cpu: Duration, time: Duration) {
        let (Some(idled), Some(rest)) = (self.idled(), Idle::of(cpu, time)) else { return };
        self.is_shared = idled.burns() && rest.cpu_percent < idled.cpu_percent / 2.0;
        if self.is_shared {
            self.idled = (cpu, time);
        }
    }

    /// Freezes the target if it has used CPU time while it idled.
    pub(super) fn freeze_if_it_burns(&mut self) -> Result<(), String> {
        self.idle = self.idled();
        let burns = self.idle.as_ref().is_some_and(Idle::burns);
        self.freezer = self.participant.freezable.as_ref().filter(|_| burns).and_then(|freezable| freezable());
        self.freeze()
    }

    /// Measures what a frozen target does without load while all others idle: together, those that spin share the cores.
    pub(super) fn idle_alone(&mut self) -> Result<(), String> {
        let (Some(freezer), Some(server)) = (&mut self.freezer, &mut self.participant.server) else { return Ok(()) };
        let before = server.cpu();
        freezer.thaw();
        let at = clock::now();
        clock::sleep(IDLE);
        // The CPU time of a frozen thread is exact.
        freezer.freeze()?;
        let time = clock::since(at);
        let cpu = server.cpu().zip(before).map(|(now, before)| now.saturating_sub(before));
        let frozen_by = Some(freezer.method().to_owned());
        self.idle = cpu.and_then(|cpu| Idle::of(cpu, time)).map(|idle| Idle { frozen_by, ..idle });
        Ok(())
    }

    /// Freezes it, if it is one to be frozen.
    pub(super) fn freeze(&mut self) -> Result<(), String> {
        self.freezer.as_mut().map_or(Ok(()), |freezer| freezer.freeze())
    }

    pub(super) fn thaw(&mut self) {
        self.freezer.iter_mut().for_each(|freezer| freezer.thaw());
    }
}
