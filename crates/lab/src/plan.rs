//! A plan: what an experiment varies, on which targets, under which load. Plain data; `read` makes it from TOML.

pub mod builtin;
mod cli_overrides;
mod diagnostic;
mod filter;
mod fnv;
pub mod key;
pub mod keys;
mod limits;
mod parse;
pub mod phase;
mod references;
pub mod schema;
pub mod settings;
mod source;
mod style;
mod target;
pub mod template;
pub mod tester;
mod validate;

use brunt_results::{Cores, Span};
use fnv::fnv1a;
use serde::{Deserialize, Serialize};
use settings::Settings;
use std::{collections::BTreeMap, time::Duration};

pub use diagnostic::PlanError;
pub use filter::{Filter, Pattern};
pub use limits::Limits;
pub use parse::read;
pub use phase::{Override, Phase};
pub use style::Style;

/// The name under which a cell knows its phase.
pub const PHASE: &str = "phase";

/// What an experiment varies, on which targets, under which load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Names the run directory.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Seed of the order of the trials and of everything random in their load.
    pub seed: u64,
    /// Trials of each cell.
    pub repeats: u32,
    /// How often a disturbed trial is run again at most.
    #[serde(rename = "again")]
    pub retries: u32,
    /// What no sweep varies.
    pub load: Settings,
    /// Each is a product of its axes; the cells of all of them are measured.
    pub sweeps: Vec<Sweep>,
    /// Loads that follow each other on one start of a target; empty for the one load of the cell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// Values for some cells in the place of those of the load and of the phases; a later one wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
    /// What the report begins with the best values of, for each target and each combination of the rest.
    pub best_over: Option<String>,
    /// The target that reports compare the others with, repeat by repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The layout of the printed table, unless another is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// The servers under test, in the order in which reports show them.
    pub targets: Vec<Target>,
    /// Words added to the command lines of testers, by the tester's name; may hold placeholders.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub testers: BTreeMap<String, Vec<String>>,
}

/// Axes whose values are all combined with each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// In the order of the plan.
    pub axes: Vec<Axis>,
    /// Which of the combinations are measured.
    #[serde(default, skip_serializing_if = "Filter::is_empty")]
    pub filter: Filter,
}

/// One value that varies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// A name of [`settings::NAMES`], or one of the plan's own.
    pub name: String,
    /// The values in their usual spelling, without repeats, at least one.
    pub values: Vec<String>,
}

/// A server under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Names it in reports and on the command line.
    pub name: String,
    /// What is started.
    #[serde(rename = "start")]
    pub kind: TargetKind,
    /// Folder that the command and the build run in, relative to the plan's folder.
    pub dir: Option<String>,
    /// Run once before the experiment; empty for nothing.
    pub build: Vec<String>,
    /// Programs without which the target is skipped.
    pub needs: Vec<String>,
    /// Run before each start of the target; empty for nothing. Its words may hold placeholders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// Run when the target has been stopped, however its trial went; empty for nothing. Its words may hold placeholders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// How long `before` and `after` may take, each.
    #[serde(default = "hook_timeout", skip_serializing_if = "is_hook_timeout")]
    pub hook_timeout: Span,
    /// Added to the environment; values may hold placeholders.
    pub env: BTreeMap<String, String>,
    /// How long it may take to accept its first connection.
    pub ready_timeout: Span,
    /// Cells with more server cores than this are skipped.
    pub max_server_cores: Option<usize>,
    /// Where it runs.
    #[serde(default, skip_serializing_if = "Pin::is_automatic")]
    pub pin: Pin,
    /// What it may use.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
    /// Which cells it is measured in.
    #[serde(default, skip_serializing_if = "Filter::is_empty")]
    pub filter: Filter,
    /// Why it is left out, if it is.
    pub skip: Option<String>,
}

/// Where a target runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pin {
    /// On as many of the machine's highest-numbered cores as the cell says.
    #[default]
    Automatic,
    /// On as many of these as the cell says; the generator gets none of those taken.
    To(Cores),
    /// Wherever the scheduler puts it.
    Free,
}

impl Pin {
    fn is_automatic(&self) -> bool {
        *self == Self::Automatic
    }
}

/// What `hook_timeout` is where the plan does not say.
pub const HOOK_TIMEOUT: Span = Span(Duration::from_secs(60));

fn hook_timeout() -> Span {
    HOOK_TIMEOUT
}

fn is_hook_timeout(span: &Span) -> bool {
    *span == HOOK_TIMEOUT
}

/// How a target is started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// A server of brunt itself.
    Serve {
        /// The service, as `brunt serve` names it.
        service: String,
        /// The model, as `--model` names it.
        model: String,
        /// Further arguments; may hold placeholders.
        args: Vec<String>,
    },
    /// Any program; the words may hold placeholders.
    Command(Vec<String>),
    /// nginx with a configuration made for the trial, which answers every request with this text.
    Nginx {
        /// Status 200 and this body; may hold placeholders.
        body: String,
    },
}

impl Plan {
    /// Tells plans apart whose trials do not belong into one directory. Comments, the description, the number of
    /// repeats, what is done about disturbed trials and the make of the report do not count: they change no trial.
    pub fn hash(&self) -> String {
        let counted = Self {
            description: String::new(),
            repeats: 0,
            retries: 0,
            best_over: None,
            baseline: None,
            style: None,
            ..self.clone()
        };
        let bytes = serde_json::to_vec(&counted).expect("a plan holds only text, numbers and maps with text keys");
        format!("{:016x}", fnv1a(&bytes))
    }

    /// The axes of the plan's own.
    pub fn custom_axes(&self) -> impl Iterator<Item = &Axis> {
        let axes = self.sweeps.iter().flat_map(|sweep| &sweep.axes);
        axes.filter(|axis| !settings::NAMES.contains(&axis.name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
