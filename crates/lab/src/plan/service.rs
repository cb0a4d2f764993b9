//! What counts as a target beside its own processes: the `service` of a `[[target]]`.

use super::PlanError;
use super::keys;
use super::source::{Source, Value};
use brunt_meter::Scope;
use brunt_meter::cgroup::Group;
use serde::Serialize;

/// As the flags of `brunt load` of these names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Service {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub only_listener: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_cgroup: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_unit: Vec<String>,
}

impl Service {
    pub(super) fn read(text: &Source, value: &Value, key: &str) -> Result<Self, PlanError> {
        let table = text.keyed(text.table(value, key)?, "service", keys::SERVICE)?;
        let only_listener = table.read("only_listener", Source::boolean)?.unwrap_or_default();
        let without = table.read("without", Source::words)?.unwrap_or_default();
        if only_listener && !without.is_empty() {
            let message = "service: only_listener is without all others; leave without out";
            return Err(text.error(value.span(), message));
        }
        Ok(Self {
            only_listener,
            without,
            also_cgroup: table.read("also_cgroup", Source::words)?.unwrap_or_default(),
            also_unit: table.read("also_unit", Source::words)?.unwrap_or_default(),
        })
    }

    /// # Errors
    /// A group does not exist, or not yet.
    pub(crate) fn scope(&self) -> Result<Scope, String> {
        let groups = self.also_cgroup.iter().map(|path| Group::at(path));
        let units = self.also_unit.iter().map(|name| Group::of_unit(name));
        Ok(Scope {
            only_listener: self.only_listener,
            without: self.without.clone(),
            also: Vec::new(),
            also_groups: groups.chain(units).collect::<Result<_, _>>()?,
        })
    }

    /// The flags of `brunt load`.
    pub(crate) fn words(&self) -> Vec<String> {
        let named =
            [("--without", &self.without), ("--also-cgroup", &self.also_cgroup), ("--also-unit", &self.also_unit)];
        let named = named
            .into_iter()
            .flat_map(|(flag, values)| values.iter().map(move |value| [flag.to_owned(), value.clone()]));
        let listener = self.only_listener.then(|| "--only-listener".to_owned());
        listener.into_iter().chain(named.flatten()).collect()
    }
}
