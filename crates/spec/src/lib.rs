//! A load as its user describes it: by the flags of `brunt load`, by a plan or by a form. It is stored and sent as JSON, written
//! out as the command that makes it, and resolved into the options of the generator where the load runs.
//!
//! [`LoadSpec`] holds the values, [`table`] describes each setting once: its names, its texts, how it is read and written.
//! Command line, help, JSON, forms and the settings that plans take as they are follow the table. A new setting that the
//! generator takes as it is has its field and its row in `direct.rs`; one that must be resolved has its field here.
//!
//! Invariant: [`LoadSpec::words`] writes what the flags read back as an equal value.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "the crate is not published")]

mod direct;
mod http;
mod json;
mod load;
mod setting;
mod table;
mod tls;
mod value;

pub use direct::*;
pub use load::{Arrival, Backend, CountOrFile, Factor};
pub use setting::{Field, Heading, Setting};
pub use table::table;
pub use value::{Kind, Value, Written};

use brunt_results::stages::{ConnectionRange, RateRange, TimedStage};
use brunt_results::{Cores, Count, Percentile, Rate, Size, Span};
use std::path::PathBuf;

/// What was set; defaults are those of the generator.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadSpec {
    pub urls: Vec<String>,
    pub connections: Option<ConnectionRange>,
    pub connections_per_core: Option<Count>,
    pub threads: Option<Count>,
    pub cores: Option<Cores>,
    pub backend: Option<Backend>,
    pub duration: Option<Span>,
    pub requests: Option<Count>,
    pub rate: Option<RateRange>,
    pub stages: Vec<TimedStage>,
    pub rate_per_core: Option<Rate>,
    pub arrival: Option<Arrival>,
    pub size: Option<Size>,
    pub timeout: Option<Span>,
    pub warmup: Option<Span>,
    pub steady: bool,
    pub connect_rate: Option<Rate>,
    /// Local addresses.
    pub source: Option<String>,
    pub seed: Option<u64>,
    pub replay: Option<PathBuf>,
    pub speed: Option<Factor>,
    pub no_keepalive: bool,
    pub reuse: Option<Count>,
    pub requests_or_file: Option<CountOrFile>,
    pub method: Option<String>,
    pub header: Vec<String>,
    pub body: Option<String>,
    pub weight: Vec<u32>,
    pub names: Vec<String>,
    pub connect_to: Option<String>,
    pub proxy: Option<String>,
    pub proxy_auth: Option<PathBuf>,
    pub basic_auth: Option<PathBuf>,
    pub bearer: Option<PathBuf>,
    pub pipeline: Option<u32>,
    pub vary: Option<Count>,
    pub http10: bool,
    pub expect_status: Option<String>,
    pub expect_length: Option<Size>,
    pub expect_body: Option<String>,
    pub insecure: bool,
    pub cacert: Option<PathBuf>,
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
    pub no_resumption: bool,
    pub tls_version: Option<String>,
    pub percentiles: Vec<Percentile>,
    pub direct: Direct,
}

/// A row of a table: the setting of that field.
macro_rules! row {
    ($field:ident) => {
        $crate::setting::Setting::new(
            stringify!($field),
            |spec| &spec.$field,
            |spec| &spec.$field,
            |spec| &mut spec.$field,
        )
    };
    (direct.$field:ident) => {
        $crate::setting::Setting::new(
            stringify!($field),
            |spec| &spec.direct.$field,
            |spec| &spec.direct.$field,
            |spec| &mut spec.direct.$field,
        )
    };
}

use row;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_flags_are_those_of_one_setting_each() {
        let (mut names, mut flags) = (BTreeSet::new(), BTreeSet::new());
        for setting in table() {
            assert!(names.insert(setting.name), "{}", setting.name);
            let letters = [setting.short, setting.short_alias].into_iter().flatten().map(String::from);
            let words = [setting.long, setting.alias].into_iter().flatten().map(str::to_owned);
            for flag in letters.chain(words) {
                assert!(flags.insert(flag.clone()), "{flag}");
            }
            assert!(!setting.help.is_empty() && !setting.flag().is_empty(), "{}", setting.name);
            assert_eq!(setting.kind == Kind::Switch, setting.value_name.is_empty(), "{}", setting.name);
            for other in [setting.conflicts, setting.requires].into_iter().flatten() {
                assert!(table().any(|known| known.name == other), "{}: {other}", setting.name);
            }
        }
    }
}
