//! All settings, and the command line that they make.

use crate::direct::DIRECT;
use crate::setting::{Heading, Setting};
use crate::{LoadSpec, http, load, tls};

/// All settings that have a flag, in the order of help.
pub fn table() -> impl Iterator<Item = &'static Setting> {
    let (of_http, others): (Vec<_>, Vec<_>) = DIRECT.iter().partition(|setting| setting.heading == Heading::Http);
    let before = load::BEFORE.iter().chain(others).chain(load::AFTER).chain(http::TABLE);
    before.chain(of_http).chain(tls::TABLE).chain(load::RESULT)
}

impl LoadSpec {
    /// The settings that are set.
    pub fn settings(&self) -> impl Iterator<Item = &'static Setting> {
        table().filter(|setting| setting.is_set(self))
    }

    /// The first of these that is set, by the names of their fields, as messages name it.
    ///
    /// # Panics
    /// There is no setting of a name.
    pub fn first_set(&self, names: &[&str]) -> Option<String> {
        let setting = |name: &&str| table().find(|setting| setting.name == *name).expect("the name of a setting");
        names.iter().map(setting).find(|setting| setting.is_set(self)).map(Setting::named)
    }

    /// The arguments of `brunt load` for it: the URLs, then flags.
    pub fn words(&self) -> Vec<String> {
        self.urls.iter().cloned().chain(table().flat_map(|setting| setting.words(self))).collect()
    }
}
