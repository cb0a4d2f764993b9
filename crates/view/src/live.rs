//! The live view of a load: what its directory says, drawn in a terminal.
//!
//! It reads files only, so a view costs the load nothing wherever it runs; `brunt load --live` has it on a thread of its own.

mod lines;
mod model;
mod plot;
mod points;
mod rows;
mod screen;
mod snapshot;
mod source;
mod terminal;

pub use lines::Lines;
pub use model::Model;
pub use rows::{clock, page};
pub use snapshot::snapshot;
pub use source::Source;
pub use terminal::Stream;

use brunt_results::Error;
use signal_hook::{consts::SIGINT, low_level::raise};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use tempfile::TempDir;
use terminal::{Asked, Terminal};

/// The directory that is removed before a signal kills the process.
static TEMPORARY: OnceLock<PathBuf> = OnceLock::new();

/// To be called before a signal kills the process: restores the terminal and removes the directory of
/// [`temporary_directory`].
pub fn before_kill() {
    terminal::restore();
    TEMPORARY.get().into_iter().for_each(|directory| _ = fs::remove_dir_all(directory));
}

/// Shows the directory until q, `stop`, or an error; returns the screens that were kept, and the source.
pub fn watch(mut source: Source, stop: &AtomicBool) -> Result<(Vec<String>, Source), Error> {
    let mut terminal = Terminal::open(Stream::Stdout, "quit")?;
    while !stop.load(Ordering::SeqCst) {
        let is_new = source.poll()?;
        terminal.draw(source.model(), is_new)?;
        if terminal.keys(source.pause())?.is_some() {
            break;
        }
    }
    Ok((terminal.close(), source))
}

/// The directory of a load that writes to none; removed when it is dropped, or by [`before_kill`].
pub fn temporary_directory() -> io::Result<TempDir> {
    let directory = tempfile::Builder::new().prefix("brunt-live-").tempdir()?;
    let _ = TEMPORARY.set(directory.path().to_owned());
    Ok(directory)
}

/// The view of the load of this process, on its own thread.
#[derive(Debug)]
pub struct View {
    close: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<String>>>,
}

impl View {
    /// Shows the load that writes to `directory` on stderr. `stop` ends that load, `page` keeps a screen.
    pub fn open(directory: &Path, stop: Arc<AtomicBool>, page: Arc<AtomicBool>) -> io::Result<Self> {
        let terminal = Terminal::open(Stream::Stderr, "stop the load, keep its results")?;
        let close = Arc::new(AtomicBool::new(false));
        let (source, closing) = (Source::new(directory), Arc::clone(&close));
        let show = move || show(terminal, source, &closing, (&stop, &page));
        let thread = thread::Builder::new().name("live".to_owned()).spawn(show)?;
        Ok(Self { close, thread: Some(thread) })
    }
}

/// Returns the terminal and prints the screens that were kept.
impl Drop for View {
    fn drop(&mut self) {
        self.close.store(true, Ordering::SeqCst);
        let kept = self.thread.take().and_then(|thread| thread.join().ok());
        for screen in kept.unwrap_or_default() {
            let _ = writeln!(io::stderr(), "{screen}");
        }
    }
}

/// A view that cannot go on ends, and the load goes on.
fn show(
    mut terminal: Terminal,
    mut source: Source,
    close: &AtomicBool,
    (stop, page): (&AtomicBool, &AtomicBool),
) -> Vec<String> {
    while !close.load(Ordering::SeqCst) {
        let is_stopping = stop.load(Ordering::SeqCst) && source.stop_asked();
        let Ok(is_new) = source.poll() else { break };
        if terminal.draw(source.model(), is_new | is_stopping).is_err() {
            break;
        }
        if page.swap(false, Ordering::SeqCst) {
            terminal.keep();
        }
        match terminal.keys(source.pause()) {
            Ok(None) => (),
            Ok(Some(Asked::Quit)) => stop.store(true, Ordering::SeqCst),
            // The handler of the signal knows whether it is the first.
            Ok(Some(Asked::Interrupt)) => _ = raise(SIGINT),
            Err(_) => break,
        }
    }
    terminal.close()
}
