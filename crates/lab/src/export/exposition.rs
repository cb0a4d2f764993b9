//! Lines of Prometheus' text format 0.0.4.

use brunt_results::buckets;
use std::fmt::Write as _;

/// Appends a family with the lines of its samples; nothing without lines.
pub fn family(text: &mut String, name: &str, kind: &str, help: &str, lines: &str) {
    if !lines.is_empty() {
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{lines}");
    }
}

/// A label preceded by a comma. Invalid characters in the name are replaced.
pub fn label(name: &str, value: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!(",{name}=\"{value}\"")
}

/// Appends the samples of a histogram in the buckets of [`buckets`]; `labels` without braces.
pub fn histogram(lines: &mut String, name: &str, labels: &str, counts: &[u64; buckets::COUNT], sum_s: f64) {
    let mut below = 0;
    for (bound, count) in buckets::bounds_ns().zip(counts) {
        below += count;
        let _ = writeln!(lines, "{name}_bucket{{{labels},le=\"{}\"}} {below}", bound as f64 / 1e9);
    }
    let count: u64 = counts.iter().sum();
    let _ = writeln!(lines, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
    let _ = writeln!(lines, "{name}_sum{{{labels}}} {sum_s}\n{name}_count{{{labels}}} {count}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_survive_any_text() {
        assert_eq!(label("back-log", "a\"b\\c\nd"), ",back_log=\"a\\\"b\\\\c\\nd\"");
    }
}
