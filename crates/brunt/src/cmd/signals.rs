//! Ctrl-C and its kind: the first one begins the end of a command, and what a second one does is the command's choice.
//!
//! Must never be called twice in a process: each call would act on the first signal.

use signal_hook::{iterator::Signals, low_level::emulate_default_handler};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

pub use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// What a signal does that is not the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeated {
    /// What it does to programs that know no signals: it ends the process.
    Kill,
    /// Nothing: dying at once would leave something behind.
    Ignore,
}

/// Calls `end` when the first of these signals comes.
pub fn on_first(signals: &[i32], second: Repeated, end: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new(signals)?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut signals = signals.forever();
        if signals.next().is_some() {
            end();
        }
        for signal in signals {
            if second == Repeated::Kill {
                let _ = emulate_default_handler(signal);
            }
        }
    })?;
    Ok(())
}

/// Calls `act` each time the signal comes. Not for a signal that [`on_first`] watches.
pub fn on_each(signal: i32, act: impl Fn() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([signal])?;
    let act = move || signals.forever().for_each(|_| act());
    thread::Builder::new().name("signals".to_owned()).spawn(act)?;
    Ok(())
}

/// A flag that the first of these signals sets.
pub fn flag(signals: &[i32], second: Repeated) -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = flag.clone();
    on_first(signals, second, move || set.store(true, Ordering::SeqCst))?;
    Ok(flag)
}
