//! The cores of a process tree, set for a while and given back.
//!
//! Invariant: dropped, every thread that was moved has the cores that it had, and one that began meanwhile has those of the thread
//! of its process that was moved first, or else of the first of all. A process that is killed gives nothing back.

use crate::affinity::{listed, set_of};
use crate::proc;
use crate::process::Tree;
use rustix::io::Errno;
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};
use std::collections::BTreeMap;

/// Times that the threads are listed until each listed one has been moved: others may begin meanwhile, on the old cores.
const PASSES: usize = 8;

#[derive(Debug)]
pub struct Placement {
    cores: Vec<usize>,
    tree: Tree,
    /// Of each thread that was elsewhere, by process and thread.
    before: BTreeMap<(u32, u32), CpuSet>,
    first: CpuSet,
}

impl Placement {
    /// Moves these processes and their descendants to the cores.
    ///
    /// # Errors
    /// A process is gone or belongs to another user, or may not run on one of the cores.
    pub fn set(roots: &[u32], cores: &[usize]) -> Result<Self, String> {
        let tree = Tree::new(roots)?;
        let pid = *roots.first().ok_or("no process was given")?;
        let first = affinity_of(pid).map_err(|error| format!("the cores of process {pid} cannot be read: {error}"))?;
        let mut placement = Self { cores: cores.to_vec(), tree, before: BTreeMap::new(), first };
        placement.move_all()?;
        Ok(placement)
    }

    /// Moves these processes too, such as the successors of some that ended.
    pub fn add(&mut self, roots: &[u32]) -> Result<(), String> {
        self.tree.add(roots);
        self.move_all()
    }

    /// The cores that the first thread could use before.
    pub fn before(&self) -> Vec<usize> {
        listed(&self.first)
    }

    pub fn cores(&self) -> &[usize] {
        &self.cores
    }

    fn move_all(&mut self) -> Result<(), String> {
        let wanted = set_of(&self.cores);
        for _ in 0..PASSES {
            self.tree.refresh();
            let mut moved = false;
            for (pid, tid) in self.threads() {
                moved |= self.move_one(pid, tid, &wanted)?;
            }
            if !moved {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether the thread was on other cores.
    fn move_one(&mut self, pid: u32, tid: u32, wanted: &CpuSet) -> Result<bool, String> {
        let place = || -> rustix::io::Result<(CpuSet, bool)> {
            let before = affinity_of(tid)?;
            if before == *wanted {
                return Ok((before, false));
            }
            sched_setaffinity(thread(tid), wanted)?;
            Ok((before, affinity_of(tid)? != *wanted))
        };
        let cores = brunt_results::Cores(self.cores.clone());
        let (before, is_elsewhere) = match place() {
            Ok(placed) => placed,
            // It has ended.
            Err(Errno::SRCH) => return Ok(false),
            Err(Errno::PERM) => {
                return Err(format!("process {pid} belongs to another user: run as that user or as root"));
            }
            Err(Errno::INVAL) => return Err(format!("process {pid} may not run on core {cores}")),
            Err(error) => return Err(format!("process {pid} cannot be moved to core {cores}: {error}")),
        };
        if is_elsewhere {
            // The kernel leaves out cores that the control group of the process does not have.
            let _ = sched_setaffinity(thread(tid), &before);
            return Err(format!("process {pid} may not run on all of cores {cores}"));
        }
        let was_elsewhere = before != *wanted;
        if was_elsewhere {
            self.before.entry((pid, tid)).or_insert(before);
        }
        Ok(was_elsewhere)
    }

    fn threads(&self) -> Vec<(u32, u32)> {
        let of = |pid: u32| proc::threads_of(pid).into_iter().map(move |tid| (pid, tid));
        self.tree.pids().into_iter().flat_map(of).collect()
    }

    /// What a thread is to have again: its own cores, or those of its process, or of the first.
    fn back(&self, pid: u32, tid: u32) -> CpuSet {
        let of_process = || self.before.range((pid, 0)..=(pid, u32::MAX)).next().map(|(_, found)| found);
        *self.before.get(&(pid, tid)).or_else(of_process).unwrap_or(&self.first)
    }
}

impl Drop for Placement {
    fn drop(&mut self) {
        let placed = set_of(&self.cores);
        self.tree.refresh();
        for (pid, tid) in self.threads() {
            // One that has chosen other cores meanwhile keeps them.
            if affinity_of(tid).is_ok_and(|now| now == placed) {
                let _ = sched_setaffinity(thread(tid), &self.back(pid, tid));
            }
        }
    }
}

fn thread(tid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(tid).ok()?)
}

fn affinity_of(tid: u32) -> rustix::io::Result<CpuSet> {
    // None would be the calling thread.
    sched_getaffinity(Some(thread(tid).ok_or(Errno::SRCH)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity;
    use std::sync::mpsc;
    use std::thread as threads;

    /// On its own thread; ends once the sender is dropped.
    fn idle(cores: Vec<usize>) -> (u32, mpsc::Sender<()>, threads::JoinHandle<()>) {
        let (told, tid) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let handle = threads::spawn(move || {
            affinity::pin(&cores).unwrap();
            told.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            let _ = ended.recv();
        });
        (tid.recv().unwrap(), end, handle)
    }

    fn cores_of(tid: u32) -> Vec<usize> {
        listed(&affinity_of(tid).unwrap())
    }

    #[test]
    fn threads_are_moved_and_given_back_each_its_own_cores() {
        let all = affinity::allowed().unwrap();
        let [first, second] = [all[0], *all.last().unwrap()];
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let before = cores_of(child.id());
        let placement = Placement::set(&[child.id()], &[second]).unwrap();
        assert_eq!((cores_of(child.id()), placement.before()), (vec![second], before.clone()));
        drop(placement);
        assert_eq!(cores_of(child.id()), before);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(Placement::set(&[child.id()], &[first]).is_err());

        // Threads of one process, on cores of their own.
        let one = idle(vec![first]);
        let two = idle(all.clone());
        let mut placement = Placement {
            cores: vec![second],
            tree: Tree::new(&[std::process::id()]).unwrap(),
            before: BTreeMap::new(),
            first: set_of(&all),
        };
        let pid = std::process::id();
        for tid in [one.0, two.0] {
            placement.move_one(pid, tid, &set_of(&[second])).unwrap();
        }
        assert_eq!([cores_of(one.0), cores_of(two.0)], [vec![second], vec![second]]);
        for (tid, back) in [(one.0, vec![first]), (two.0, all.clone())] {
            assert_eq!(listed(&placement.back(pid, tid)), back);
        }
        // One that is none of those moved has the cores of its process, and without such the first.
        placement.before.clear();
        assert_eq!(listed(&placement.back(pid, one.0)), all);
        for (tid, set) in [(one.0, vec![first]), (two.0, all)] {
            sched_setaffinity(thread(tid), &set_of(&set)).unwrap();
        }
        placement.cores = Vec::new();
        drop(placement);
        for (_, end, handle) in [one, two] {
            drop(end);
            handle.join().unwrap();
        }
    }

    #[test]
    fn cores_that_do_not_exist_are_refused_and_nothing_is_moved() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let before = cores_of(child.id());
        let all = affinity::allowed().unwrap();
        for cores in [vec![1000], vec![all[0], 1000]] {
            let error = Placement::set(&[child.id()], &cores).unwrap_err();
            assert!(error.contains(&child.id().to_string()) && error.contains("1000"), "{error}");
            assert_eq!(cores_of(child.id()), before);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
