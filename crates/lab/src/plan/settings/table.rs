//! The table of settings.

use super::requests::{MOST_CONNECTIONS, factor, file, is_staged, name, path, span, stages};
use super::{Amount, ClientCores, Settings, direct};
use crate::plan::key::{Key, ValueType, optional};
use crate::plan::tester::BRUNT;
use crate::plan::{policy, tester};
use brunt_diagnostic::suggest::did_you_mean;
use brunt_results::percentile::{self, Percentile};
use brunt_results::{Count, Rate, Size, UnitError};
use brunt_spec::{Arrival, Backend};
use std::fmt;

#[derive(Debug)]
pub struct Setting {
    pub key: Key,
    /// Parses a value, stores it and returns its normal form; the error lists valid forms.
    pub(super) set: fn(&mut Settings, &str) -> Result<String, String>,
    /// The value as shown and selected; `None` if it has none.
    pub(super) get: fn(&Settings) -> Option<String>,
}

/// The settings that a plan resolves itself, in the order in which reports show and sort them.
pub const TABLE: &[Setting] = &[
    Setting {
        key: optional("tester", ValueType::Tester, "The load generator. Default brunt."),
        set: |settings, text| {
            let names = tester::names();
            if !names.contains(&text) {
                return Err(format!("'{text}' is not a tester{}", did_you_mean(text, &names)));
            }
            settings.tester = (text != BRUNT).then(|| text.to_owned());
            Ok(text.to_owned())
        },
        get: |settings| Some(settings.tester.clone().unwrap_or(BRUNT.to_owned())),
    },
    Setting {
        key: optional("server_cores", ValueType::Cores, "Cores of the target. Default 1."),
        set: |settings, text| store(&mut settings.server_cores, cores(text)?),
        get: |settings| Some(settings.server_cores.to_string()),
    },
    Setting {
        key: optional(
            "client_cores",
            ValueType::ClientCores,
            "Cores of the generator: 2, 4x (per server core) or rest. Default 1.",
        ),
        set: |settings, text| store(&mut settings.client_cores, client_cores(text)?),
        get: |settings| Some(settings.client_cores.to_string()),
    },
    Setting {
        key: optional(
            "client_backend",
            ValueType::OneOf(BACKENDS),
            "Kernel interface of the generator. Default uring if available, else epoll.",
        ),
        set: |settings, text| {
            if !BACKENDS.contains(&text) {
                return Err(format!("'{text}' is not a backend: uring or epoll"));
            }
            store_some(&mut settings.client_backend, text.to_owned())
        },
        get: |settings| settings.client_backend.clone(),
    },
    Setting {
        key: optional(
            "client_threads",
            ValueType::Count,
            "Threads of the generator, as many on each of its cores. Default one for each core.",
        ),
        set: |settings, text| {
            let count = count(text, MOST_THREADS)?;
            settings.client_threads = Some(count.0);
            Ok(count.to_string())
        },
        get: |settings| settings.client_threads.map(|threads| Count(threads).to_string()),
    },
    Setting {
        key: optional(
            "path",
            ValueType::Path,
            "Path of HTTP requests, as /bytes/{size}, or several; without it ping-pong.",
        ),
        set: |settings, text| store_some(&mut settings.path, path(text)?),
        get: |settings| settings.path.clone(),
    },
    Setting {
        key: optional("keepalive", ValueType::Truth, "HTTP: false opens a connection for each request. Default true."),
        set: |settings, text| store_some(&mut settings.keepalive, truth(text)?),
        get: |settings| settings.keepalive.or(settings.path.as_ref().map(|_| true)).map(|keeps| keeps.to_string()),
    },
    Setting {
        key: optional("vary", ValueType::Count, "HTTP: number of different requests, sent in turn. Default 1."),
        set: |settings, text| {
            let count = count(text, MOST_VARIANTS)?;
            settings.vary = Some(count.0).filter(|variants| *variants > 1);
            Ok(count.to_string())
        },
        get: |settings| settings.vary.or(settings.path.as_ref().map(|_| 1)).map(|variants| Count(variants).to_string()),
    },
    Setting {
        key: optional(
            "names",
            ValueType::Text,
            "HTTP: a name of each path, whose figures are told apart: \"home,cart\".",
        ),
        set: |settings, text| {
            settings.names = text.split(',').map(name).collect::<Result<_, _>>()?;
            Ok(settings.names.join(","))
        },
        get: |settings| Some(settings.names.join(",")).filter(|names| !names.is_empty()),
    },
    Setting {
        key: optional(
            "request_file",
            ValueType::Text,
            "HTTP: file of the requests, relative to the plan: curl lines, HAR or vegeta's targets.",
        ),
        set: |settings, text| store_some(&mut settings.request_file, file(text)?),
        get: |settings| settings.request_file.clone(),
    },
    Setting {
        key: optional("replay", ValueType::Text, "HTTP: access log, relative to the plan, sent at its own times."),
        set: |settings, text| store_some(&mut settings.replay, file(text)?),
        get: |settings| settings.replay.clone(),
    },
    Setting {
        key: optional("speed", ValueType::Factor, "Of a replay: 2 is twice as fast, 0.5 half. Default 1."),
        set: |settings, text| store_some(&mut settings.speed, factor(text)?),
        get: |settings| settings.speed.map(|speed| speed.to_string()),
    },
    Setting {
        key: optional("tls", ValueType::Truth, "HTTP over TLS. Default false."),
        set: |settings, text| store_some(&mut settings.tls, truth(text)?),
        get: |settings| settings.tls.or(settings.path.as_ref().map(|_| false)).map(|tls| tls.to_string()),
    },
    Setting {
        key: optional("size", ValueType::Size, "Payload of a request in ping-pong. Default 100B."),
        set: |settings, text| {
            let size: Size = text.parse().map_err(|e: UnitError| e.to_string())?;
            match size.0 {
                1..=0x4000_0000 => store(&mut settings.size, size),
                _ => Err(format!("'{text}' is not a size from 1B to 1GiB")),
            }
        },
        get: |settings| Some(settings.size.to_string()),
    },
    Setting {
        key: optional("connections", ValueType::Count, "Connections in total."),
        set: |settings, text| connections(settings, text, Amount::Total),
        get: |settings| match settings.connections? {
            Amount::Total(n) => Some(Count(n).to_string()),
            Amount::PerCore(_) => None,
        },
    },
    Setting {
        key: optional("connections_per_core", ValueType::Count, "Connections for each generator core."),
        set: |settings, text| connections(settings, text, Amount::PerCore),
        get: |settings| match settings.connections? {
            Amount::PerCore(n) => Some(Count(n).to_string()),
            Amount::Total(_) => None,
        },
    },
    Setting {
        key: optional("rate", ValueType::Rate, "Offered requests per second; max (default): closed loop."),
        set: |settings, text| rate(settings, text, Amount::Total),
        get: |settings| (!is_per_core(&settings.rate)).then(|| rate_text(&settings.rate)),
    },
    Setting {
        key: optional("rate_per_core", ValueType::Rate, "Offered requests per second for each generator core."),
        set: |settings, text| rate(settings, text, Amount::PerCore),
        get: |settings| is_per_core(&settings.rate).then(|| rate_text(&settings.rate)),
    },
    Setting {
        key: optional(
            "stages",
            ValueType::Text,
            "Rates, or connections of a closed loop, one after another, with their times, instead of duration.",
        ),
        set: stages,
        get: |settings| Some(settings.stages.join(",")).filter(|stages| !stages.is_empty()),
    },
    Setting {
        key: optional("arrival", ValueType::OneOf(ARRIVALS), "Gaps between requests of a rate: constant or poisson."),
        set: |settings, text| {
            if !ARRIVALS.contains(&text) {
                return Err(format!("'{text}' is not an arrival process: constant or poisson"));
            }
            store_some(&mut settings.arrival, text.to_owned())
        },
        get: |settings| settings.arrival.clone(),
    },
    Setting {
        key: optional("duration", ValueType::Span, "Length of the measured window. Default 3s."),
        set: |settings, text| {
            settings.stages.clear();
            store(&mut settings.duration, span(text, 1)?)
        },
        get: |settings| Some(settings.duration.to_string()),
    },
    Setting {
        key: optional(
            "requests",
            ValueType::Count,
            "Requests after which the load ends, if its duration is not over. Default no such number.",
        ),
        set: |settings, text| {
            let count = count(text, MOST_REQUESTS)?;
            settings.requests = Some(count.0);
            Ok(count.to_string())
        },
        get: |settings| settings.requests.map(|requests| Count(requests).to_string()),
    },
    Setting {
        key: optional("warmup", ValueType::Span, "Load before the window. Default 500ms."),
        set: |settings, text| store(&mut settings.warmup, span(text, 0)?),
        get: |settings| Some(settings.warmup.to_string()),
    },
    Setting {
        key: optional(
            "steady",
            ValueType::Truth,
            "The warm-up ends as soon as the load is steady, at the latest after `warmup`. Default false.",
        ),
        set: |settings, text| store_some(&mut settings.steady, truth(text)?),
        get: |settings| settings.steady.map(|steady| steady.to_string()),
    },
    Setting {
        key: optional("timeout", ValueType::Span, "Time limit of a request. Default: the tester's own."),
        set: |settings, text| store_some(&mut settings.timeout, span(text, 1)?),
        get: |settings| settings.timeout.map(|timeout| timeout.to_string()),
    },
    Setting {
        key: optional(
            "percentiles",
            ValueType::Text,
            "Response-time percentiles beside p50, p90, p95, p99 and p99.9: \"97.5,99.99\".",
        ),
        set: |settings, text| {
            let all = text.split(',').map(str::parse).collect::<Result<Vec<Percentile>, _>>();
            settings.percentiles = all.map_err(|error| error.to_string())?;
            Ok(percentile::list(&settings.percentiles))
        },
        get: |settings| Some(percentile::list(&settings.percentiles)).filter(|list| !list.is_empty()),
    },
    Setting {
        key: optional("co_runner", ValueType::Name, "The [[co_runner]] whose jobs run beside the target."),
        set: |settings, text| store_some(&mut settings.co_runner, policy::co_runner(text)?),
        get: |settings| settings.co_runner.clone(),
    },
    Setting {
        key: optional(
            "policy",
            ValueType::Policy,
            "What the jobs get: alone (no jobs), none, static=CORES, graded, ...",
        ),
        set: |settings, text| store_some(&mut settings.policy, policy::policy(text)?),
        get: |settings| settings.policy.clone(),
    },
];

