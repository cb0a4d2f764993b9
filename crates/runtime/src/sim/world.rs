//! `World`: a simulated machine with its network, in virtual time.

use super::drive::run;
use super::root;
use super::stopped::Stopped;
use crate::sim_kernel::clock::nanos;
use crate::sim_kernel::{self, Entry, Link, Machine, Settings};
use crate::{Builder, Runtime, mm};
use std::net::SocketAddr;
use std::time::Duration;
use std::{fmt, future::Future, io, rc::Rc};

/// See [`World::spawn_worker`].
pub(crate) fn spawn_worker(builder: &Builder, future: impl Future<Output = ()> + 'static) -> io::Result<()> {
    root::add(builder.clone().build()?.into_worker(), future);
    Ok(())
}

/// A simulated machine: its clock, its sockets, its workers. From its creation until its last clone is dropped, every runtime
/// built on this thread is one of its workers.
///
/// ```
/// use brunt_runtime::{net::{TcpListener, TcpStream}, sim::World, spawn, time};
/// use std::time::Duration;
///
/// let world = World::new(7);
/// let start = time::now();
/// let reply = world.run(async {
///     let listener = TcpListener::bind("127.0.0.1:80".parse().unwrap())?;
///     spawn(async move {
///         let mut stream = listener.accept().await.unwrap();
///         let request = stream.recv().await.unwrap();
///         time::sleep(Duration::from_secs(60)).await;
///         stream.send(request).await.unwrap();
///     });
///     let mut client = TcpStream::connect("127.0.0.1:80".parse().unwrap()).await?;
///     client.write_all(b"hello").await?;
///     Ok::<_, std::io::Error>(client.recv().await?.to_vec())
/// });
/// assert_eq!(reply.unwrap().unwrap(), b"hello");
/// assert!(time::now() - start >= Duration::from_secs(60), "of virtual time");
/// ```
#[derive(Clone)]
pub struct World {
    machine: Rc<Machine>,
    _activation: Rc<Activation>,
}

struct Activation;

impl Drop for Activation {
    fn drop(&mut self) {
        root::end_all();
        sim_kernel::deactivate();
    }
}

impl World {
    /// A world with the default settings.
    ///
    /// # Panics
    /// If a world is active on this thread.
    pub fn new(seed: u64) -> Self {
        Self::with_settings(seed, Settings::default())
    }

    /// A world with these settings.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn with_settings(seed: u64, settings: Settings) -> Self {
        mm::kept::begin();
        let machine = Rc::new(Machine::new(seed, settings));
        sim_kernel::activate(machine.clone());
        Self { _activation: Rc::new(Activation), machine }
    }

    /// Runs `future` on a worker of its own, with all workers of [`spawn_worker`](Self::spawn_worker), until it is done; then
    /// drops all workers, and looks for violations.
    ///
    /// # Errors
    /// Nothing can run and nothing will happen; the limit of turns is reached; or the runtime has violated the contract of
    /// the kernel: used memory that it had lent, closed a descriptor with an open request. The text says which, and what
    /// every task waits for.
    pub fn run<F: Future>(&self, future: F) -> Result<F::Output, Stopped> {
        self.run_on(&Runtime::builder(), future)
    }

    /// As [`run`](Self::run), with a runtime of these settings.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_on<F: Future>(&self, builder: &Builder, future: F) -> Result<F::Output, Stopped> {
        let failed = |error: io::Error| Stopped { text: error.to_string() };
        let runtime = builder.clone().build().map_err(failed)?;
        let output = run(runtime.worker(), &self.machine, future);
        drop(runtime);
        root::end_all();
        let output = output?;
        let state = self.machine.state.borrow();
        match &state.violations[..] {
            [] => Ok(output),
            found => Err(Stopped::new(found.join("\n"), state.trace.entries())),
        }
    }

    /// Adds a worker, as a thread with a runtime and a core of its own would be: it runs `future`, and what that spawns, while
    /// [`run`](Self::run) runs.
    ///
    /// # Errors
    /// Memory or descriptors have run out.
    pub fn spawn_worker(&self, builder: &Builder, future: impl Future<Output = ()> + 'static) -> io::Result<()> {
        spawn_worker(builder, future)
    }

    /// Time since the start of the world.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.machine.clock.elapsed())
    }

    /// All workers stand still for `duration` from `at` on, in time since the start: timers fire late, and data piles up.
    pub fn pause(&self, at: Duration, duration: Duration) {
        self.machine.clock.add(nanos(at), nanos(at + duration), 0);
    }

    /// All work of workers costs `factor` times as much for `duration` from `at` on.
    ///
    /// # Panics
    /// If the factor is 0: that is a pause.
    pub fn slow(&self, at: Duration, duration: Duration, factor: u32) {
        assert!(factor > 0, "a factor of 0 is a pause");
        self.machine.clock.add(nanos(at), nanos(at + duration), factor.into());
    }

    /// Changes settings from now on. Window sizes of open connections stay.
    pub fn change(&self, change: impl FnOnce(&mut Settings)) {
        let mut state = self.machine.state.borrow_mut();
        change(&mut state.settings);
        state.links[0].1 = state.settings.link;
        drop(state);
        self.machine.apply_costs();
    }

    /// Sets the link of all connections to that address, also of open ones if it had a link of its own before.
    pub fn set_link(&self, address: SocketAddr, link: Link) {
        let mut state = self.machine.state.borrow_mut();
        match state.links.iter_mut().find(|(of, _)| *of == Some(address)) {
            Some((_, of)) => *of = link,
            None => state.links.push((Some(address), link)),
        }
    }

    /// A number from the world's generator, for choices of the test itself.
    pub fn random(&self) -> u64 {
        self.machine.state.borrow_mut().random.next()
    }

    /// A number below `end` from the world's generator.
    pub fn below(&self, end: u64) -> u64 {
        self.random() % end
    }

    /// One of these, by the world's generator.
    pub fn one_of<T: Copy>(&self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// A digest of everything that has happened, in order and with its time: equal for equal runs.
    pub fn trace_digest(&self) -> u64 {
        self.machine.state.borrow().trace.digest()
    }

    /// How much has happened: entries of the trace.
    pub fn trace_len(&self) -> u64 {
        self.machine.state.borrow().trace.count
    }

    /// Keeps the whole trace from now on, not only its digest and its last entries.
    pub fn record_trace(&self) {
        self.machine.state.borrow_mut().trace.recording = true;
    }

    /// The recorded trace.
    pub fn trace(&self) -> Vec<Entry> {
        self.machine.state.borrow().trace.entries().copied().collect()
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("elapsed", &self.elapsed()).finish_non_exhaustive()
    }
}
