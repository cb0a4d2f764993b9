//! All settings, and the command line that they make.

use crate::setting::Setting;
use crate::{LoadSpec, direct, http, load, tls};

/// All settings that have a flag, in the order of help.
pub fn table() -> impl Iterator<Item = &'static Setting> {
    [load::BEFORE, direct::DIRECT, load::AFTER, http::TABLE, tls::TABLE, load::RESULT].into_iter().flatten()
}

impl LoadSpec {
    /// The arguments of `brunt load` for it: the URLs, then flags.
    pub fn words(&self) -> Vec<String> {
        self.urls.iter().cloned().chain(table().flat_map(|setting| setting.words(self))).collect()
    }
}
