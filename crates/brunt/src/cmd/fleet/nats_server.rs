//! Which program is the NATS server of a fleet.

use brunt_fleet::nats::{OLDEST_SERVER, is_recent};
use brunt_results::Error;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const NAME: &str = "nats-server";

/// The program: the one that was named, or found.
///
/// # Errors
/// There is none, or it is too old; says how to get one.
pub(super) fn program(named: Option<&Path>) -> Result<PathBuf, Error> {
    let home = env::var_os("HOME").map(|home| PathBuf::from(home).join("go/bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    let found = || env::split_paths(&path).chain(home).map(|folder| folder.join(NAME)).find(|file| file.is_file());
    let Some(program) = named.map(Path::to_owned).or_else(found) else {
        return Err(Error::Failed(format!("no {NAME} in PATH: {REMEDY}")));
    };
    let shown = program.display();
    let output = Command::new(&program).arg("--version").output();
    let output = output.map_err(|error| Error::Failed(format!("cannot start {shown}: {error}: {REMEDY}")))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let version = text.rsplit('v').next().unwrap_or_default();
    match is_recent(version) {
        true => Ok(program),
        false => Err(Error::Failed(format!("{shown} is '{text}', and {OLDEST_SERVER} or later is needed: {REMEDY}"))),
    }
}

const REMEDY: &str = "install it from your distribution or from https://nats.io/download, or with Go: go install \
                      github.com/nats-io/nats-server/v2@latest; --server names one that is elsewhere";
