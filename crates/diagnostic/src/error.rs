//! An error in a text: file, line, column, what is wrong and the remedy; and the line with the place underlined.

use std::ops::Range;

/// As text both; [`Self::line`] has no excerpt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}\n{excerpt}")]
pub struct Diagnostic {
    line: String,
    excerpt: String,
}

impl Diagnostic {
    /// An error at these bytes of `source`; bytes beyond its end point at the end.
    pub fn new(file: &str, source: &str, place: Range<usize>, message: &str) -> Self {
        let mut start = place.start.min(source.len());
        while !source.is_char_boundary(start) {
            start -= 1;
        }
        let before = &source[..start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let text = source[line_start..].lines().next().unwrap_or("");
        let column = source[line_start..start].chars().count();
        let shown = text.chars().count();
        let width = source
            .get(start..place.end.min(source.len()))
            .map_or(1, |s| s.lines().next().unwrap_or("").chars().count());
        let underline = "^".repeat(width.clamp(1, shown.saturating_sub(column).max(1)));
        // A value quoted in it may have several lines.
        let message = message.replace('\n', "\\n");
        // Terminals differ in the width of a tab.
        let text = text.replace('\t', " ");
        let number = (before.matches('\n').count() + 1).to_string();
        let (margin, indent) = (" ".repeat(number.len()), " ".repeat(column));
        let place = format!("{file}:{number}:{}", column + 1);
        let excerpt = format!(" {number} | {text}\n {margin} | {indent}{underline}");
        Self { line: format!("{place}: {message}"), excerpt }
    }

    /// Place, message and remedy in one line.
    pub fn line(self) -> String {
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_place_is_underlined() {
        let source = "name = \"x\"\n[load]\nconections = 80\n";
        let fault = Diagnostic::new("p.toml", source, 18..28, "unknown key 'conections'");
        let expected = "p.toml:3:1: unknown key 'conections'\n 3 | conections = 80\n   | ^^^^^^^^^^";
        assert_eq!(fault.to_string(), expected);
        assert_eq!(fault.line(), "p.toml:3:1: unknown key 'conections'");
        let quoted = Diagnostic::new("p.toml", "name = \"x\"", 0..4, "'a\nb' is no name").to_string();
        assert_eq!(quoted, "p.toml:1:1: 'a\\nb' is no name\n 1 | name = \"x\"\n   | ^^^^");
    }

    proptest! {
        #[test]
        fn no_place_panics(source in "[a\u{e4}\t\n]{0,20}", start in 0usize..40, length in 0usize..40) {
            let _ = Diagnostic::new("p", &source, start..start + length, "m").to_string();
        }
    }
}
