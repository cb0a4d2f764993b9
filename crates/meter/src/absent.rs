//! The reasons why figures of a part of the result are missing, by the names that the figures have there.

use std::collections::BTreeMap;

/// Reasons of one part, as `server`.
#[derive(Debug)]
pub(crate) struct Absent {
    part: &'static str,
    reasons: BTreeMap<String, String>,
}

impl Absent {
    /// None yet.
    pub(crate) fn of(part: &'static str) -> Self {
        Self { part, reasons: BTreeMap::new() }
    }

    /// These figures are missing, and this is why.
    pub(crate) fn note(&mut self, figures: &[&str], why: &str) {
        let named = |figure: &&str| (format!("{}.{figure}", self.part), why.to_owned());
        self.reasons.extend(figures.iter().map(named));
    }

    /// As [`note`](Self::note), unless they are there.
    pub(crate) fn unless(&mut self, there: bool, figures: &[&str], why: &str) {
        if !there {
            self.note(figures, why);
        }
    }
}

impl From<Absent> for BTreeMap<String, String> {
    fn from(absent: Absent) -> Self {
        absent.reasons
    }
}

/// Panics unless each figure of the part is there or has a reason, and not both.
#[cfg(test)]
#[track_caller]
pub(crate) fn check(name: &str, part: &impl std::fmt::Debug, absent: &BTreeMap<String, String>) {
    // Read off the debug form, so that a new field cannot be forgotten here.
    let text = format!("{part:#?}");
    let fields = text.lines().filter(|line| line.starts_with("    ") && !line.starts_with("     "));
    for (figure, value) in fields.filter_map(|line| line.trim().split_once(": ")) {
        assert_eq!(value == "None,", absent.contains_key(&format!("{name}.{figure}")), "{figure} = {value}");
    }
}
