//! The values that a plan can set or sweep, by the names they have in plans, on the command line and in reports.
//!
//! One function reads them all, so `[load]`, `[sweep]` and an override on the command line cannot disagree. What the
//! machine decides (which cores) is not here but in `place`.

use crate::plan::{
    template,
    tester::{self, BRUNT, Capabilities},
};
use crate::suggest::did_you_mean;
use brunt_results::{Count, Rate, Size, Span};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, time::Duration};

/// Every known name, in the order in which reports show and sort them.
pub const NAMES: &[&str] = &[
    "tester",
    "server_cores",
    "client_cores",
    "path",
    "keepalive",
    "tls",
    "size",
    "connections",
    "connections_per_core",
    "rate",
    "rate_per_core",
    "arrival",
    "duration",
    "warmup",
    "timeout",
];

/// How many cores the generator gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientCores {
    /// So many.
    Fixed(usize),
    /// So many for each core of the server.
    PerServerCore(usize),
    /// All that the server leaves.
    Rest,
}

impl fmt::Display for ClientCores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(n) => write!(f, "{n}"),
            Self::PerServerCore(n) => write!(f, "{n}x"),
            Self::Rest => f.write_str("rest"),
        }
    }
}

/// A quantity given as a whole or for each core of the generator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount<T> {
    /// Over all cores.
    Total(T),
    /// For each core of the generator.
    PerCore(T),
}

