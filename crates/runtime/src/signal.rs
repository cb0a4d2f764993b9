//! Awaiting signals of the process.
//!
//! The handlers only mark a signal; one thread of the process distributes it to every [`Signals`] that named it. Signals
//! that no listener has named keep their default action.

use crate::{affinity, named::named, sync::lock, task::catch_panic, trace::event};
use signal_hook::{consts, iterator, low_level::emulate_default_handler};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::{ffi::c_int, fmt, future::poll_fn, io, thread};

/// A signal that can be awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Signal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: request to terminate.
    Terminate,
    /// SIGHUP: the terminal was closed; for a daemon, reload the configuration.
    Hangup,
    /// SIGQUIT: Ctrl-\.
    Quit,
    /// SIGUSR1: defined by the program.
    User1,
    /// SIGUSR2: defined by the program.
    User2,
    /// SIGCHLD: a child process exited or stopped.
    Child,
    /// SIGWINCH: the terminal was resized.
    Resize,
}

impl Signal {
    /// In the order of declaration.
    const ALL: [(Self, c_int, &str); 8] = [
        (Self::Interrupt, consts::SIGINT, "SIGINT"),
        (Self::Terminate, consts::SIGTERM, "SIGTERM"),
        (Self::Hangup, consts::SIGHUP, "SIGHUP"),
        (Self::Quit, consts::SIGQUIT, "SIGQUIT"),
        (Self::User1, consts::SIGUSR1, "SIGUSR1"),
        (Self::User2, consts::SIGUSR2, "SIGUSR2"),
        (Self::Child, consts::SIGCHLD, "SIGCHLD"),
        (Self::Resize, consts::SIGWINCH, "SIGWINCH"),
    ];

    fn number(self) -> c_int {
        Self::ALL[self as usize].1
    }

    fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Runs the signal's default action, which usually ends the process: for a second Ctrl-C during a graceful shutdown.
    pub fn emulate_default(self) -> io::Result<()> {
        emulate_default_handler(self.number())
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL[*self as usize].2)
    }
}

/// A listener for some signals. Any number of listeners, on any threads, receive the same signal.
///
/// The first listener disables a signal's default action for good, even after all listeners are dropped.
///
/// ```
/// use brunt_runtime::{Runtime, signal::{Signal, Signals}};
///
/// Runtime::new()?.block_on(async {
///     let mut signals = Signals::new(&[Signal::Interrupt, Signal::User1])?;
///     # signal_hook::low_level::raise(signal_hook::consts::SIGUSR1)?;
///     match signals.recv().await {
///         Signal::Interrupt => println!("ending"),
///         other => println!("{other}: ignored"),
///     }
///     std::io::Result::Ok(())
/// })?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Signals {
    listener: Arc<Mutex<Listener>>,
}

impl Signals {
    /// Starts listening.
    ///
    /// # Errors
    /// If the process is out of descriptors or threads.
    pub fn new(signals: &[Signal]) -> io::Result<Self> {
        let wanted = signals.iter().fold(0, |bits, signal| bits | signal.bit());
        let listener = Arc::new(Mutex::new(Listener { wanted, pending: 0, waiter: None }));
        let mut registry = lock(&REGISTRY);
        let handle = registry.thread().map_err(|error| named("cannot listen for signals", error))?;
        registry.listeners.push(listener.clone());
        drop(registry);
        let this = Self { listener };
        for signal in signals {
            let added = handle.add_signal(signal.number());
            added.map_err(|error| named(format!("cannot listen for {signal}"), error))?;
        }
        Ok(this)
    }

    /// The next signal. Several of one kind may be merged, none is lost; kinds come in no particular order. Cancel-safe.
    pub async fn recv(&mut self) -> Signal {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Poll form of `recv`.
    pub fn poll_recv(&mut self, cx: &Context<'_>) -> Poll<Signal> {
        let mut listener = lock(&self.listener);
        if let Some((signal, ..)) = Signal::ALL.into_iter().find(|(signal, ..)| listener.pending & signal.bit() != 0) {
            listener.pending &= !signal.bit();
            return Poll::Ready(signal);
        }
        let before = listener.waiter.replace(cx.waker().clone());
        drop(listener);
        drop(before);
        Poll::Pending
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        lock(&REGISTRY).listeners.retain(|listener| !Arc::ptr_eq(listener, &self.listener));
    }
}

#[derive(Debug)]
struct Listener {
    wanted: u32,
    /// Bits of the signals not yet returned.
    pending: u32,
    waiter: Option<Waker>,
}

/// All listeners of the process.
struct Registry {
    /// Of the distributing thread, once started.
    thread: Option<iterator::Handle>,
    listeners: Vec<Arc<Mutex<Listener>>>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { thread: None, listeners: Vec::new() });

impl Registry {
    /// The handle of the distributing thread, which the first call starts.
    fn thread(&mut self) -> io::Result<iterator::Handle> {
        if let Some(thread) = &self.thread {
            return Ok(thread.clone());
        }
        let mut signals = iterator::Signals::new::<_, c_int>([])?;
        let handle = signals.handle();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            affinity::reset();
            signals.forever().for_each(distribute);
        })?;
        self.thread = Some(handle.clone());
        Ok(handle)
    }
}

/// Passes a signal to its listeners.
fn distribute(number: c_int) {
    let Some((signal, ..)) = Signal::ALL.into_iter().find(|(_, of, _)| *of == number) else { return };
    event!(INFO, "signal"; signal = signal);
    let mut waiters = Vec::new();
    for listener in &lock(&REGISTRY).listeners {
        let mut listener = lock(listener);
        if listener.wanted & signal.bit() != 0 {
            listener.pending |= signal.bit();
            waiters.extend(listener.waiter.take());
        }
    }
    // A panic in a foreign waker must not end this thread.
    waiters.into_iter().for_each(|waiter| catch_panic(|| waiter.wake()));
}
