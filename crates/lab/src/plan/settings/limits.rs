//! What a tester cannot do with the settings of a load.

use super::Settings;
use crate::plan::tester::{self, Capabilities};
use brunt_results::{Span, drift::MIN_STEADY};

/// Settings of HTTP requests, which a plan of another protocol does not have.
pub(in crate::plan) const OF_HTTP: [&str; 5] = ["vary", "names", "request_file", "replay", "speed"];

/// Settings that are no axes: their values would be part of a cell's name.
pub(in crate::plan) const NO_AXES: [&str; 5] = ["path", "stages", "names", "request_file", "replay"];

/// The error of one of [`OF_HTTP`] in a plan of another protocol.
pub(in crate::plan) fn without_path(name: &str) -> String {
    format!("{name} is of HTTP requests: add path = \"/\" to [load], or remove {name}")
}

impl Settings {
    /// Why no controller can run with this load, if so.
    pub fn policy_limitation(&self) -> Option<String> {
        let policy = self.policy.as_ref().filter(|_| self.has_jobs())?;
        if let Some(tester) = &self.tester {
            return Some(format!(
                "{tester} does not tell a controller of slow requests: tester brunt, or policy alone"
            ));
        }
        let closed =
            || format!("policy {policy} needs a load that does not wait for the server: a rate other than max");
        self.rate.is_none().then(closed)
    }

    /// Why the tester cannot make this load, if it cannot.
    pub fn tester_limitation(&self) -> Option<String> {
        let Some(tester) = self.external_tester() else {
            let least = Span(MIN_STEADY);
            if self.steady == Some(true) && self.warmup < least {
                return Some(format!(
                    "a warm-up of {} is too short to be steady: warmup = \"{least}\" or longer",
                    self.warmup
                ));
            }
            return self.own_limitation();
        };
        let name = tester.name;
        let others = |able: fn(&Capabilities) -> bool| {
            let names: Vec<&str> =
                tester::EXTERNAL.iter().filter(|other| able(other)).map(|other| other.name).collect();
            format!("tester brunt or one of {}", names.join(", "))
        };
        if self.client_backend.is_some() || self.client_threads.is_some() {
            return Some(format!(
                "{name} has threads of its own: remove client_backend and client_threads, or use tester brunt"
            ));
        }
        if self.path.is_none() {
            return Some(format!("{name} speaks HTTP: add path = \"/\" to the plan's [load], or use tester brunt"));
        }
        if self.rate.is_some() && !tester.supports_rate {
            return Some(format!(
                "{name} does not support a rate: rate = \"max\", or {}",
                others(|other| other.supports_rate)
            ));
        }
        if self.rate.is_some() && self.arrival.as_deref() == Some("poisson") {
            return Some(format!("{name} does not support poisson arrivals: arrival = \"constant\", or tester brunt"));
        }
        if self.requests.is_some() && !tester.supports_requests {
            let others = others(|other| other.supports_requests);
            return Some(format!("{name} cannot end after a number of requests: remove requests, or {others}"));
        }
        if self.steady == Some(true) {
            return Some(format!("{name} has no warm-up of its own to end: remove steady, or use tester brunt"));
        }
        if let Some(setting) = self.first_of_brunt() {
            return Some(format!("{name} has no {setting}: remove it, or use tester brunt"));
        }
        if self.vary.is_some() {
            return Some(format!("{name} sends equal requests: vary = 1, or tester brunt"));
        }
        (!self.keeps_alive() && !tester.supports_no_keepalive).then(|| {
            let others = others(|other| other.supports_no_keepalive);
            format!("{name} cannot open a connection for each request: keepalive = true, or {others}")
        })
    }

    /// The first setting that only `brunt load` has.
    fn first_of_brunt(&self) -> Option<&'static str> {
        let given = [
            ("stages", !self.stages.is_empty()),
            ("names", !self.names.is_empty()),
            ("second path", self.paths().nth(1).is_some()),
            ("request_file", self.request_file.is_some()),
            ("replay", self.replay.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(name, _)| name).or_else(|| self.first_direct())
    }

