//! A program that was built without the feature `fleet`: there are no agents.

use super::Args;
use super::observer::LoadObserver;
use super::script::Scripting;
use super::there::ThereFlags;
use brunt_load::script::Wrk;
use brunt_load::{Options, Report};
use brunt_results::agents::AgentNow;
use brunt_results::result::Fleet;
use brunt_results::verdict::ValidityIssue;
use brunt_results::{Error, RunResult};
use brunt_spec::LoadSpec;
use brunt_view::progress::Progress;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, atomic::AtomicBool};

#[derive(Debug, clap::Args)]
pub(super) struct OnFlags {}

/// There are none.
pub(super) enum Chosen {}

/// Nor are they watched.
#[derive(Debug)]
pub(super) enum Watched {}

impl Watched {
    pub fn look(&self, _: &Progress) -> Vec<AgentNow> {
        match *self {}
    }
}

/// Nor has one made a load.
pub(super) enum Made {}

impl OnFlags {
    pub fn is_given(&self) -> bool {
        false
    }

    pub fn choose(&self, _: &LoadSpec, _: &ThereFlags, _: Option<&AtomicBool>) -> Result<Option<Chosen>, Error> {
        Ok(None)
    }
}

impl Chosen {
    pub fn ids(&self) -> Vec<&str> {
        match *self {}
    }

    pub fn count(&self) -> usize {
        match *self {}
    }

    pub fn whole(&self, _: &Args) -> Result<LoadSpec, Error> {
        match *self {}
    }

    pub fn check_ceilings(&self, _: &Options, _: bool) -> Result<(), Error> {
        match *self {}
    }

    pub fn ceilings(&self, _: &Options, _: &mut RunResult) -> BTreeMap<String, String> {
        match *self {}
    }

    pub fn run(
        &self,
        _: &Options,
        _: (&Scripting, Option<&Wrk>),
        _: BTreeSet<PathBuf>,
        _: Option<&Path>,
        _: &Arc<AtomicBool>,
        _: &mut LoadObserver,
    ) -> Result<(Report, Made), Error> {
        match *self {}
    }

    pub fn told(&self, _: &Made, _: &Options, _: &RunResult) -> Fleet {
        match *self {}
    }
}

impl Made {
    pub fn issue(&self) -> Option<ValidityIssue> {
        match *self {}
    }

    pub fn is_interrupted(&self) -> bool {
        match *self {}
    }
}