/// One value for everything: the load of one cell, before the machine is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Cores of the target.
    pub server_cores: usize,
    /// Cores of the generator.
    pub client_cores: ClientCores,
    /// Connections; a plan must say how many.
    pub connections: Option<Amount<u64>>,
    /// Payload of one request.
    pub size: Size,
    /// Offered rate; `None` is the closed loop.
    pub rate: Option<Amount<f64>>,
    /// Arrival process of an open loop; `None` leaves it to the tester.
    pub arrival: Option<String>,
    /// Measured window.
    pub duration: Span,
    /// Load before the window.
    pub warmup: Span,
    /// A request without a reply after this long has failed; `None` leaves it to the tester.
    pub timeout: Option<Span>,
    /// Who makes the load, if not `brunt load`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tester: Option<String>,
    /// What is asked for over HTTP, with placeholders; `None` is ping-pong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether a connection carries more than one request; `None` is yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keepalive: Option<bool>,
    /// Whether HTTP is spoken over TLS; `None` is no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<bool>,
    /// Axes of the plan's own, which only the target's command line knows.
    #[serde(rename = "named")]
    pub custom_axes: BTreeMap<String, String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            server_cores: 1,
            client_cores: ClientCores::Fixed(1),
            connections: None,
            size: Size(100),
            rate: None,
            arrival: None,
            duration: Span(Duration::from_secs(3)),
            warmup: Span(Duration::from_millis(500)),
            timeout: None,
            tester: None,
            path: None,
            keepalive: None,
            tls: None,
            custom_axes: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// The tester, if it is not `brunt load`.
    pub fn external_tester(&self) -> Option<&'static Capabilities> {
        self.tester.as_deref().and_then(tester::external)
    }

    /// Why the tester cannot make this load, if it cannot.
    pub fn tester_limitation(&self) -> Option<String> {
        let tester = self.external_tester()?;
        let name = tester.name;
        let others = |able: fn(&Capabilities) -> bool| {
            let names: Vec<&str> =
                tester::EXTERNAL.iter().filter(|other| able(other)).map(|other| other.name).collect();
            format!("tester brunt or one of {}", names.join(", "))
        };
        if self.rate.is_some() && !tester.supports_rate {
            return Some(format!("{name} knows no rate: rate = \"max\", or {}", others(|other| other.supports_rate)));
        }
        if self.rate.is_some() && self.arrival.as_deref() == Some("poisson") {
            return Some(format!("{name} knows no poisson arrivals: arrival = \"constant\", or tester brunt"));
        }
        (!self.keeps_alive() && !tester.supports_no_keepalive).then(|| {
            let others = others(|other| other.supports_no_keepalive);
            format!("{name} cannot open a connection for each request: keepalive = true, or {others}")
        })
    }

    /// Whether a connection carries more than one request.
    pub fn keeps_alive(&self) -> bool {
        self.keepalive != Some(false)
    }

    /// Whether HTTP is spoken over TLS.
    pub fn uses_tls(&self) -> bool {
        self.tls == Some(true)
    }

    /// Sets the value of that name and returns it in its usual spelling; the error says what would do.
    /// A name that is not in [`NAMES`] is an axis of the plan's own.
    pub fn set(&mut self, name: &str, text: &str) -> Result<String, String> {
        let text = text.trim();
        Ok(match name {
            "server_cores" => {
                self.server_cores = cores(text)?;
                self.server_cores.to_string()
            }
            "client_cores" => {
                self.client_cores = client_cores(text)?;
                self.client_cores.to_string()
            }
            "connections" => {
                let count = at_least_one(text)?;
                self.connections = Some(Amount::Total(count.0));
                count.to_string()
            }
            "connections_per_core" => {
                let count = at_least_one(text)?;
                self.connections = Some(Amount::PerCore(count.0));
                count.to_string()
            }
            "size" => {
                self.size = text.parse().map_err(|e: brunt_results::UnitError| e.to_string())?;
                match self.size.0 {
                    1..=0x4000_0000 => self.size.to_string(),
                    _ => return Err(format!("'{text}' is not a size from 1B to 1GiB")),
                }
            }
            "rate" => {
                self.rate = rate(text)?.map(|r| Amount::Total(r.0));
                rate_text(&self.rate)
            }
            "rate_per_core" => {
                self.rate = rate(text)?.map(|r| Amount::PerCore(r.0));
                rate_text(&self.rate)
            }
            "arrival" => match text {
                "constant" | "poisson" => {
                    self.arrival = Some(text.to_owned());
                    text.to_owned()
                }
                _ => return Err(format!("'{text}' is not an arrival process: constant or poisson")),
            },
            "duration" => {
                self.duration = span(text, 1)?;
                self.duration.to_string()
            }
            "warmup" => {
                self.warmup = span(text, 0)?;
                self.warmup.to_string()
            }
            "timeout" => {
                let timeout = span(text, 1)?;
                self.timeout = Some(timeout);
                timeout.to_string()
            }
            "tester" => {
                let names = tester::names();
                if !names.contains(&text) {
                    return Err(format!("'{text}' is not a tester{}", did_you_mean(text, &names)));
                }
                self.tester = (text != BRUNT).then(|| text.to_owned());
                text.to_owned()
            }
            "path" => {
                self.path = Some(path(text)?);
                text.to_owned()
            }
            "keepalive" => {
                let keeps = text.parse().map_err(|_| format!("'{text}' is neither true nor false"))?;
                self.keepalive = Some(keeps);
                keeps.to_string()
            }
            "tls" => {
                let secret = text.parse().map_err(|_| format!("'{text}' is neither true nor false"))?;
                self.tls = Some(secret);
                secret.to_string()
            }
            named => {
                // It becomes part of a directory's name and of `--only`.
                if text.is_empty() || text.len() > 64 || text.contains([',', '=', '/', '\0', '\n']) {
                    return Err(format!(
                        "'{text}' cannot be a value of '{named}': 1 to 64 characters without , = / and line breaks"
                    ));
                }
                self.custom_axes.insert(named.to_owned(), text.to_owned());
                text.to_owned()
            }
        })
    }

    /// The value of that name as it is shown and selected; `None` for a name that has no value here.
    pub fn get(&self, name: &str) -> Option<String> {
        match name {
            "server_cores" => Some(self.server_cores.to_string()),
            "client_cores" => Some(self.client_cores.to_string()),
            "connections" => match self.connections {
                Some(Amount::Total(n)) => Some(Count(n).to_string()),
                _ => None,
            },
            "connections_per_core" => match self.connections {
                Some(Amount::PerCore(n)) => Some(Count(n).to_string()),
                _ => None,
            },
            "size" => Some(self.size.to_string()),
            "rate" => match self.rate {
                Some(Amount::PerCore(_)) => None,
                rate => Some(rate_text(&rate)),
            },
            "rate_per_core" => match self.rate {
                Some(Amount::PerCore(_)) => Some(rate_text(&self.rate)),
                _ => None,
            },
            "arrival" => self.arrival.clone(),
            "duration" => Some(self.duration.to_string()),
            "warmup" => Some(self.warmup.to_string()),
            "timeout" => self.timeout.map(|t| t.to_string()),
            "tester" => Some(self.tester.clone().unwrap_or(BRUNT.to_owned())),
            "path" => self.path.clone(),
            "keepalive" => self.keepalive.or(self.path.as_ref().map(|_| true)).map(|keeps| keeps.to_string()),
            "tls" => self.tls.or(self.path.as_ref().map(|_| false)).map(|secret| secret.to_string()),
            named => self.custom_axes.get(named).cloned(),
        }
    }
}

/// The word for a closed loop among rates.
const MAX: &str = "max";

/// What may follow the port in an address; its placeholders are checked where the plan's axes are known.
fn path(text: &str) -> Result<String, String> {
    if !text.starts_with('/') || text.len() > 2000 || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("'{text}' is not a path: '/' and at most 2000 visible ASCII characters, blanks as %20"));
    }
    template::names(text).map(|_| text.to_owned())
}

