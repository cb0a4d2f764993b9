//! A script as agents get it: its path, whose contents are one of the files of the load, what it is called with, and what it has set up.

use super::super::resolve::resolved_here;
use super::super::script::{Scripting, facts, replace};
use brunt_load::Options;
use brunt_load::http::Script;
use brunt_load::script::{Setup, Wrk};
use brunt_spec::LoadSpec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::cmd) struct SentScript {
    path: PathBuf,
    arguments: Vec<String>,
    setup: Setup,
}

impl SentScript {
    /// The script of a load that is prepared; `None` without one.
    pub(super) fn of(scripting: &Scripting, script: Option<&Wrk>) -> Option<Self> {
        let ((path, arguments), setup) = (scripting.typed()?, script?.setup());
        Some(Self { path: path.to_owned(), arguments: arguments.to_vec(), setup })
    }

    /// What an agent runs for a description and this script; the error is one line.
    pub(in crate::cmd) fn resolved_here(self, spec: &LoadSpec) -> Result<Options, String> {
        let mut options = resolved_here(spec, true)?;
        let Self { path, arguments, setup } = self;
        let facts = facts(spec, &options, &path, &arguments).map_err(|error| error.to_string())?;
        let script = setup.script(&path, facts).map_err(|error| error.to_string())?;
        replace(&mut options, &script);
        Ok(options)
    }
}

/// What was run for a description by a script that is not here.
pub(super) fn elsewhere(spec: &LoadSpec) -> Result<Options, String> {
    let mut options = resolved_here(spec, true)?;
    replace(&mut options, &Script::elsewhere());
    Ok(options)
}
