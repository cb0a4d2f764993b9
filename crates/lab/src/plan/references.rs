//! References between parts of a plan, collected while parsing and validated when the whole plan is known.

use super::{PlanError, source::Source, template};
use brunt_diagnostic::suggest::did_you_mean;
use std::ops::Range;

#[derive(Debug)]
pub(super) struct PlaceholderRef {
    pub(super) name: String,
    pub(super) place: Range<usize>,
    /// Whether it is replaced when the target is started, once for all phases.
    pub(super) at_start: bool,
}

#[derive(Debug, Default)]
pub(super) struct References {
    /// Names of the plan's own axes.
    pub(super) own: Vec<String>,
    pub(super) placeholders: Vec<PlaceholderRef>,
    pub(super) filters: Vec<FilterRef>,
    pub(super) settings: Vec<SettingRef>,
}

#[derive(Debug)]
pub(super) struct FilterRef {
    pub(super) name: String,
    /// `None` refers to the name itself.
    pub(super) value: Option<String>,
    pub(super) place: Range<usize>,
    /// Whether the pattern belongs to a target; such a pattern cannot contain `target`.
    pub(super) of_target: bool,
}

#[derive(Debug)]
pub(super) struct SettingRef {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) key_place: Range<usize>,
    pub(super) value_place: Range<usize>,
    /// Whether it may differ between the phases of one start.
    pub(super) varies: bool,
}

impl References {
    /// Checks that every placeholder in `word` has a value, and collects them.
    pub fn check(&mut self, text: &Source, word: &str, at: Range<usize>, at_start: bool) -> Result<(), PlanError> {
        for name in template::names(word).map_err(|e| text.error(at.clone(), e))? {
            let of_target = if at_start { template::OWN } else { &[] };
            let own = self.own.iter().map(String::as_str);
            let known: Vec<&str> = of_target.iter().chain(template::OF_SETTINGS).copied().chain(own).collect();
            if !known.contains(&name) {
                return Err(text.error(at, format!("unknown placeholder {{{name}}}{}", did_you_mean(name, &known))));
            }
            self.placeholders.push(PlaceholderRef { name: name.to_owned(), place: at.clone(), at_start });
        }
        Ok(())
    }
}
