//! How wide the terminal is that standard output goes to.

use std::io::{IsTerminal, stdout};

/// Columns of the terminal; `None` for a file or a pipe, and for a terminal that does not know.
pub fn width() -> Option<usize> {
    let out = stdout();
    let size = out.is_terminal().then(|| rustix::termios::tcgetwinsize(&out).ok())??;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}
