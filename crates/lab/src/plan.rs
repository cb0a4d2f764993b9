//! A plan: what an experiment varies, on which targets, under which load. Plain data; `read` makes it from TOML.

pub mod builtin;
mod overrides;
mod read;
mod target;

use crate::{fnv::fnv1a, settings::Settings};
use outcome::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use read::read;

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
    pub again: u32,
    /// What no sweep varies.
    pub load: Settings,
    /// Each is a product of its axes; the cells of all of them are measured.
    pub sweeps: Vec<Sweep>,
    /// What the report begins with the best values of, for each target and each combination of the rest.
    pub best_over: Option<String>,
    /// The target that reports compare the others with, repeat by repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The servers under test, in the order in which reports show them.
    pub targets: Vec<Target>,
    /// Words added to the command lines of testers, by the tester's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub testers: BTreeMap<String, Vec<String>>,
}

/// Axes whose values are all combined with each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// In the order of the plan.
    pub axes: Vec<Axis>,
}

/// One value that varies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// A name of [`crate::settings::NAMES`], or one of the plan's own.
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
    pub start: Start,
    /// Folder that the command and the build run in, relative to the plan's folder.
    pub dir: Option<String>,
    /// Run once before the experiment; empty for nothing.
    pub build: Vec<String>,
    /// Programs without which the target is skipped.
    pub needs: Vec<String>,
    /// Added to the environment; values may hold placeholders.
    pub env: BTreeMap<String, String>,
    /// How long it may take to accept its first connection.
    pub ready_timeout: Span,
    /// Cells with more server cores than this are skipped.
    pub max_server_cores: Option<usize>,
    /// Why it is left out, if it is.
    pub skip: Option<String>,
}

/// How a target is started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
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
        let counted =
            Self { description: String::new(), repeats: 0, again: 0, best_over: None, baseline: None, ..self.clone() };
        let bytes = serde_json::to_vec(&counted).expect("a plan holds only text, numbers and maps with text keys");
        format!("{:016x}", fnv1a(&bytes))
    }

    /// The axes of the plan's own.
    pub fn own_axes(&self) -> impl Iterator<Item = &Axis> {
        let axes = self.sweeps.iter().flat_map(|sweep| &sweep.axes);
        axes.filter(|axis| !crate::settings::NAMES.contains(&axis.name.as_str()))
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
