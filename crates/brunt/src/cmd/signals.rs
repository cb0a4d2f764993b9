//! Signal handling: the first Ctrl-C ends a command gracefully; the effect of a second is the command's choice.
//!
//! Must be called at most once per process and signal.

use signal_hook::{iterator::Signals, low_level::emulate_default_handler};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::{io, thread};

pub use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};

static BEFORE_KILL: OnceLock<fn()> = OnceLock::new();

/// Has `act` called before [`Repeated::Kill`] ends the process. Only the first call has an effect.
pub fn before_kill(act: fn()) {
    let _ = BEFORE_KILL.set(act);
}

/// Effect of signals after the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeated {
    /// The default action, which ends the process.
    Kill,
    /// Ignored: exiting at once would leave child processes behind.
    Ignore,
}

/// Calls `end` on the first of these signals.
pub fn on_first(signals: &[i32], second: Repeated, end: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new(signals)?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut signals = signals.forever();
        if signals.next().is_some() {
            end();
        }
        for signal in signals {
            if second == Repeated::Kill {
                BEFORE_KILL.get().into_iter().for_each(|act| act());
                let _ = emulate_default_handler(signal);
            }
        }
    })?;
    Ok(())
}

/// Calls `act` on each delivery of one of these signals, which must not be handled by [`on_first`] too.
pub fn on_each(signals: &[i32], act: impl Fn() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new(signals)?;
    let act = move || signals.forever().for_each(|_| act());
    thread::Builder::new().name("signals".to_owned()).spawn(act)?;
    Ok(())
}

/// How often these signals were delivered.
pub fn count(signals: &[i32]) -> io::Result<Arc<AtomicUsize>> {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    on_each(signals, move || _ = counted.fetch_add(1, Ordering::SeqCst))?;
    Ok(count)
}

/// A flag that each delivery of the signal sets.
pub fn flag_on_each(signal: i32) -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = flag.clone();
    on_each(&[signal], move || set.store(true, Ordering::SeqCst))?;
    Ok(flag)
}

pub fn flag(signals: &[i32], second: Repeated) -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = flag.clone();
    on_first(signals, second, move || set.store(true, Ordering::SeqCst))?;
    Ok(flag)
}
