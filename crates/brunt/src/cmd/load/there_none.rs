//! A program that was built without the feature `fleet` meters servers of this machine.

use super::meter::Meter;
use super::service::{MeteredServer, ServiceFlags};
use brunt_load::{Options, Target};
use brunt_results::Error;
use brunt_results::result::Probe;
use brunt_spec::LoadSpec;

/// There is none.
#[derive(Debug, Default, clap::Args)]
pub(super) struct FleetFlag {}

/// Nor is there one that probes.
pub(super) enum Probing {}

impl Probing {
    pub fn begin(&self) {
        match *self {}
    }

    pub fn end(self) -> Result<Probe, String> {
        match self {}
    }
}

#[derive(Debug, Default, clap::Args)]
pub(super) struct ThereFlags {
    #[command(flatten)]
    pub fleet: FleetFlag,
}

impl ThereFlags {
    pub fn check(&self, _: bool) -> Result<(), Error> {
        Ok(())
    }

    pub fn is_given(&self) -> bool {
        false
    }

    pub fn has_probe(&self) -> bool {
        false
    }

    pub fn probe(&self, _: &LoadSpec, _: &Options, _: bool, _: &[&str]) -> Result<Option<Probing>, Error> {
        Ok(None)
    }

    pub fn meter(&self, _: &ServiceFlags, _: &Target) -> Result<Option<Meter>, Error> {
        Ok(None)
    }

    pub fn account(&self, _: &ServiceFlags, _: &Target) -> Result<Option<MeteredServer>, Error> {
        Ok(None)
    }
}
