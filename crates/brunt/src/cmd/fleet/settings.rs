//! The file of an agent's owner: its name, and what it may do.
//!
//! ```toml
//! id = "web-1"                                    # [default: that of its key]
//! labels = { role = "load", rack = "7" }
//! allow = ["127.0.0.0/8", "10.0.0.0/8:80,8000-8099"]   # [default: this machine alone]
//! rate = "50k"                                    # requests a second of this agent
//! connections = "10k"
//! duration = "1h"                                 # [default: 1h]
//! secrets = "/etc/brunt/secrets"                  # files that --bearer and the like name
//! targets = "targets.toml"                        # a plan, relative to this file, whose targets may be started
//! address = "10.0.0.2"                            # where they listen [default: that of the way to the fleet]
//! meter = false                                   # whether servers of this machine may be metered [default: true]
//! ```

use super::allowed::{Allowed, Targets};
use brunt_diagnostic::{Diagnostic, Text, Value, entries, one_or_list};
use brunt_fleet::nats::is_id;
use brunt_results::Error;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

const KEYS: [&str; 10] =
    ["id", "labels", "allow", "rate", "connections", "duration", "secrets", "targets", "address", "meter"];

/// What the owner has said.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentSettings {
    pub id: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub allowed: Allowed,
    /// Directory of the files of secrets; a relative one is below where the agent was started.
    pub secrets: Option<PathBuf>,
    /// A plan whose targets may be started.
    pub targets: Option<PathBuf>,
    /// Where targets listen.
    pub address: Option<IpAddr>,
    /// Whether servers of this machine may be metered; yes, unless told otherwise.
    pub meter: Option<bool>,
}

impl AgentSettings {
    /// Reads the file, if there is one.
    pub fn read(path: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = path else { return Ok(Self::default()) };
        let name = path.display().to_string();
        let source =
            std::fs::read_to_string(path).map_err(|error| Error::Usage(format!("--config {name}: {error}")))?;
        Self::of(&Text { file: &name, source: &source }).map_err(|error| Error::Usage(error.to_string()))
    }

    fn of(text: &Text<'_>) -> Result<Self, Diagnostic> {
        let document = text.document()?;
        let mut settings = Self::default();
        for entry @ (key, _, value) in entries(document.get_ref()) {
            let Self { id, labels, allowed, secrets, targets, address, meter } = &mut settings;
            match key {
                "id" => {
                    let given = text.string(value, key)?;
                    let valid = Some(given).filter(|given| is_id(given));
                    *id = Some(text.must_be(valid, value, key, "1 to 64 letters, digits, - and _")?);
                }
                "labels" => *labels = read_labels(text, value)?,
                "allow" => {
                    let read = |one| parsed::<Targets>(text, one, key);
                    allowed.targets = one_or_list(value).iter().map(read).collect::<Result<_, _>>()?;
                }
                "rate" => allowed.rate = Some(parsed(text, value, key)?),
                "connections" => allowed.connections = Some(parsed(text, value, key)?),
                "secrets" => *secrets = Some(text.string(value, key)?.into()),
                "targets" => {
                    let beside = Path::new(text.file).parent().unwrap_or(Path::new(""));
                    *targets = Some(beside.join(text.string(value, key)?));
                }
                "meter" => *meter = Some(text.boolean(value, key)?),
                "address" => *address = Some(parsed(text, value, key)?),
                "duration" => allowed.duration = parsed(text, value, key)?,
                _ => return Err(text.unknown(&entry, "", &KEYS)),
            }
        }
        Ok(settings)
    }
}

fn parsed<T: FromStr<Err: Display>>(text: &Text<'_>, value: &Value<'_>, key: &str) -> Result<T, Diagnostic> {
    text.string(value, key)?.parse().map_err(|error| text.error(value.span(), format!("{key}: {error}")))
}

fn read_labels(text: &Text<'_>, value: &Value<'_>) -> Result<BTreeMap<String, String>, Diagnostic> {
    let table = text.must_be(value.get_ref().as_table(), value, "labels", "a table, as { role = \"load\" }")?;
    let label = |(key, _, value): (&str, _, &Value<'_>)| Ok((key.to_owned(), text.string(value, key)?));
    entries(table).into_iter().map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str) -> Result<AgentSettings, String> {
        AgentSettings::of(&Text { file: "agent.toml", source }).map_err(|error| error.to_string())
    }

    #[test]
    fn the_file_says_what_an_agent_may_do_and_errors_name_the_place() {
        let settings = of(
            "id = 'a'\nlabels = { role = 'load' }\nallow = '10.0.0.0/8'\nrate = '5k'\nduration = '2h'\nsecrets = '/s'\nmeter = false",
        )
        .unwrap();
        assert_eq!(settings.id.as_deref(), Some("a"));
        assert_eq!(settings.labels["role"], "load");
        assert_eq!((settings.secrets.as_deref(), settings.meter), (Some(Path::new("/s")), Some(false)));
        assert_eq!(settings.allowed.words(), "10.0.0.0/8; at most 5k/s, for at most 2h");
        assert_eq!(of("").unwrap().allowed.words(), "127.0.0.0/8 [::1]/128; for at most 1h");
        for (source, needle) in [
            ("id = 'a.b'", "1 to 64 letters"),
            ("allow = ['127.0.0.1', 'x']", "'x' is no network"),
            ("rats = '5k'", "rate"),
            ("rate = 5", "a text in quotes"),
            ("labels = 'x'", "a table"),
            ("duration = 'x'", "duration"),
        ] {
            let why = of(source).unwrap_err();
            assert!(why.contains(needle) && why.contains("agent.toml"), "{source}: {why}");
        }
    }
}
