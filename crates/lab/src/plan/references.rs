//! References between parts of a plan, collected while parsing and validated when the whole plan is known.

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
