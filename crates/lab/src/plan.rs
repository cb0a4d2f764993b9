//! Plans: what an experiment varies, on which targets, under which load. Plain data, parsed from TOML by [`read`].

pub mod builtin;
mod cli_overrides;
pub mod colocation;
mod filter;
pub mod hosts;
pub mod key;
pub mod keys;
mod parse;
pub mod phase;
pub mod policy;
mod references;
pub mod schema;
mod service;
pub mod settings;
pub mod slicing;
mod source;
mod target;
pub mod template;
pub mod tester;
mod validate;
pub mod versions;

use brunt_diagnostic::suggest::did_you_mean;
use brunt_results::{Cores, Count, Size, Span};
use colocation::{CoRunner, Colocation};
use fnv::FnvHasher;
use serde::{Deserialize, Serialize};
use settings::Settings;
use slicing::{Order, Slicing};
use std::{collections::BTreeMap, hash::Hasher, str::FromStr, time::Duration};

pub use brunt_diagnostic::Diagnostic as PlanError;
pub use filter::{Filter, Pattern};
pub use parse::read;
pub use phase::{Override, Phase};
pub use service::Service;

/// Name of the phase among the values of a cell.
pub const PHASE: &str = "phase";

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    pub name: String,
    pub description: String,
    /// Seed of the order and of the load.
    pub seed: u64,
    pub repeats: u32,
    /// `None`: see [`Self::is_sliced`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    #[serde(skip_serializing_if = "is_default")]
    pub slicing: Slicing,
    /// Values that no sweep varies.
    pub load: Settings,
    /// The cells of all sweeps are measured.
    pub sweeps: Vec<Sweep>,
    /// Consecutive loads on one start of a target; empty for a single load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// Values for some cells that replace those of load and phases; a later one wins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
    /// The report begins with the best values of this name for each target and combination of the rest.
    pub best_over: Option<String>,
    /// The target that others are compared with, repeat by repeat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Bounds on the result of every trial, as those of `brunt load`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fail_if: Vec<String>,
    /// Default layout of the printed table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// Machines of a fleet, by names of the plan: agents, as `brunt load --on` takes them. Those of [`hosts::LOAD`] make the load.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, String>,
    /// In the order in which reports show them.
    pub targets: Vec<Target>,
    /// The service as controllers of best-effort jobs see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub colocation: Option<Colocation>,
    /// Best-effort jobs that run beside a target.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub co_runners: Vec<CoRunner>,
    /// Words added to the command lines of testers, by name; with placeholders.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub testers: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Sweep {
    pub axes: Vec<Axis>,
    #[serde(skip_serializing_if = "Filter::is_empty")]
    pub filter: Filter,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// A name of [`settings::NAMES`], or one of the plan's own.
    pub name: String,
    /// In normal form, distinct, at least one.
    pub values: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Target {
    pub name: String,
    #[serde(rename = "start")]
    pub kind: TargetKind,
    /// The name of a host that starts it, as its owner says; `None` is this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Working folder of command, build and hooks, relative to the plan's folder.
    pub dir: Option<String>,
    /// Run once before the experiment, unless empty.
    pub build: Vec<String>,
    /// Programs without which the target is skipped.
    pub needs: Vec<String>,
    /// Run before each start of the target, unless empty; with placeholders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// Run after each stop of the target, even after failures, unless empty; with placeholders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    #[serde(skip_serializing_if = "is_hook_timeout")]
    pub hook_timeout: Span,
    /// Added to the environment; values with placeholders.
    pub env: BTreeMap<String, String>,
    /// Time limit for the first accepted connection.
    pub ready_timeout: Span,
    pub max_server_cores: Option<usize>,
    /// Whether one process holds all its connections.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub single_process: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub pin: Pin,
    #[serde(skip_serializing_if = "is_default")]
    pub limits: Limits,
    #[serde(skip_serializing_if = "is_default")]
    pub service: Service,
    #[serde(skip_serializing_if = "Filter::is_empty")]
    pub filter: Filter,
    /// Why it is skipped, if it is.
    pub skip: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pin {
    /// The highest-numbered cores of the machine, as many as the cell has.
    #[default]
    Automatic,
    /// The first of these, as many as the cell has; the generator gets none of them.
    To(Cores),
    Free,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub const HOOK_TIMEOUT: Span = Span(Duration::from_secs(60));

fn is_hook_timeout(span: &Span) -> bool {
    *span == HOOK_TIMEOUT
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    Serve {
        service: String,
        model: String,
        args: Vec<String>,
    },
    /// Any program; words with placeholders.
    Command(Vec<String>),
    Nginx {
        body: String,
        /// Requests after which it closes a connection; `None` is no limit.
        #[serde(skip_serializing_if = "Option::is_none")]
        keepalive_requests: Option<u64>,
    },
    /// A target of this name in the file of the agent that starts it.
    OfAgent,
}

impl TargetKind {
    /// The command line for readers, with placeholders as planned.
    pub fn words(&self) -> String {
        match self {
            Self::Serve { service, model, args } => {
                let args: String = args.iter().map(|word| format!(" {word}")).collect();
                format!("brunt serve {service} --model {model}{args}")
            }
            Self::Command(words) => words.join(" "),
            Self::Nginx { .. } => "nginx".to_owned(),
            Self::OfAgent => "as the owner of its machine says".to_owned(),
        }
    }
}

/// Limits of a process; an absent one is inherited from brunt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Limits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nofile: Option<Count>,
    /// Memory of the target and its children; without control groups the address space of each process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memlock: Option<Size>,
}

impl Limits {
    /// Most open files of a process, given the limit that it inherits.
    pub fn open_files(&self, inherited: u64) -> u64 {
        self.nofile.map_or(inherited, |nofile| nofile.0)
    }
}

/// A layout of the printed table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// All figures, a row for each cell.
    #[default]
    Plain,
    /// Rate, mean latency and CPU; a block for each server and load, a row for each step of the load.
    PingPong,
    /// Rate, percentiles relative to the median, memory and CPU; a numbered case for each tester and server.
    Upstreams,
    /// A table for each co-runner, a row for each load and policy: service, jobs, and use of the machine.
    Interference,
    /// A table for each co-runner and policy with the figures of Heracles' re-implementation, a row for each load.
    Heracles,
    /// CPU time over the rate, and the line through it for each server and load.
    Cost,
}