    /// Why `brunt load` cannot make this load, if it cannot.
    fn own_limitation(&self) -> Option<String> {
        if self.path.is_none() {
            let of_http = [
                ("vary", self.vary.is_some()),
                ("names", !self.names.is_empty()),
                ("request_file", self.request_file.is_some()),
                ("replay", self.replay.is_some()),
            ];
            let given = of_http.into_iter().find(|(_, given)| *given).map(|(name, _)| name);
            return given.or_else(|| self.first_direct_of_http()).map(without_path);
        }
        let (names, paths) = (self.names.len(), self.paths().count());
        let file = [("request_file", self.request_file.is_some()), ("replay", self.replay.is_some())];
        let file = file.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect::<Vec<_>>();
        match file[..] {
            [] if self.speed.is_some() => Some("speed is that of a replay: add replay, or remove speed".to_owned()),
            [] if names > 0 && names != paths => {
                Some(format!("names has {names} names for {paths} paths: one for each, separated by commas"))
            }
            [] => None,
            [name] if names > 0 => Some(format!("names and {name}: the requests of a file have names of their own")),
            [name] if paths > 1 => Some(format!("{name} has the requests of the load: path is then one, \"/\"")),
            ["replay"] => {
                let rivals = [
                    ("rate", self.rate.is_some()),
                    ("stages", !self.stages.is_empty()),
                    ("arrival", self.arrival.is_some()),
                    ("requests", self.requests.is_some()),
                    ("vary", self.vary.is_some()),
                    ("steady", self.steady == Some(true)),
                ];
                let rival = rivals.into_iter().find(|(_, given)| *given);
                rival
                    .map(|(rival, _)| format!("{rival} and replay: the log says what is sent and when; remove {rival}"))
            }
            [_] if self.speed.is_some() => Some("speed is that of a replay, and request_file has no times".to_owned()),
            [_] => None,
            _ => Some("request_file and replay exclude each other: keep one".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_that_ends_by_rule_has_room_for_the_seconds_that_are_judged() {
        let limitation = |warmup: &str| {
            let mut settings = Settings::default();
            settings.set("steady", "true").unwrap();
            settings.set("warmup", warmup).unwrap();
            settings.tester_limitation()
        };
        assert!(limitation("9s").unwrap().ends_with("warmup = \"10s\" or longer"));
        assert_eq!(limitation("10s"), None);
    }

    #[test]
    fn limits_of_files_and_names_are_told() {
        for (given, says) in [
            (&[("request_file", "a.har")][..], "add path"),
            (&[("path", "/"), ("speed", "2")], "add replay"),
            (&[("path", "/ /b"), ("names", "a")], "1 names for 2 paths"),
            (&[("path", "/"), ("replay", "a.log"), ("rate", "1k")], "rate and replay"),
            (&[("path", "/"), ("replay", "a.log"), ("request_file", "a.har")], "exclude each other"),
            (&[("path", "/ /b"), ("request_file", "a.har")], "path is then one"),
            (&[("path", "/"), ("tester", "wrk"), ("request_file", "a.har")], "wrk has no request_file"),
            (&[("path", "/ /b"), ("tester", "wrk")], "wrk has no second path"),
            (&[("path", "/"), ("tester", "oha"), ("stages", "1k@1s")], "oha has no stages"),
        ] {
            let mut settings = Settings::default();
            given.iter().for_each(|(name, value)| drop(settings.set(name, value).unwrap()));
            let limitation = settings.tester_limitation().unwrap();
            assert!(limitation.contains(says), "{limitation}");
        }
        let mut settings = Settings::default();
        for (name, value) in [("path", "/"), ("replay", "a.log"), ("speed", "2")] {
            settings.set(name, value).unwrap();
        }
        assert_eq!(settings.tester_limitation(), None);
    }
}
