//! The tables of keys of a plan. Error messages, the published JSON Schema and the test of the commented example use them.

use super::key::{Key, ValueType, optional, required};
use super::settings::KEYS;

/// Names with a fixed meaning, which no axis may have.
pub const TAKEN: &[&str] = &["target", "repeat", "phase"];

pub fn names(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

pub const PLAN: &[Key] = &[
    required("name", ValueType::Name, "Names the directory of the run: 1 to 64 letters, digits, - _ . or +."),
    optional("description", ValueType::Text, "One line for people."),
    optional("seed", ValueType::Whole(0, i64::MAX as u64), "Seed of order and load. Default 1."),
    optional(
        "repeats",
        ValueType::Whole(1, 1000),
        "Trials of each cell; by slices, fewest starts of its target. Default 3.",
    ),
    optional(
        "order",
        ValueType::OneOf(&["slices", "trials"]),
        "slices: targets take turns every tenth of a second; trials: one after the other. Default slices if possible.",
    ),
    optional("slice", ValueType::Span, "Length of a slice; longer where replies are few. Default 100ms."),
    optional("margin", ValueType::Percent, "Differences below it do not matter. Default 3%."),
    optional(
        "precision",
        ValueType::Percent,
        "Half width of the intervals at which a load is done. Default margin / 2.",
    ),
    optional("budget", ValueType::Span, "Longest time for the slices of one load. Default 60s."),
    Key {
        alias: Some("again"),
        ..optional(
            "retries",
            ValueType::Whole(0, 100),
            "No effect: plans of earlier versions have it. Disturbed trials are marked, and not run again.",
        )
    },
    optional("best_over", ValueType::Text, "Begins the report with the best values of this name for each target."),
    optional("baseline", ValueType::Text, "A target: adds a column with throughput relative to it."),
    optional("fail_if", ValueType::Words, "Bounds on every trial: \"p99>50ms\", \"cart:errors>1%\"."),
    optional(
        "style",
        ValueType::OneOf(&["plain", "ping-pong", "upstreams", "interference", "heracles", "cost"]),
        "Layout of the printed table. Default plain.",
    ),
    optional("load", ValueType::Settings, "Values that no sweep varies."),
    optional("sweep", ValueType::Sweep, "Lists of values, all combined; [[sweep]] for several products."),
    optional("phase", ValueType::Tables(PHASE), "Consecutive loads on one start of a target, each with its own row."),
    optional("override", ValueType::Tables(OVERRIDE), "Values for some cells; the last that matches wins."),
    optional(
        "hosts",
        ValueType::Env,
        "Machines of a fleet by name, as --on takes agents: sut = \"role=server\"; load: those that make the load.",
    ),
    required("target", ValueType::Targets, "The servers under test, in report order."),
    optional("colocation", ValueType::Table(COLOCATION), "The service, for controllers of jobs beside it."),
    optional("co_runner", ValueType::Tables(CO_RUNNER), "Best-effort jobs to run beside a target."),
    optional("testers", ValueType::Testers, "Words added to a tester's command line, with placeholders of the load."),
];

/// What `[load]` sets, `[sweep]` varies, and phases and overrides replace.
pub const SETTINGS: &[Key] = KEYS;

pub const PHASE: &[Key] = &phase();

/// A name and every setting except the cores, which are fixed when the target is started.
const fn phase() -> [Key; KEYS.len() - 1] {
    let name = required("name", ValueType::Name, "Names it in reports, in --only, and in filters as phase.");
    let mut keys = [name; KEYS.len() - 1];
    let (mut from, mut to) = (0, 1);
    while from < KEYS.len() {
        keys[to] = KEYS[from];
        from += 1;
        match keys[to].value_type {
            ValueType::Cores | ValueType::ClientCores => continue,
            // Of the two rates only the total can be a share.
            ValueType::Rate if keys[to].name.len() == "rate".len() => {
                keys[to] = optional(
                    "rate",
                    ValueType::Share,
                    "Offered requests per second; max: closed loop; 50%: share of the cell's rate.",
                );
            }
            _ => {}
        }
        to += 1;
    }
    keys
}

pub const FILTER: &[Key] = &[
    optional("when", ValueType::Patterns, "Cells included: each name has one of its values; any table of a list."),
    optional("except", ValueType::Patterns, "Cells excluded, in the same form."),
];

pub const OVERRIDE: &[Key] =
    &[FILTER[0], FILTER[1], required("set", ValueType::Settings, "Values that replace those of [load] and [[phase]].")];

pub const TARGET: &[Key] = &[
    required("name", ValueType::Name, "Names it in reports and on the command line."),
    optional("serve", ValueType::Table(SERVE), "A server of brunt itself."),
    optional("command", ValueType::Command, "A program that stays in the foreground; words with placeholders."),
    optional("nginx", ValueType::Table(NGINX), "nginx with a generated configuration."),
    optional("on", ValueType::Text, "A name of [hosts]: its agent starts the target of this name in its own file."),
    optional("dir", ValueType::Text, "Working folder of build, before, command and after, relative to the plan."),
    optional("build", ValueType::Command, "Run once, before the first trial."),
    optional("needs", ValueType::Words, "Programs, or io_uring, without which it is skipped."),
    optional("before", ValueType::Command, "Run before each start; its background processes end with the trial."),
    optional("after", ValueType::Command, "Run after each stop, also after failures and interruptions."),
    optional("hook_timeout", ValueType::Span, "Time limit of before and of after. Default 1m."),
    optional("env", ValueType::Env, "Environment of before, command and after, with placeholders."),
    optional("ready", ValueType::OneOf(&["connect"]), "Readiness check: it accepts a connection."),
    optional("ready_timeout", ValueType::Span, "Time limit for its first accepted connection. Default 10s."),
    optional("max_server_cores", ValueType::Whole(1, 1024), "Cells with more are skipped."),
    optional(
        "single_process",
        ValueType::Bool,
        "true: one process holds all connections; cells with more than its open files are skipped.",
    ),
    optional("pin", ValueType::Pin, "true (default): the highest-numbered cores; \"4-7\": these; false: any core."),
    optional("limits", ValueType::Table(LIMITS), "Resource limits of its processes."),
    optional("service", ValueType::Table(SERVICE), "What counts as a part of it beside its own processes."),
    FILTER[0],
    FILTER[1],
    optional("skip", ValueType::Text, "Skips it; the reason."),
];

pub const SERVE: &[Key] = &[
    required("service", ValueType::OneOf(SERVICES), "A service of brunt serve."),
    required("model", ValueType::OneOf(MODELS), "Its I/O model."),
    optional("args", ValueType::Words, "Further arguments of brunt serve, with placeholders."),
];

pub const SERVICES: &[&str] = &["echo", "discard", "http"];
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
pub const HTTP_MODELS: &[&str] = &["uring", "epoll", "tokio"];

pub const NGINX: &[Key] = &[
    required("body", ValueType::Text, "Body of every reply."),
    optional(
        "keepalive_requests",
        ValueType::Whole(1, 1_000_000_000),
        "Requests after which nginx closes a connection. Default no limit.",
    ),
];

pub const COLOCATION: &[Key] = &[
    required("slo", ValueType::Text, "The service's objective: p99<6ms."),
    required("peak", ValueType::Count, "Requests a second at which its load is 100 %."),
    optional("cores", ValueType::Text, "Cores of the jobs, such as 1 or 2-3. Default: the server's."),
];

pub const CO_RUNNER: &[Key] = &[
    required("name", ValueType::Name, "Names it in co_runner and in reports."),
    required("command", ValueType::Command, "Repeated as long as the trial lasts; words with placeholders."),
    optional("progress", ValueType::Text, "Pattern of the work done, in its output. Default: its CPU time."),
    optional("resource", ValueType::Text, "What it competes for, for reports."),
];

pub const SERVICE: &[Key] = &[
    optional("only_listener", ValueType::Bool, "true: not what it is connected to on this machine."),
    optional("without", ValueType::Words, "Names of processes that are left out, such as a shared database."),
    optional("also_cgroup", ValueType::Words, "Control groups that are parts of it, by their paths."),
    optional("also_unit", ValueType::Words, "Units of systemd that are parts of it."),
];

pub const LIMITS: &[Key] = &[
    optional("nofile", ValueType::Count, "Open files (RLIMIT_NOFILE)."),
    optional("memory", ValueType::Size, "Memory of the target and its children (control group, else RLIMIT_AS)."),
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
