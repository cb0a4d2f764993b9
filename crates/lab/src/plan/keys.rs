//! The tables of keys of a plan. Error messages, the published JSON Schema and the test of the commented example use them.

use super::{
    key::{Key, ValueType, optional, required},
    settings::TABLE,
};

/// Names with a fixed meaning, which no axis may have.
pub const TAKEN: &[&str] = &["target", "repeat", "phase"];

pub fn names(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

pub const PLAN: &[Key] = &[
    required("name", ValueType::Name, "Names the directory of the run: 1 to 64 letters, digits, - _ . or +."),
    optional("description", ValueType::Text, "One line for people."),
    optional(
        "seed",
        ValueType::Whole(0, i64::MAX as u64),
        "Of the order of the trials and of everything random in their load. Default 1.",
    ),
    optional("repeats", ValueType::Whole(1, 1000), "Trials of each cell. Default 3."),
    Key {
        alias: Some("again"),
        ..optional(
            "retries",
            ValueType::Whole(0, 100),
            "How often at most a trial disturbed by a slow spell of the machine is run again. Default 1; 0: never.",
        )
    },
    optional(
        "best_over",
        ValueType::Text,
        "Begin the report with the best values of this name, for each target and the rest.",
    ),
    optional(
        "baseline",
        ValueType::Text,
        "A target: adds a column with the throughput of the others over its own, repeat by repeat.",
    ),
    optional(
        "style",
        ValueType::OneOf(&["plain", "ping-pong", "upstreams"]),
        "Layout of the printed table. Default plain.",
    ),
    optional("load", ValueType::Settings, "What no sweep varies."),
    optional(
        "sweep",
        ValueType::Sweep,
        "Lists of values, all combined with each other; [[sweep]] several times for several such products.",
    ),
    optional(
        "phase",
        ValueType::Tables(PHASE),
        "Loads that follow each other on one start of a target, in this order. Each has a row in the report and is a run of the tester of its own.",
    ),
    optional(
        "override",
        ValueType::Tables(OVERRIDE),
        "Values for some of the cells; of several that match, a later one wins.",
    ),
    required("target", ValueType::Targets, "The servers under test, in the order in which reports show them."),
    optional(
        "testers",
        ValueType::Testers,
        "Words added to the command line of a tester; with placeholders for the load and axes of the plan's own.",
    ),
];

/// What `[load]` sets, `[sweep]` varies, and phases and overrides replace.
pub const SETTINGS: &[Key] = &settings();

const fn settings() -> [Key; TABLE.len()] {
    let mut keys = [TABLE[0].key; TABLE.len()];
    let mut index = 0;
    while index < keys.len() {
        keys[index] = TABLE[index].key;
        index += 1;
    }
    keys
}

pub const PHASE: &[Key] = &phase();

/// A name and every setting except the cores, which are fixed when the target is started.
const fn phase() -> [Key; TABLE.len() - 1] {
    let name = required("name", ValueType::Name, "Names it in reports, in --only, and in filters as phase.");
    let mut keys = [name; TABLE.len() - 1];
    let (mut from, mut to) = (0, 1);
    while from < TABLE.len() {
        keys[to] = TABLE[from].key;
        from += 1;
        match keys[to].value_type {
            ValueType::Cores | ValueType::ClientCores => continue,
            // Of the two rates only the total can be a share.
            ValueType::Rate if keys[to].name.len() == "rate".len() => {
                keys[to] = optional(
                    "rate",
                    ValueType::Share,
                    "Offered requests per second in total; max is the closed loop; 50% is that share of the cell's rate.",
                );
            }
            _ => {}
        }
        to += 1;
    }
    keys
}

/// Filters of cells.
pub const FILTER: &[Key] = &[
    optional(
        "when",
        ValueType::Patterns,
        "The cells meant: each name has one of its values. Of a list of tables any one must match.",
    ),
    optional("except", ValueType::Patterns, "The cells not meant, in the same form."),
];

pub const OVERRIDE: &[Key] = &[
    FILTER[0],
    FILTER[1],
    required("set", ValueType::Settings, "What these cells have in the place of the values of [load] and [[phase]]."),
];

pub const TARGET: &[Key] = &[
    required("name", ValueType::Name, "Names it in reports and on the command line."),
    optional("serve", ValueType::Table(SERVE), "A server of brunt itself."),
    optional(
        "command",
        ValueType::Command,
        "Any program that stays in the foreground: a list of words with placeholders; no shell reads it.",
    ),
    optional("nginx", ValueType::Table(NGINX), "nginx, with a configuration made for the trial."),
    optional(
        "dir",
        ValueType::Text,
        "The folder in which command, build, before and after run; from the plan's folder.",
    ),
    optional("build", ValueType::Command, "Run once, before the first trial."),
    optional("needs", ValueType::Words, "Programs, or io_uring, without which the target is skipped."),
    optional(
        "before",
        ValueType::Command,
        "Run before each start of the target. What it leaves running in the background is ended after the trial.",
    ),
    optional(
        "after",
        ValueType::Command,
        "Run when the target has been stopped, also when the trial failed or was interrupted.",
    ),
    optional("hook_timeout", ValueType::Span, "How long before and after may take, each. Default 1m."),
    optional("env", ValueType::Env, "Added to the environment of command, before and after; values with placeholders."),
    optional("ready", ValueType::OneOf(&["connect"]), "When it counts as ready: when it accepts a connection."),
    optional("ready_timeout", ValueType::Span, "How long it may take to accept its first connection. Default 10s."),
    optional("max_server_cores", ValueType::Whole(1, 1024), "Cells with more are skipped."),
    optional(
        "pin",
        ValueType::Pin,
        "true, the default: on the highest-numbered cores of the machine; a list such as \"4-7\": on these; false: wherever the scheduler puts it.",
    ),
    optional("limits", ValueType::Table(LIMITS), "What its process may use at most."),
    FILTER[0],
    FILTER[1],
    optional("skip", ValueType::Text, "Why it is left out; without this key it is not."),
];

pub const SERVE: &[Key] = &[
    required("service", ValueType::OneOf(SERVICES), "What it does, as brunt serve names it."),
    required("model", ValueType::OneOf(MODELS), "How it waits for connections."),
    optional("args", ValueType::Words, "Further arguments of brunt serve, with placeholders."),
];

/// Services of `brunt serve` that a plan can use.
pub const SERVICES: &[&str] = &["echo", "http"];
/// Models of `brunt serve echo`.
pub const MODELS: &[&str] = &[
    "uring",
    "epoll",
    "tokio",
    "tokio-each",
    "thread",
    "poll",
    "epoll-one",
    "epoll-each",
    "acceptor",
    "prefork",
    "pool",
];
/// Models of `brunt serve http`.
pub const HTTP_MODELS: &[&str] = &["uring", "epoll", "tokio"];

pub const NGINX: &[Key] = &[required("body", ValueType::Text, "Every request is answered with status 200 and this.")];

pub const LIMITS: &[Key] = &[
    optional("nofile", ValueType::Count, "Open files (RLIMIT_NOFILE)."),
    optional(
        "memory",
        ValueType::Size,
        "What it and its children may hold together (a control group); where none can be made, address space (RLIMIT_AS).",
    ),
    optional("memlock", ValueType::Size, "Locked memory (RLIMIT_MEMLOCK)."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_has_every_setting_but_the_cores() {
        let kept = names(SETTINGS).into_iter().filter(|name| !name.ends_with("_cores"));
        assert_eq!(names(PHASE)[1..], kept.collect::<Vec<_>>());
    }
}
