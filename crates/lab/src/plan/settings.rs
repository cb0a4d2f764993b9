//! The settings of a load, by the names they have in plans, on the command line and in reports.
//!
//! [`TABLE`] describes each that a plan resolves itself: its key, how it is set and how it is shown. [`KEYS`] are those and the
//! settings that it takes as `brunt load` has them. `[load]`, `[sweep]`, `[[phase]]`, overrides, the command line, the JSON Schema
//! and the columns of reports all follow them.

mod direct;
mod limits;
mod requests;
mod table;

use super::policy::ALONE;
use super::tester::{self, Capabilities};
use brunt_results::{Percentile, Size, Span};
use brunt_spec::LoadSpec;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, time::Duration};

pub(super) use limits::{NO_AXES, OF_HTTP, without_path};
pub use table::{KEYS, NAMES, TABLE};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientCores {
    Fixed(usize),
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

/// A quantity in total or for each core of the generator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount<T> {
    Total(T),
    PerCore(T),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub server_cores: usize,
    pub client_cores: ClientCores,
    /// Kernel interface of the generator's threads; `None` leaves it to the tester.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_backend: Option<String>,
    /// Threads of the generator over its cores; `None` is one for each core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_threads: Option<u64>,
    /// Required in a valid plan.
    pub connections: Option<Amount<u64>>,
    pub size: Size,
    pub rate: Option<Amount<f64>>,
    /// Stages of `rate`, which is then their mean, or of `connections`, which are then their most; `duration` is their length.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<String>,
    /// Arrival process of an open loop; `None` leaves it to the tester.
    pub arrival: Option<String>,
    pub duration: Span,
    pub warmup: Span,
    /// Whether the warm-up ends as soon as the load is steady, at the latest after `warmup`; `None` is no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<bool>,
    /// Number of requests after which the load ends, before `duration`; `None` is no such number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Time after which a request without a reply has failed; `None` leaves it to the tester.
    pub timeout: Option<Span>,
    /// Response-time percentiles beside the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<Percentile>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tester: Option<String>,
    /// Path of HTTP requests, with placeholders; `None` is ping-pong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether a connection carries more than one request; `None` is yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keepalive: Option<bool>,
    /// Number of different requests, over 1; `None` is one request, as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vary: Option<u64>,
    /// Names of the paths, each with figures of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// File of HTTP requests, relative to the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_file: Option<String>,
    /// Access log that is replayed, relative to the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    /// Factor of the replay's times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// Whether HTTP runs over TLS; `None` is no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<bool>,
    /// The `[[co_runner]]` that runs beside the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub co_runner: Option<String>,
    /// What bounds it; see [`POLICIES`](super::policy::POLICIES).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Settings that `brunt load` takes as they are.
    #[serde(default, skip_serializing_if = "is_default")]
    pub load: LoadSpec,
    /// Values of the plan's own axes, which only the target's command line uses.
    #[serde(rename = "named")]
    pub custom_axes: BTreeMap<String, String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            server_cores: 1,
            client_cores: ClientCores::Fixed(1),
            client_backend: None,
            client_threads: None,
            connections: None,
            size: Size(100),
            rate: None,
            stages: Vec::new(),
            arrival: None,
            duration: Span(Duration::from_secs(3)),
            warmup: Span(Duration::from_millis(500)),
            steady: None,
            requests: None,
            timeout: None,
            percentiles: Vec::new(),
            tester: None,
            path: None,
            keepalive: None,
            vary: None,
            names: Vec::new(),
            request_file: None,
            replay: None,
            speed: None,
            tls: None,
            co_runner: None,
            policy: None,
            load: LoadSpec::default(),
            custom_axes: BTreeMap::new(),
        }
    }
}

fn is_default(spec: &LoadSpec) -> bool {
    *spec == LoadSpec::default()
}

impl Settings {
    pub fn external_tester(&self) -> Option<&'static Capabilities> {
        self.tester.as_deref().and_then(tester::external)
    }

    /// Whether a controller and its jobs run beside the target.
    pub fn has_jobs(&self) -> bool {
        self.policy.as_ref().is_some_and(|policy| policy != ALONE)
    }

    /// The paths of HTTP requests; none in ping-pong.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.path.iter().flat_map(|path| path.split(' '))
    }

    /// All settings and the plan's own axes; totals stand for amounts per core.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let own = self.custom_axes.keys().map(String::as_str);
        NAMES.iter().copied().filter(|name| !name.ends_with("_per_core")).chain(own)
    }

    pub fn keeps_alive(&self) -> bool {
        self.keepalive != Some(false)
    }

    pub fn uses_tls(&self) -> bool {
        self.tls == Some(true)
    }

    /// The protocol of the load, as in the address of a target.
    pub fn scheme(&self) -> &'static str {
        match (&self.path, self.uses_tls()) {
            (None, _) => "tcp",
            (Some(_), false) => "http",
            (Some(_), true) => "https",
        }
    }

    /// Sets the value of that name and returns its normal form; a name that is not in [`NAMES`] is an axis of the plan's own.
    pub fn set(&mut self, name: &str, text: &str) -> Result<String, String> {
        let text = text.trim();
        if let Some(setting) = TABLE.iter().find(|setting| setting.key.name == name) {
            return (setting.set)(self, text);
        }
        if let Some(setting) = direct::named(name) {
            return setting.set(&mut self.load, text);
        }
        // The value becomes part of a directory's name and of `--only`.
        if text.is_empty() || text.len() > 64 || text.contains([',', '=', '/', '\0', '\n']) {
            return Err(format!(
                "'{text}' cannot be a value of '{name}': 1 to 64 characters without , = / and line breaks"
            ));
        }
        self.custom_axes.insert(name.to_owned(), text.to_owned());
        Ok(text.to_owned())
    }

    /// The value of that name as shown and selected; `None` if it has none here.
    pub fn get(&self, name: &str) -> Option<String> {
        if let Some(setting) = TABLE.iter().find(|setting| setting.key.name == name) {
            return (setting.get)(self);
        }
        match direct::named(name) {
            // A switch that is off is a value where it could be on.
            Some(setting) => setting.text(&self.load).filter(|_| setting.is_set(&self.load) || self.path.is_some()),
            None => self.custom_axes.get(name).cloned(),
        }
    }
}

