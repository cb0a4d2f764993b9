//! Every key of a plan, with what it takes and what it means: the one list that the reader's messages, the published
//! JSON Schema and the test of the commented example are made of.

/// One key of a table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// What may stand behind it.
    pub takes: Takes,
    /// Whether a table without it is refused.
    pub needed: bool,
    /// For people.
    pub says: &'static str,
}

/// What may stand behind a key.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    /// A text that can name a directory.
    Name,
    /// Any text.
    Text,
    /// A list of texts.
    Words,
    /// A command: a program and its arguments.
    Command,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A whole number within these bounds, both included.
    Whole(u64, u64),
    /// `80`, `20k`, `1M`.
    Count,
    /// A count of requests per second, or `max`.
    Rate,
    /// The same, or a share of another rate: `50%`.
    Share,
    /// `100B`, `1KiB`.
    Size,
    /// `500us`, `10s`.
    Span,
    /// True or false.
    Truth,
    /// A number of cores.
    Cores,
    /// A number of cores, `4x` or `rest`.
    ClientCores,
    /// Begins with a slash.
    Path,
    /// True, false or a list of cores.
    Pin,
    /// The name of a tester.
    Tester,
    /// For each tester a list of words.
    Testers,
    /// Environment variables.
    Env,
    /// Names and the values that match, or a list of such tables.
    Patterns,
    /// A table of settings.
    Settings,
    /// One table with these keys.
    Table(&'static [Key]),
    /// Tables in double brackets with these keys.
    Tables(&'static [Key]),
    /// `[[target]]`s.
    Targets,
    /// Of each setting one value or a list of them, axes of the plan's own, and filters; one table or several.
    Sweep,
}

const fn may(name: &'static str, takes: Takes, says: &'static str) -> Key {
    Key { name, takes, needed: false, says }
}

const fn must(name: &'static str, takes: Takes, says: &'static str) -> Key {
    Key { name, takes, needed: true, says }
}

/// Names that tell cells apart beside the axes, or are about to.
pub const TAKEN: &[&str] = &["target", "repeat", "phase"];

/// The names of these keys.
pub fn names(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// The plan itself.
pub const PLAN: &[Key] = &[
    must("name", Takes::Name, "Names the directory of the run: 1 to 64 letters, digits, - _ . or +."),
    may("description", Takes::Text, "One line for people."),
    may(
        "seed",
        Takes::Whole(0, i64::MAX as u64),
        "Of the order of the trials and of everything random in their load. Default 1.",
    ),
    may("repeats", Takes::Whole(1, 1000), "Trials of each cell. Default 3."),
    may(
        "again",
        Takes::Whole(0, 100),
        "How often a trial is run again at most that a slow spell of the machine has disturbed. Default 1; 0: never.",
    ),
    may("best_over", Takes::Text, "Begin the report with the best values of this name, for each target and the rest."),
    may(
        "baseline",
        Takes::Text,
        "A target: adds a column with the throughput of the others over its own, repeat by repeat.",
    ),
    may("style", Takes::OneOf(&["plain", "ping-pong", "upstreams"]), "Layout of the printed table. Default plain."),
    may("load", Takes::Settings, "What no sweep varies."),
    may(
        "sweep",
        Takes::Sweep,
        "Lists of values, all combined with each other; [[sweep]] several times for several such products.",
    ),
    may(
        "phase",
        Takes::Tables(PHASE),
        "Loads that follow each other on one start of a target, in this order. Each has a row in the report and is a run of the tester of its own.",
    ),
    may("override", Takes::Tables(OVERRIDE), "Values for some of the cells; of several that match, a later one wins."),
    must("target", Takes::Targets, "The servers under test, in the order in which reports show them."),
    may(
        "testers",
        Takes::Testers,
        "Words added to the command line of a tester; with placeholders for the load and axes of the plan's own.",
    ),
];

/// What `[load]` sets, `[sweep]` varies, and phases and overrides replace; as [`crate::plan::settings::NAMES`].
pub const SETTINGS: &[Key] = &[
    may("tester", Takes::Tester, "Who makes the load. Default brunt."),
    may("server_cores", Takes::Cores, "Cores of the target. Default 1."),
    may(
        "client_cores",
        Takes::ClientCores,
        "Cores of the generator: a number, 4x (for each core of the server), or rest. Default 1.",
    ),
    may(
        "path",
        Takes::Path,
        "What is asked for over HTTP, perhaps with placeholders, such as /bytes/{size}. Without it the load is ping-pong.",
    ),
    may("keepalive", Takes::Truth, "Over HTTP: false opens a connection for each request. Default true."),
    may(
        "tls",
        Takes::Truth,
        "Over HTTP: true puts TLS under it; servers of brunt and nginx are told so. Default false.",
    ),
    may("size", Takes::Size, "Payload of a request in ping-pong. Default 100B."),
    may("connections", Takes::Count, "Connections in total."),
    may("connections_per_core", Takes::Count, "Connections for each core of the generator."),
    may("rate", Takes::Rate, "Offered requests per second in total; max, the default, is the closed loop."),
    may("rate_per_core", Takes::Rate, "Offered requests per second for each core of the generator."),
    may(
        "arrival",
        Takes::OneOf(&["constant", "poisson"]),
        "When the requests of a rate are sent: in equal gaps or in random ones. Default constant.",
    ),
    may("duration", Takes::Span, "The measured window. Default 3s."),
    may("warmup", Takes::Span, "Load before it. Default 500ms."),
    may("timeout", Takes::Span, "A request without its reply after this long has failed. Default: the tester's own."),
];

/// `[[phase]]`.
pub const PHASE: &[Key] = &[
    must("name", Takes::Name, "Names it in reports, in --only, and in filters as phase."),
    SETTINGS[0],
    SETTINGS[3],
    SETTINGS[4],
    SETTINGS[5],
    SETTINGS[6],
    SETTINGS[7],
    SETTINGS[8],
    may(
        "rate",
        Takes::Share,
        "Offered requests per second in total; max is the closed loop; a percentage such as 50% is that share of the cell's rate.",
    ),
    SETTINGS[10],
    SETTINGS[11],
    SETTINGS[12],
    SETTINGS[13],
    SETTINGS[14],
];

/// What tells cells apart.
pub const FILTER: &[Key] = &[
    may(
        "when",
        Takes::Patterns,
        "The cells meant: each name has one of its values. Of a list of tables any one must match.",
    ),
    may("except", Takes::Patterns, "The cells not meant, in the same form."),
];

/// `[[override]]`.
pub const OVERRIDE: &[Key] = &[
    FILTER[0],
    FILTER[1],
    must("set", Takes::Settings, "What these cells have in the place of the values of [load] and [[phase]]."),
];

/// `[[target]]`.
pub const TARGET: &[Key] = &[
    must("name", Takes::Name, "Names it in reports and on the command line."),
    may("serve", Takes::Table(SERVE), "A server of brunt itself."),
    may(
        "command",
        Takes::Command,
        "Any program that stays in the foreground: a list of words with placeholders; no shell reads it.",
    ),
    may("nginx", Takes::Table(NGINX), "nginx, with a configuration made for the trial."),
    may("dir", Takes::Text, "The folder in which command, build, before and after run; from the plan's folder."),
    may("build", Takes::Command, "Run once, before the first trial."),
    may("needs", Takes::Words, "Programs, or io_uring, without which the target is skipped."),
    may(
        "before",
        Takes::Command,
        "Run before each start of the target. What it leaves running in the background is ended after the trial.",
    ),
    may(
        "after",
        Takes::Command,
        "Run when the target has been stopped, also when the trial failed or was interrupted.",
    ),
    may("hook_timeout", Takes::Span, "How long before and after may take, each. Default 1m."),
    may("env", Takes::Env, "Added to the environment of command, before and after; values with placeholders."),
    may("ready", Takes::OneOf(&["connect"]), "When it counts as ready: when it accepts a connection."),
    may("ready_timeout", Takes::Span, "How long it may take to accept its first connection. Default 10s."),
    may("max_server_cores", Takes::Whole(1, 1024), "Cells with more are skipped."),
    may(
        "pin",
        Takes::Pin,
        "true, the default: on the highest-numbered cores of the machine; a list such as \"4-7\": on these; false: wherever the scheduler puts it.",
    ),
    may("limits", Takes::Table(LIMITS), "What its process may use at most."),
    FILTER[0],
    FILTER[1],
    may("skip", Takes::Text, "Why it is left out; without this key it is not."),
];

/// `serve` of a target.
pub const SERVE: &[Key] = &[
    must("service", Takes::OneOf(SERVICES), "What it does, as brunt serve names it."),
    must("model", Takes::OneOf(MODELS), "How it waits for connections."),
    may("args", Takes::Words, "Further arguments of brunt serve, with placeholders."),
];

/// The services of `brunt serve` that an experiment can use.
pub const SERVICES: &[&str] = &["echo", "http"];
/// The models of `brunt serve echo`.
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
/// Those of them that `brunt serve http` has as well.
pub const HTTP_MODELS: &[&str] = &["uring", "epoll", "tokio"];

/// `nginx` of a target.
pub const NGINX: &[Key] = &[must("body", Takes::Text, "Every request is answered with status 200 and this.")];

/// `limits` of a target.
pub const LIMITS: &[Key] = &[
    may("nofile", Takes::Count, "Open files (RLIMIT_NOFILE)."),
    may(
        "memory",
        Takes::Size,
        "What it and its children may hold together (a control group); where none can be made, address space (RLIMIT_AS).",
    ),
    may("memlock", Takes::Size, "Locked memory (RLIMIT_MEMLOCK)."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_are_those_that_are_read() {
        assert_eq!(names(SETTINGS), crate::plan::settings::NAMES);
    }

    #[test]
    fn a_phase_has_every_setting_but_the_cores() {
        let kept = names(SETTINGS).into_iter().filter(|name| !name.ends_with("_cores"));
        assert_eq!(names(PHASE)[1..], kept.collect::<Vec<_>>());
    }
}
