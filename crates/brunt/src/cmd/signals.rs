//! Signal handling: the first Ctrl-C ends a command gracefully; the effect of a second is the command's choice.
//!
//! Must be called at most once per process and signal.

use signal_hook::{iterator::Signals, low_level::emulate_default_handler};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, sync::Arc, thread};

pub use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

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
                let _ = emulate_default_handler(signal);
            }
        }
    })?;
    Ok(())
}

/// Calls `act` on each delivery of the signal. The signal must not be handled by [`on_first`] too.
pub fn on_each(signal: i32, act: impl Fn() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([signal])?;
    let act = move || signals.forever().for_each(|_| act());
    thread::Builder::new().name("signals".to_owned()).spawn(act)?;
    Ok(())
}

pub fn flag(signals: &[i32], second: Repeated) -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = flag.clone();
    on_first(signals, second, move || set.store(true, Ordering::SeqCst))?;
    Ok(flag)
}
