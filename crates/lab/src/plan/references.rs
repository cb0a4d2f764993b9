//! References from one part of a plan to another, collected while reading and checked when the whole plan is known.

use std::ops::Range;

/// A placeholder, and where it stands.
#[derive(Debug)]
pub(super) struct PlaceholderRef {
    pub(super) name: String,
    pub(super) place: Range<usize>,
    /// Whether it is filled in when the target is started, once for all phases.
    pub(super) at_start: bool,
}

/// What is noted while reading, to be checked when the whole plan is known.
#[derive(Debug, Default)]
pub(super) struct References {
    pub(super) placeholders: Vec<PlaceholderRef>,
    pub(super) mentions: Vec<FilterRef>,
    pub(super) given: Vec<SettingRef>,
}

/// A name or a value in a pattern, to be checked when the whole plan is known.
#[derive(Debug)]
pub(super) struct FilterRef {
    pub(super) name: String,
    /// `None` stands for the name itself.
    pub(super) value: Option<String>,
    pub(super) place: Range<usize>,
    /// What the pattern is about: a target's own does not ask for the target.
    pub(super) of_target: bool,
}

/// A value that a phase or an override sets, and where.
#[derive(Debug)]
pub(super) struct SettingRef {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) key_place: Range<usize>,
    pub(super) value_place: Range<usize>,
    /// Whether phases of one start may differ in it.
    pub(super) varies: bool,
}
