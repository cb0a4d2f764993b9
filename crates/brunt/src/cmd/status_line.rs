//! Progress output on stderr: a line redrawn in place on a terminal, permanent lines elsewhere, nothing with --quiet.
//!
//! Write errors are ignored.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal, Write};

/// The status line; removed when dropped.
#[derive(Debug)]
pub(super) enum StatusLine {
    Terminal(ProgressBar),
    Plain,
    Quiet,
}

impl StatusLine {
    pub(super) fn new(quiet: bool) -> Self {
        if quiet {
            Self::Quiet
        } else if io::stderr().is_terminal() {
            // Cut to the width of the terminal.
            let style = ProgressStyle::with_template("{wide_msg}").expect("a constant that indicatif accepts");
            Self::Terminal(ProgressBar::new_spinner().with_style(style))
        } else {
            Self::Plain
        }
    }

    /// Prints a permanent line.
    pub(super) fn print(&self, line: &str) {
        match self {
            Self::Terminal(bar) => bar.suspend(|| drop(writeln!(io::stderr(), "{line}"))),
            Self::Plain => drop(writeln!(io::stderr(), "{line}")),
            Self::Quiet => (),
        }
    }

    /// Replaces the line on a terminal. Redraws only on change, to leave the CPU to the measurement.
    pub(super) fn set(&self, line: String) {
        if let Self::Terminal(bar) = self
            && bar.message() != line
        {
            bar.set_message(line);
        }
    }

    /// Removes the line before the result is printed.
    pub(super) fn clear(&self) {
        if let Self::Terminal(bar) = self {
            bar.finish_and_clear();
        }
    }

    /// True if only permanent lines are printed.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}