const BACKENDS: &[&str] = Backend::WORDS;
const ARRIVALS: &[&str] = Arrival::WORDS;

/// Every setting, in the order in which reports show and sort them.
pub const KEYS: &[Key] = &{
    let mut keys = [TABLE[0].key; TABLE.len() + direct::COUNT];
    let mut index = 0;
    while index < keys.len() {
        keys[index] = if index < TABLE.len() { TABLE[index].key } else { direct::key(index - TABLE.len()) };
        index += 1;
    }
    keys
};

pub const NAMES: &[&str] = &{
    let mut names = [""; KEYS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = KEYS[index].name;
        index += 1;
    }
    names
};

fn store<T: fmt::Display>(field: &mut T, value: T) -> Result<String, String> {
    *field = value;
    Ok(field.to_string())
}

fn store_some<T: fmt::Display>(field: &mut Option<T>, value: T) -> Result<String, String> {
    let text = value.to_string();
    *field = Some(value);
    Ok(text)
}

const MAX: &str = "max";

fn truth(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| format!("'{text}' is neither true nor false"))
}

fn rate_text(rate: &Option<Amount<f64>>) -> String {
    match rate {
        None => MAX.to_owned(),
        Some(Amount::Total(r) | Amount::PerCore(r)) => Rate(*r).to_string(),
    }
}