impl Style {
    pub const ALL: [(&'static str, Self); 6] = [
        ("plain", Self::Plain),
        ("ping-pong", Self::PingPong),
        ("upstreams", Self::Upstreams),
        ("interference", Self::Interference),
        ("heracles", Self::Heracles),
        ("cost", Self::Cost),
    ];
}

impl FromStr for Style {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(|(name, _)| name);
        let known = Self::ALL.into_iter().find(|(name, _)| *name == text);
        known.map(|(_, style)| style).ok_or_else(|| format!("'{text}' is not a style{}", did_you_mean(text, &names)))
    }
}

impl Plan {
    /// Distinguishes plans whose trials must not share a directory. Leaves out everything that changes no trial.
    pub fn hash(&self) -> String {
        let counted = Self {
            description: String::new(),
            repeats: 0,
            slicing: Slicing { slice: self.slicing.slice, ..Slicing::default() },
            best_over: None,
            baseline: None,
            style: None,
            ..self.clone()
        };
        let bytes = serde_json::to_vec(&counted).expect("a plan holds only text, numbers and maps with text keys");
        format!("{:016x}", fnv1a(&bytes))
    }

    /// Axes that are no settings of the load.
    pub fn custom_axes(&self) -> impl Iterator<Item = &Axis> {
        let axes = self.sweeps.iter().flat_map(|sweep| &sweep.axes);
        axes.filter(|axis| !settings::NAMES.contains(&axis.name.as_str()))
    }
}

/// The 64-bit FNV-1a hash (Fowler, Noll, Vo). Not cryptographic: it distinguishes plans by accident, not by malice.
fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = FnvHasher::default();
    hash.write(bytes);
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_the_published_vectors() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x85944171f73967e8);
    }

    #[test]
    fn the_hash_sees_what_changes_a_trial_and_nothing_else() {
        let text = "name = 'a'\n[load]\nconnections = 8\n[[target]]\nname = 'u'\ncommand = ['x', '{port}']\n";
        let plan = |text: &str| read("p.toml", text).unwrap().hash();
        let same = format!("# a comment\ndescription = 'd'\nrepeats = 9\n{text}");
        assert_eq!(plan(text), plan(&same));
        assert_ne!(plan(text), plan(&text.replace("connections = 8", "connections = 9")));
        assert_ne!(plan(text), plan(&text.replace("{port}", "{listen}")));
    }
}
