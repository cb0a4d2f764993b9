//! Errors of scripts: one line that begins with the file name and, if known, the line number.

use mlua::Error;
use std::{fmt, time::Duration};

/// The kinds of [`ScriptError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The script cannot be read or compiled, or lacks a required definition.
    Script,
    /// The script raised an error or did something forbidden.
    Error,
    Time,
    Memory,
}

/// An error of a script, as one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ScriptError {
    pub kind: Kind,
    text: String,
}

impl ScriptError {
    /// An error with a text of the caller, prefixed by the script's name.
    pub fn new(kind: Kind, script: &str, text: impl fmt::Display) -> Self {
        Self { kind, text: one_line(&format!("{script}: {text}")) }
    }

    pub fn unreadable(path: &std::path::Path, error: impl fmt::Display) -> Self {
        let text = format!("cannot read the script {} ({error}): check the path", path.display());
        Self { kind: Kind::Script, text: one_line(&text) }
    }

    pub(crate) fn of(error: &Error, script: &str, memory: usize) -> Self {
        let (line, cause) = line_and_cause(error, script);
        let (kind, text) = match cause {
            Error::MemoryError(_) => {
                let text = format!("needs more than its {} MiB of memory: keep less, or raise the limit", memory >> 20);
                (Kind::Memory, text)
            }
            Error::SyntaxError { message, .. } => (Kind::Script, message.clone()),
            Error::RuntimeError(message) => (Kind::Error, message.clone()),
            other => (Kind::Error, other.to_string()),
        };
        Self { kind, text: located(&text, script, line) }
    }

    pub(crate) fn timeout(error: Option<&Error>, script: &str, limit: Duration) -> Self {
        let line = error.and_then(|error| line_and_cause(error, script).0);
        let text = format!("ran longer than the {limit:?} a call may take: do less, or raise the limit");
        Self { kind: Kind::Time, text: located(&text, script, line) }
    }
}

/// The line of the script, if known, and the innermost cause.
fn line_and_cause<'e>(error: &'e Error, script: &str) -> (Option<u32>, &'e Error) {
    match error {
        Error::CallbackError { traceback, cause } => {
            let (line, cause) = line_and_cause(cause, script);
            (line.or_else(|| line_in(traceback, script)), cause)
        }
        Error::WithContext { cause, .. } => line_and_cause(cause, script),
        // The lines after the first are a traceback.
        Error::RuntimeError(text) | Error::MemoryError(text) => {
            (text.split_once('\n').and_then(|(_, traceback)| line_in(traceback, script)), error)
        }
        other => (None, other),
    }
}

/// The first line number of `script` in `text`.
fn line_in(text: &str, script: &str) -> Option<u32> {
    text.match_indices(script).find_map(|(at, _)| {
        let digits = text[at + script.len()..].strip_prefix(':')?;
        let end = digits.find(|byte: char| !byte.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok()
    })
}

/// One line, prefixed by the script and, if known, the line number.
fn located(text: &str, script: &str, line: Option<u32>) -> String {
    if text.starts_with(script) {
        return one_line(text);
    }
    let number = line.map_or(String::new(), |line| format!(":{line}"));
    one_line(&format!("{script}{number}: {text}"))
}

/// The first line, shortened and without control characters, for terminals.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 500;
    let line = text.lines().next().unwrap_or_default();
    let clean = |byte: char| if byte.is_control() { ' ' } else { byte };
    let mut short: String = line.chars().take(LONGEST).map(clean).collect();
    if short.len() < line.len() {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_numbers_follow_the_name_of_the_script() {
        assert_eq!(line_in("stack traceback:\n[C] in ?\na.luau:12 function f\na.luau:3", "a.luau"), Some(12));
        assert_eq!(line_in("a.luau: no number\nba.luau:7", "a.luau"), Some(7));
        assert_eq!(line_in("b.luau:7", "a.luau"), None);
    }

    #[test]
    fn a_script_error_is_one_short_printable_line() {
        let long = Error::runtime(format!("a\u{7}{}\nstack", "x".repeat(2000)));
        let text = ScriptError::of(&long, "s.luau", 0).to_string();
        assert!(text.starts_with("s.luau: a xxx") && text.ends_with("x..."), "{text}");
        assert!(text.len() < 520 && !text.contains(['\n', '\u{7}']));
    }
}
