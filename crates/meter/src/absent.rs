//! Reasons for absent figures of one part of the result, by their names there.

use std::collections::BTreeMap;

/// The reasons for one part, such as `server`.
#[derive(Debug)]
pub(crate) struct Absent {
    part: &'static str,
    reasons: BTreeMap<String, String>,
}

impl Absent {
    pub(crate) fn of(part: &'static str) -> Self {
        Self { part, reasons: BTreeMap::new() }
    }

    /// Records why these figures are absent.
    pub(crate) fn note(&mut self, figures: &[&str], why: &str) {
        let named = |figure: &&str| (format!("{}.{figure}", self.part), why.to_owned());
        self.reasons.extend(figures.iter().map(named));
    }

    /// As [`note`](Self::note), unless the figures are present.
    pub(crate) fn unless(&mut self, is_present: bool, figures: &[&str], why: &str) {
        if !is_present {
            self.note(figures, why);
        }
    }
}

impl From<Absent> for BTreeMap<String, String> {
    fn from(absent: Absent) -> Self {
        absent.reasons
    }
}

/// Panics unless each figure of the part is either present or has a reason.
#[cfg(test)]
#[track_caller]
pub(crate) fn check(name: &str, part: &impl std::fmt::Debug, absent: &BTreeMap<String, String>) {
    // Reads the debug output, so that new fields are included.
    let text = format!("{part:#?}");
    let fields = text.lines().filter(|line| line.starts_with("    ") && !line.starts_with("     "));
    for (figure, value) in fields.filter_map(|line| line.trim().split_once(": ")) {
        assert_eq!(value == "None,", absent.contains_key(&format!("{name}.{figure}")), "{figure} = {value}");
    }
}
