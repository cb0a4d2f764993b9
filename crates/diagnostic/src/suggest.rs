//! Suggests the known name closest to a mistyped one.

use strsim::osa_distance;

/// The candidate closest to `word`, if close enough.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let best = candidates.into_iter().map(|c| (osa_distance(word, c), c)).min()?;
    // Up to a third of the word may differ.
    (best.0 <= (word.chars().count() / 3).max(1)).then_some(best.1)
}

/// `; did you mean 'x'?` for the nearest candidate, else the whole list.
pub fn did_you_mean(word: &str, candidates: &[&str]) -> String {
    match closest(word, candidates.iter().copied()) {
        Some(name) => format!("; did you mean '{name}'?"),
        None => format!("; known are {}", candidates.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let names = ["connections", "connections_per_core", "size", "rate"];
        assert_eq!(closest("conections", names), Some("connections"));
        assert_eq!(closest("connectiosn", names), Some("connections"));
        assert_eq!(closest("szie", names), Some("size"));
        assert_eq!(closest("payload", names), None);
        assert_eq!(closest("", names), None);
        assert_eq!(did_you_mean("x", &["a1", "b1"]), "; known are a1, b1");
    }
}
