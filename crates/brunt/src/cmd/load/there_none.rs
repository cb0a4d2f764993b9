//! A program that was built without the feature `fleet` meters servers of this machine.

use super::meter::Meter;
use super::participants::MeteredServer;
use super::server::ServerFlags;
use brunt_load::Target;
use brunt_results::Error;

/// There is none.
#[derive(Debug, Default, clap::Args)]
pub(super) struct FleetFlag {}

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

    pub fn meter(&self, _: &ServerFlags, _: &Target) -> Result<Option<Meter>, Error> {
        Ok(None)
    }

    pub fn account(&self, _: &ServerFlags, _: &Target) -> Result<Option<MeteredServer>, Error> {
        Ok(None)
    }
}
