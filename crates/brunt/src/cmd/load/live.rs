//! `--live`: the load in the terminal while it runs.

use crate::cmd::signals;
use brunt_view::live::{Stream, View, before_kill, temporary_directory};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

#[derive(Debug, clap::Args)]
pub(super) struct LiveFlags {
    /// Show the load in the terminal while it runs: verdict so far, rates, response times, server, generator, errors, time
    /// left. q stops it and keeps its results, ? names the keys. Without a terminal, progress is as without --live
    #[arg(long, help_heading = "Result", conflicts_with_all = ["quiet", "once", "compare"])]
    live: bool,
}

impl LiveFlags {
    fn is_shown(&self) -> bool {
        self.live && Stream::Stderr.has_screen()
    }

    /// The directory that the view reads, or the page if there `is_page`, if `out` is none.
    pub(super) fn temporary(&self, out: Option<&Path>, is_page: bool) -> io::Result<Option<TempDir>> {
        if !(self.is_shown() || is_page) || out.is_some() {
            return Ok(None);
        }
        signals::before_kill(before_kill);
        temporary_directory().map(Some)
    }

    /// The view of the load that writes to `directory`. `stop` ends that load, `page` keeps a screen. A terminal that cannot
    /// be used is no reason to end the load.
    pub(super) fn view(
        &self,
        directory: Option<&Path>,
        stop: &Arc<AtomicBool>,
        page: &Arc<AtomicBool>,
    ) -> Option<View> {
        let directory = directory.filter(|_| self.is_shown())?;
        signals::before_kill(before_kill);
        let view = View::open(directory, Arc::clone(stop), Arc::clone(page));
        view.inspect_err(|error| _ = writeln!(io::stderr(), "note: --live: the terminal cannot be used: {error}")).ok()
    }
}
