//! Values of a TOML text by type, and their errors.

use crate::{Diagnostic, suggest::did_you_mean};
use std::ops::{Range, RangeInclusive};
use std::{fmt::Display, slice};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub type Value<'a> = Spanned<DeValue<'a>>;

/// Key, place of the key, value.
pub type Entry<'t, 'a> = (&'t str, Range<usize>, &'t Value<'a>);

/// The entries of a table in the order of the text.
pub fn entries<'t, 'a>(table: &'t DeTable<'a>) -> Vec<Entry<'t, 'a>> {
    let mut entries: Vec<Entry> = table.iter().map(|(key, value)| (&**key.get_ref(), key.span(), value)).collect();
    entries.sort_by_key(|(_, place, _)| place.start);
    entries
}

/// The values of a list; a single value counts as a list of one.
pub fn one_or_list<'t, 'a>(value: &'t Value<'a>) -> &'t [Value<'a>] {
    match value.get_ref() {
        DeValue::Array(list) => list,
        _ => slice::from_ref(value),
    }
}

/// A file and its text, which errors point at.
#[derive(Debug, Clone, Copy)]
pub struct Text<'s> {
    pub file: &'s str,
    pub source: &'s str,
}

impl<'s> Text<'s> {
    pub fn error(&self, place: Range<usize>, message: impl Display) -> Diagnostic {
        Diagnostic::new(self.file, self.source, place, &message.to_string())
    }

    pub fn document(&self) -> Result<Spanned<DeTable<'s>>, Diagnostic> {
        DeTable::parse(self.source).map_err(|error| self.error(error.span().unwrap_or(0..0), error.message()))
    }

    /// The error of a key that is none of those known. `within` is the table.
    pub fn unknown(&self, (key, place, _): &Entry, within: &str, known: &[&str]) -> Diagnostic {
        let within = if within.is_empty() { String::new() } else { format!(" in {within}") };
        self.error(place.clone(), format!("unknown key '{key}'{within}{}", did_you_mean(key, known)))
    }

    /// The value, if it is there; else an error that says what the key takes.
    pub fn must_be<T>(&self, read: Option<T>, value: &Value, key: &str, what: impl Display) -> Result<T, Diagnostic> {
        read.ok_or_else(|| self.error(value.span(), format!("{key} must be {what}")))
    }

    pub fn boolean(&self, value: &Value, key: &str) -> Result<bool, Diagnostic> {
        self.must_be(value.get_ref().as_bool(), value, key, "true or false")
    }

    pub fn string(&self, value: &Value, key: &str) -> Result<String, Diagnostic> {
        self.must_be(value.get_ref().as_str().map(str::to_owned), value, key, "a text in quotes")
    }

    pub fn whole(&self, value: &Value, key: &str, range: RangeInclusive<u64>) -> Result<u64, Diagnostic> {
        let number = value.get_ref().as_integer();
        let number = number.and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        let what = format!("a whole number from {} to {}", range.start(), range.end());
        self.must_be(number.filter(|number| range.contains(number)), value, key, what)
    }

    pub fn number(&self, value: &Value, key: &str, range: RangeInclusive<f64>) -> Result<f64, Diagnostic> {
        let number: Option<f64> = match value.get_ref() {
            DeValue::Integer(number) => number.as_str().parse().ok(),
            DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
            _ => None,
        };
        let what = format!("a number from {} to {}", range.start(), range.end());
        self.must_be(number.filter(|number| range.contains(number)), value, key, what)
    }
}