fn rate_text(rate: &Option<Amount<f64>>) -> String {
    match rate {
        None => MAX.to_owned(),
        Some(Amount::Total(r) | Amount::PerCore(r)) => Rate(*r).to_string(),
    }
}

fn rate(text: &str) -> Result<Option<Rate>, String> {
    if text == MAX {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|e: brunt_results::UnitError| format!("{e}, or 'max' for a closed loop"))
}

fn cores(text: &str) -> Result<usize, String> {
    // 1024 is the most that a Linux affinity mask of the usual size holds.
    text.parse()
        .ok()
        .filter(|n| (1..=1024).contains(n))
        .ok_or_else(|| format!("'{text}' is not a number of cores from 1 to 1024"))
}

fn client_cores(text: &str) -> Result<ClientCores, String> {
    let hint =
        |_| format!("'{text}' is not a number of cores: 2, 4x (for each core of the server) or rest (all others)");
    match (text, text.strip_suffix('x')) {
        ("rest", _) => Ok(ClientCores::Rest),
        (_, Some(factor)) => cores(factor).map(ClientCores::PerServerCore).map_err(hint),
        (number, None) => cores(number).map(ClientCores::Fixed).map_err(hint),
    }
}

fn at_least_one(text: &str) -> Result<Count, String> {
    let count: Count = text.parse().map_err(|e: brunt_results::UnitError| e.to_string())?;
    match count.0 {
        // More do not fit into the addresses and ports of one machine.
        1..=1_000_000_000 => Ok(count),
        _ => Err(format!("'{text}' is not a count from 1 to 1000M")),
    }
}

fn span(text: &str, at_least_ms: u64) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|e: brunt_results::UnitError| e.to_string())?;
    let longest = Duration::from_secs(7 * 24 * 3600);
    if span.0 < Duration::from_millis(at_least_ms) || span.0 > longest {
        return Err(format!("'{text}' is not between {at_least_ms} ms and a week"));
    }
    Ok(span)
}

/// The amount per core of a total, and the other way round.
pub(super) fn per_core_counterpart(name: &str) -> String {
    match name.strip_suffix("_per_core") {
        Some(total) => total.to_owned(),
        None => format!("{name}_per_core"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_can_be_set_and_read_back_in_its_usual_spelling() {
        for (name, text, usual) in [
            ("server_cores", "4", "4"),
            ("client_cores", "4x", "4x"),
            ("client_cores", "rest", "rest"),
            ("size", "1024", "1KiB"),
            ("connections", "2000", "2k"),
            ("connections_per_core", "80", "80"),
            ("rate", "20000", "20k"),
            ("rate", "max", "max"),
            ("rate_per_core", "10k", "10k"),
            ("arrival", "poisson", "poisson"),
            ("duration", "1000ms", "1s"),
            ("warmup", "0s", "0s"),
            ("timeout", "5s", "5s"),
            ("backlog", "128", "128"),
            ("tester", "brunt", "brunt"),
            ("tester", "wrk", "wrk"),
            ("path", "/a?b={size}", "/a?b={size}"),
            ("keepalive", "false", "false"),
            ("tls", "true", "true"),
        ] {
            let mut settings = Settings::default();
            assert_eq!(settings.set(name, text).as_deref(), Ok(usual), "{name}");
            assert_eq!(settings.get(name).as_deref(), Some(usual), "{name}");
        }
    }

    #[test]
    fn what_is_refused_names_the_value() {
        for (name, text) in [
            ("server_cores", "0"),
            ("client_cores", "x"),
            ("size", "0"),
            ("connections", "0"),
            ("connections", "1.5"),
            ("rate", "fast"),
            ("arrival", "bursty"),
            ("duration", "10"),
            ("duration", "0s"),
            ("warmup", "-1s"),
            ("backlog", "a,b"),
            ("tester", "wrq"),
            ("path", "index.html"),
            ("path", "/a b"),
            ("path", "/{a"),
            ("keepalive", "no"),
            ("tls", "yes"),
        ] {
            let error = Settings::default().set(name, text).unwrap_err();
            assert!(error.contains(&format!("'{text}'")), "{name}: {error}");
        }
    }

    #[test]
    fn an_amount_per_core_and_in_total_exclude_each_other() {
        let mut settings = Settings::default();
        settings.set("connections", "80").unwrap();
        settings.set("connections_per_core", "20").unwrap();
        assert_eq!(settings.get("connections"), None);
        settings.set("rate_per_core", "10k").unwrap();
        settings.set("rate", "max").unwrap();
        assert_eq!(settings.get("rate_per_core"), None);
    }
}