fn is_per_core(rate: &Option<Amount<f64>>) -> bool {
    matches!(rate, Some(Amount::PerCore(_)))
}

fn rate(settings: &mut Settings, text: &str, amount: fn(f64) -> Amount<f64>) -> Result<String, String> {
    let rate = || text.parse().map_err(|e: UnitError| format!("{e}, or 'max' for a closed loop"));
    if is_staged(settings, |stage| stage.rate().is_some()) {
        settings.stages.clear();
    }
    settings.rate = if text == MAX { None } else { rate().map(|rate: Rate| Some(amount(rate.0)))? };
    Ok(rate_text(&settings.rate))
}

fn connections(settings: &mut Settings, text: &str, amount: fn(u64) -> Amount<u64>) -> Result<String, String> {
    let count = count(text, MOST_CONNECTIONS)?;
    if is_staged(settings, |stage| stage.connections().is_some()) {
        settings.stages.clear();
    }
    settings.connections = Some(amount(count.0));
    Ok(count.to_string())
}

fn cores(text: &str) -> Result<usize, String> {
    // A Linux affinity mask of the usual size holds 1024 cores.
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

/// The most that `brunt load -t` takes.
const MOST_THREADS: Count = Count(1024);

/// Hours at the highest rates.
const MOST_REQUESTS: Count = Count(100_000_000_000);

/// The most that `brunt load --vary` takes with one URL.
const MOST_VARIANTS: Count = Count(1 << 20);

fn count(text: &str, most: Count) -> Result<Count, String> {
    let count: Count = text.parse().map_err(|e: UnitError| e.to_string())?;
    match (1..=most.0).contains(&count.0) {
        true => Ok(count),
        false => Err(format!("'{text}' is not a count from 1 to {most}")),
    }
}
