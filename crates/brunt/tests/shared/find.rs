//! `brunt find` as typed.

use std::path::Path;
use std::process::{Command, Stdio};

/// The URL precedes the flags of the load.
pub fn find(home: &Path, flags: &str, url: &str, load: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command
        .current_dir(home)
        .env("BRUNT_STATE_DIR", "state")
        .arg("find")
        .args(flags.split_whitespace())
        .arg(url)
        .args(load.split_whitespace());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