/// The setting that excludes this one: the amount per core of a total, and the reverse.
pub(super) fn per_core_counterpart(name: &str) -> String {
    match name.strip_suffix("_per_core") {
        Some(total) => total.to_owned(),
        None => format!("{name}_per_core"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::key::ValueType;

    #[test]
    fn every_setting_round_trips_in_normal_form() {
        for (name, text, normal) in [
            ("server_cores", "4", "4"),
            ("client_cores", "4x", "4x"),
            ("client_cores", "rest", "rest"),
            ("client_backend", "epoll", "epoll"),
            ("client_threads", "4", "4"),
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
            ("path", "/a  /b", "/a /b"),
            ("vary", "4000", "4k"),
            ("names", "a, b", "a,b"),
            ("request_file", "data/browser.har", "data/browser.har"),
            ("replay", "access.log", "access.log"),
            ("speed", "2.0", "2"),
            ("stages", "1000:5k@1m, 500@30s", "1k:5k@1m,500@30s"),
            ("stages", "c=10:200@1m", "c=10:200@1m"),
            ("requests", "1000000", "1M"),
            ("steady", "true", "true"),
            ("percentiles", "p97.5, 99.99", "97.5,99.99"),
            ("tls", "true", "true"),
            ("co_runner", "memory", "memory"),
            ("policy", "static=0.50", "static=0.5"),
            ("policy", "heracles/5", "heracles:5"),
            ("policy", "koordinator", "koordinator"),
        ] {
            let mut settings = Settings::default();
            assert_eq!(settings.set(name, text).as_deref(), Ok(normal), "{name}");
            assert_eq!(settings.get(name).as_deref(), Some(normal), "{name}");
        }
    }

    #[test]
    fn a_switch_that_is_off_has_a_value_too() {
        let mut switches = KEYS.iter().filter(|key| matches!(key.value_type, ValueType::Truth)).peekable();
        assert!(switches.peek().is_some());
        for name in switches.map(|key| key.name) {
            for text in ["false", "true", "false"] {
                let mut settings = Settings { path: Some("/".to_owned()), ..Settings::default() };
                assert_eq!(settings.set(name, text).as_deref(), Ok(text), "{name}");
                assert_eq!(settings.get(name).as_deref(), Some(text), "{name}");
            }
        }
    }

    #[test]
    fn errors_quote_the_value() {
        for (name, texts) in [
            ("server_cores", &["0"][..]),
            ("client_cores", &["x"]),
            ("client_backend", &["select"]),
            ("client_threads", &["0", "2k"]),
            ("size", &["0"]),
            ("connections", &["0", "1.5"]),
            ("rate", &["fast"]),
            ("arrival", &["bursty"]),
            ("duration", &["10", "0s"]),
            ("warmup", &["-1s"]),
            ("backlog", &["a,b"]),
            ("tester", &["wrq"]),
            ("path", &["index.html", "/a b", "/{a"]),
            ("keepalive", &["no"]),
            ("vary", &["0", "2M"]),
            ("names", &["", "a:b"]),
            ("request_file", &[""]),
            ("speed", &["0", "fast"]),
            ("stages", &["1k", "c=0@1s", "1k@1s,c=5@1s"]),
            ("requests", &["0", "all"]),
            ("steady", &["soon"]),
            ("percentiles", &["100", ""]),
            ("tls", &["yes"]),
            ("co_runner", &["a,b", ""]),
            ("policy", &["static", "static=-1", "heracles/0", "Graded"]),
        ] {
            for text in texts {
                let error = Settings::default().set(name, text).unwrap_err();
                assert!(error.contains(&format!("'{text}'")), "{name}: {error}");
            }
        }
    }

    #[test]
    fn stages_are_the_rate_or_the_connections_and_their_length_until_one_of_these_is_set() {
        let mut settings = Settings::default();
        settings.set("connections", "8").unwrap();
        settings.set("stages", "1k@1s,1k:3k@1s").unwrap();
        assert_eq!((settings.get("rate").as_deref(), settings.get("duration").as_deref()), (Some("1500"), Some("2s")));
        settings.set("connections", "9").unwrap();
        assert!(settings.get("stages").is_some());
        settings.set("rate", "max").unwrap();
        settings.set("stages", "c=10@1s,c=10:200@2s").unwrap();
        assert_eq!(
            (settings.get("connections").as_deref(), settings.get("rate").as_deref()),
            (Some("200"), Some("max"))
        );
        settings.set("duration", "5s").unwrap();
        assert_eq!(settings.get("stages"), None);
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
