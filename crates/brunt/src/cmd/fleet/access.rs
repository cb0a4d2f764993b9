//! Which fleet is meant: a file with its address and a key.

use brunt_fleet::nats::{Access, FleetError};
use brunt_results::{Error, state_dir};
use std::io;
use std::path::{Path, PathBuf};

/// Names the file; a key is in no argument.
const ENV_VAR: &str = "BRUNT_FLEET";
/// What `brunt fleet up` writes for the operator.
pub(super) const OF_OPERATOR: &str = "operator.fleet";

#[derive(Debug, Default, clap::Args)]
pub(in crate::cmd) struct FleetFlag {
    /// File with the address of the fleet and a key, as brunt fleet up and brunt fleet key write it [default: $BRUNT_FLEET, or
    /// that of this machine's brunt fleet up]
    #[arg(long = "fleet", value_name = "FILE", help_heading = "Fleet")]
    file: Option<PathBuf>,
}

impl FleetFlag {
    pub fn is_given(&self) -> bool {
        self.file.is_some()
    }

    /// The file, if it was named.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Whether it is standard input.
    pub(super) fn is_stdin(&self) -> bool {
        self.file.as_deref() == Some(Path::new("-"))
    }

    /// The access of an operator.
    pub fn of_operator(&self) -> Result<Access, Error> {
        self.read(Path::new(OF_OPERATOR))
    }

    /// The access of an agent of this name.
    pub(super) fn of_agent(&self, id: &str) -> Result<Access, Error> {
        self.read(&Path::new("agents").join(format!("{id}.fleet")))
    }

    fn read(&self, default: &Path) -> Result<Access, Error> {
        let named = self.file.clone().or_else(|| std::env::var_os(ENV_VAR).map(PathBuf::from));
        let path = named.map_or_else(|| directory().map(|directory| directory.join(default)), Ok)?;
        Access::read(&path).map_err(failed)
    }
}

/// The first line of standard input.
pub(super) fn from_stdin() -> Result<Access, Error> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Access::of_text(&line).map_err(|why| Error::Usage(format!("--fleet -: {why}")))
}

/// Where `brunt fleet up` and agents keep their files.
pub(super) fn directory() -> io::Result<PathBuf> {
    Ok(state_dir::path()?.join("fleet"))
}

/// Errors of a fleet as those of a command.
pub(in crate::cmd) fn failed(error: FleetError) -> Error {
    match error {
        FleetError::Access { .. } => Error::Usage(error.to_string()),
        other => Error::Failed(other.to_string()),
    }
}
