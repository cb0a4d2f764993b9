//! Signals of the process as something to await.
//!
//! One thread of the process hears them all and tells every [`Signals`] that wants to know; the handlers themselves only
//! mark what has come. A signal that nobody has named keeps its usual effect.

use crate::{affinity, task::catch_panic, trace::event};
use signal_hook::{consts, iterator, low_level::emulate_default_handler};
use std::{
    ffi::c_int,
    fmt,
    future::poll_fn,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    thread,
};

/// What somebody may want to say to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Signal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: asked to end.
    Terminate,
    /// SIGHUP: the terminal is gone; for a daemon, read the configuration again.
    Hangup,
    /// SIGQUIT: Ctrl-\.
    Quit,
    /// SIGUSR1: what the program says.
    User1,
    /// SIGUSR2: what the program says.
    User2,
    /// SIGCHLD: a child process has ended or stopped.
    Child,
    /// SIGWINCH: the terminal has another size.
    Resize,
}

impl Signal {
    const ALL: [Self; 8] = [
        Self::Interrupt,
        Self::Terminate,
        Self::Hangup,
        Self::Quit,
        Self::User1,
        Self::User2,
        Self::Child,
        Self::Resize,
    ];

    fn number(self) -> c_int {
        match self {
            Self::Interrupt => consts::SIGINT,
            Self::Terminate => consts::SIGTERM,
            Self::Hangup => consts::SIGHUP,
            Self::Quit => consts::SIGQUIT,
            Self::User1 => consts::SIGUSR1,
            Self::User2 => consts::SIGUSR2,
            Self::Child => consts::SIGCHLD,
            Self::Resize => consts::SIGWINCH,
        }
    }

    fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Does what the signal does to a process that has not named it: ends it in most cases. For the second Ctrl-C, when
    /// the first one has begun an end that takes too long.
    pub fn act_as_usual(self) -> io::Result<()> {
        emulate_default_handler(self.number())
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::Hangup => "SIGHUP",
            Self::Quit => "SIGQUIT",
            Self::User1 => "SIGUSR1",
            Self::User2 => "SIGUSR2",
            Self::Child => "SIGCHLD",
            Self::Resize => "SIGWINCH",
        })
    }
}

/// A listener for some signals. Any number may listen to the same one, on any threads, and each hears it.
///
/// From the first listener on, a signal has lost its usual effect for good, also when all listeners are dropped.
///
/// ```
/// use brunt_runtime::{Runtime, signal::{Signal, Signals}};
///
/// Runtime::new()?.block_on(async {
///     let mut signals = Signals::new(&[Signal::Interrupt, Signal::User1])?;
///     # signal_hook::low_level::raise(signal_hook::consts::SIGUSR1)?;
///     match signals.recv().await {
///         Signal::Interrupt => println!("ending"),
///         other => println!("{other}: still here"),
///     }
///     std::io::Result::Ok(())
/// })?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Signals {
    listener: Arc<Listener>,
}

impl Signals {
    /// Listens from now on.
    ///
    /// # Errors
    /// When the process has no descriptors or threads left for it.
    pub fn new(signals: &[Signal]) -> io::Result<Self> {
        let wanted = signals.iter().fold(0, |bits, signal| bits | signal.bit());
        let listener = Arc::new(Listener { wanted, heard: Mutex::default() });
        let mut hub = hub();
        let ear = hub.ear()?;
        hub.listeners.push(listener.clone());
        drop(hub);
        let this = Self { listener };
        for signal in signals {
            ear.add_signal(signal.number())?;
        }
        Ok(this)
    }

    /// The next signal. Several of the same kind may be told as one, none is lost; different ones come in no particular
    /// order. A dropped future has taken nothing.
    pub async fn recv(&mut self) -> Signal {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// As `recv`, for hand-written futures and adapters.
    pub fn poll_recv(&mut self, cx: &Context<'_>) -> Poll<Signal> {
        let mut heard = self.listener.heard();
        if let Some(signal) = Signal::ALL.into_iter().find(|signal| heard.signals & signal.bit() != 0) {
            heard.signals &= !signal.bit();
            return Poll::Ready(signal);
        }
        let before = heard.waiter.replace(cx.waker().clone());
        drop(heard);
        drop(before);
        Poll::Pending
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        hub().listeners.retain(|listener| !Arc::ptr_eq(listener, &self.listener));
    }
}

#[derive(Debug)]
struct Listener {
    wanted: u32,
    heard: Mutex<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    /// Those not told yet, as bits.
    signals: u32,
    waiter: Option<Waker>,
}

impl Listener {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All listeners of the process, and the one ear.
struct Hub {
    ear: Option<iterator::Handle>,
    listeners: Vec<Arc<Listener>>,
}

static HUB: Mutex<Hub> = Mutex::new(Hub { ear: None, listeners: Vec::new() });

fn hub() -> MutexGuard<'static, Hub> {
    HUB.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    /// The handle of the thread that hears, started by the first who asks.
    fn ear(&mut self) -> io::Result<iterator::Handle> {
        if let Some(ear) = &self.ear {
            return Ok(ear.clone());
        }
        let mut signals = iterator::Signals::new::<_, c_int>([])?;
        let ear = signals.handle();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            affinity::reset();
            signals.forever().for_each(tell);
        })?;
        self.ear = Some(ear.clone());
        Ok(ear)
    }
}

/// Tells everybody who wants to know.
fn tell(number: c_int) {
    let Some(signal) = Signal::ALL.into_iter().find(|signal| signal.number() == number) else { return };
    event!(INFO, "signal"; signal = signal);
    let mut waiters = Vec::new();
    for listener in hub().listeners.iter().filter(|listener| listener.wanted & signal.bit() != 0) {
        let mut heard = listener.heard();
        heard.signals |= signal.bit();
        waiters.extend(heard.waiter.take());
    }
    // A panic in one, a foreign one, must not end the thread that hears.
    waiters.into_iter().for_each(|waiter| catch_panic(|| waiter.wake()));
}
