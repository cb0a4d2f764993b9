//! The known name nearest to a mistyped one, for "did you mean".

/// The candidate that a mistyped `word` most likely stands for, if any is near enough to be worth saying.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let best = candidates.into_iter().map(|c| (distance(word, c), c)).min()?;
    // A third of the word wrong is still a slip of the finger; more is another word.
    (best.0 <= (word.chars().count() / 3).max(1)).then_some(best.1)
}

/// `; did you mean 'x'?` for the nearest candidate, else the whole list.
pub fn hint(word: &str, candidates: &[&str]) -> String {
    match nearest(word, candidates.iter().copied()) {
        Some(name) => format!("; did you mean '{name}'?"),
        None => format!("; known are {}", candidates.join(", ")),
    }
}

/// Optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours cost 1 each.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in table.iter_mut().enumerate() {
        row[0] = i;
    }
    table[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            table[i][j] = replace.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                table[i][j] = table[i][j].min(table[i - 2][j - 2] + 1);
            }
        }
    }
    table[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let names = ["connections", "connections_per_core", "size", "rate"];
        assert_eq!(nearest("conections", names), Some("connections"));
        assert_eq!(nearest("connectiosn", names), Some("connections"));
        assert_eq!(nearest("szie", names), Some("size"));
        assert_eq!(nearest("payload", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(hint("x", &["a1", "b1"]), "; known are a1, b1");
    }
}
