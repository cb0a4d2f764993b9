//! Progress output on stderr: a line redrawn in place on a terminal, permanent lines elsewhere, nothing with --quiet.
//!
//! Write errors are ignored.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, Write};

/// The status line; removed when dropped.
#[derive(Debug)]
pub struct StatusLine {
    /// Hidden without a terminal.
    bar: ProgressBar,
    quiet: bool,
}

impl StatusLine {
    pub fn new(quiet: bool) -> Self {
        // Cut to the width of the terminal.
        let style = ProgressStyle::with_template("{wide_msg}").expect("a constant that indicatif accepts");
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        Self { bar: ProgressBar::with_draw_target(None, target).with_style(style), quiet }
    }

    pub fn print(&self, line: &str) {
        if !self.quiet {
            self.above(|| drop(writeln!(io::stderr(), "{line}")));
        }
    }

    /// Runs what prints lines above the status line.
    pub(crate) fn above(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Replaces the line on a terminal. Redraws only on change, to leave the CPU to the measurement.
    pub fn set(&self, line: String) {
        if self.bar.message() != line {
            self.bar.set_message(line);
        }
    }

    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// True if nothing is printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// True if only permanent lines are printed.
    pub fn is_plain(&self) -> bool {
        !self.quiet && self.bar.is_hidden()
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}
