//! What is read between two slices: of the machine, and of each target. All values are cumulative.

#[cfg(any(test, feature = "sim"))]
use crate::clock::given;
use brunt_meter::search::{Found, Search};
use brunt_meter::slice::{IrqTime, Lost, LostTime, ServerCpu};
use brunt_meter::{Placement, Scope, affinity, proc_net};
use std::time::Duration;

/// Of the machine. Where a test gives the time, it gives these too.
pub(super) enum MachineAccount {
    Kernel(Box<(LostTime, IrqTime)>),
    #[cfg(any(test, feature = "sim"))]
    Given,
}

impl MachineAccount {
    /// `threads` make the load; `cores` are those of the targets.
    pub(super) fn attach(threads: &[u32], cores: &[usize]) -> Self {
        #[cfg(any(test, feature = "sim"))]
        if given::account().is_some() {
            return Self::Given;
        }
        Self::Kernel(Box::new((LostTime::attach(threads, cores), IrqTime::attach(cores))))
    }

    #[cfg(any(test, feature = "sim"))]
    fn given() -> given::Account {
        given::account().unwrap_or_default()
    }

    /// Time that it, or a target on the cores of the generator, took from the slices.
    pub(super) fn lost(&mut self) -> Lost {
        match self {
            Self::Kernel(kernel) => kernel.0.read(),
            #[cfg(any(test, feature = "sim"))]
            Self::Given => Lost { paused: Self::given().lost, ..Lost::default() },
        }
    }

    /// Whether the generator may run on one of these cores.
    pub(super) fn is_on(&self, cores: &[usize]) -> bool {
        match self {
            Self::Kernel(kernel) => kernel.0.is_on(cores),
            #[cfg(any(test, feature = "sim"))]
            Self::Given => false,
        }
    }

    /// Interrupt time of the targets' cores, as far as threads are billed without it.
    pub(super) fn interrupts(&mut self) -> Duration {
        match self {
            Self::Kernel(kernel) => kernel.1.read(),
            #[cfg(any(test, feature = "sim"))]
            Self::Given => Self::given().interrupts.unwrap_or_default(),
        }
    }

    /// Whether threads are billed without interrupts.
    pub(super) fn has_interrupts_apart(&self) -> bool {
        match self {
            Self::Kernel(kernel) => kernel.1.is_apart(),
            #[cfg(any(test, feature = "sim"))]
            Self::Given => Self::given().interrupts.is_some(),
        }
    }

    /// Connections accepted in this network namespace.
    pub(super) fn accepted(&self) -> Option<u64> {
        match self {
            Self::Kernel(_) => proc_net::accepted(),
            #[cfg(any(test, feature = "sim"))]
            Self::Given => Self::given().accepted,
        }
    }
}

/// Of a target.
pub trait TargetAccount {
    /// CPU time; `None` if no process of it is left. Read while it has no requests.
    fn cpu(&mut self) -> Option<Duration>;

    /// What reads it, in words.
    fn source(&self) -> String;

    /// Whether the interrupt time of the cores of this machine's targets is to be added.
    fn leaves_out_interrupts(&self) -> bool;

    /// Resident memory at the last read, in bytes.
    fn rss_bytes(&self) -> u64;

    /// The cores that it may use; empty if they are not known.
    fn cores(&self) -> Vec<usize> {
        Vec::new()
    }

    /// CPU time of what listens alone, where something stands behind it.
    fn front_cpu(&mut self) -> Option<Duration> {
        None
    }

    /// Begins to look for what stands behind it.
    fn begin_search(&mut self) {}

    /// What was found until now, and no longer looked for; `None` if it was not looked for.
    fn end_search(&mut self) -> Option<Found> {
        None
    }

    /// Meters this too from now on.
    fn follow(&mut self, _: Found) {}

    /// What it follows.
    fn found(&self) -> Option<&Found> {
        None
    }
}

/// The account of a server and, once it has had load, of what stands behind it.
struct Service {
    pids: Vec<u32>,
    scope: Scope,
    cpu: ServerCpu,
    /// Of `pids` alone, where something stands behind them.
    front: Option<ServerCpu>,
    found: Found,
    search: Option<Search>,
    /// While it is on cores that it did not choose.
    placement: Option<Placement>,
}

impl TargetAccount for Service {
    fn cpu(&mut self) -> Option<Duration> {
        self.cpu.read()
    }

    fn source(&self) -> String {
        self.cpu.source().to_string()
    }

    fn leaves_out_interrupts(&self) -> bool {
        self.cpu.source().leaves_out_interrupts()
    }

    fn rss_bytes(&self) -> u64 {
        self.cpu.rss_bytes()
    }

    fn cores(&self) -> Vec<usize> {
        affinity::of_processes(&self.cpu.pids())
    }

    fn front_cpu(&mut self) -> Option<Duration> {
        self.front.as_mut()?.read()
    }

    fn begin_search(&mut self) {
        self.search = Some(Search::begin(self.cpu.pids(), self.scope.clone()));
    }

    fn end_search(&mut self) -> Option<Found> {
        self.search.take().map(Search::end)
    }

    fn follow(&mut self, found: Found) {
        let roots: Vec<u32> = self.pids.iter().chain(&found.roots).copied().collect();
        // One that has ended meanwhile is none of it.
        if let Some(cpu) = ServerCpu::attach_all(&roots).ok().filter(|_| !found.roots.is_empty()) {
            self.cpu = cpu;
            self.front = ServerCpu::attach_all(&self.pids).ok();
        }
        // One that cannot be moved stays where it is, which its cores show.
        let _ = self.placement.as_mut().map(|placement| placement.add(&found.roots));
        self.found = found;
    }

    fn found(&self) -> Option<&Found> {
        Some(&self.found)
    }
}

/// The account of a process, its descendants and what stands behind them; `None` if they cannot be metered.
pub fn of_process(pid: u32) -> Option<Box<dyn TargetAccount>> {
    of_server(vec![pid], Scope::default(), None)
}

/// The same of a server of these processes, with this part of what stands behind it. Where the server was moved, what is found behind
/// it is moved too.
pub fn of_server(pids: Vec<u32>, scope: Scope, placement: Option<Placement>) -> Option<Box<dyn TargetAccount>> {
    Some(Box::new(Service {
        cpu: ServerCpu::attach_all(&pids).ok()?,
        front: None,
        pids,
        scope,
        found: Found::default(),
        search: None,
        placement,
    }))
}
