//! Typed access to the TOML of a plan, with errors that point at the text.

use super::{key::Key, keys};
use crate::{
    plan::{PlanError, settings::Settings},
    suggest::did_you_mean,
};
use brunt_results::Span;
use std::ops::Range;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

pub(super) type Value<'a> = Spanned<DeValue<'a>>;

pub(super) type Entry<'t, 'a> = (&'t str, Range<usize>, &'t Value<'a>);

/// The entries of a table in the order of the source.
pub(super) fn entries<'t, 'a>(table: &'t DeTable<'a>) -> Vec<Entry<'t, 'a>> {
    let mut entries: Vec<Entry> = table.iter().map(|(key, value)| (&**key.get_ref(), key.span(), value)).collect();
    entries.sort_by_key(|(_, place, _)| place.start);
    entries
}

pub(super) fn place(document: &[Entry], key: &str) -> Range<usize> {
    document.iter().find(|(known, ..)| *known == key).map_or(0..0, |(_, place, _)| place.clone())
}

/// The values of a list; a single value counts as a list of one.
pub(super) fn one_or_list<'t, 'a>(value: &'t Value<'a>) -> &'t [Value<'a>] {
    match value.get_ref() {
        DeValue::Array(list) => list,
        _ => std::slice::from_ref(value),
    }
}

pub(super) struct Source<'s> {
    pub(super) file: &'s str,
    pub(super) source: &'s str,
}

impl Source<'_> {
    pub(super) fn error(&self, place: Range<usize>, message: impl Into<String>) -> PlanError {
        PlanError::new(self.file, self.source, place, message)
    }

    pub(super) fn unknown(&self, key: &str, place: Range<usize>, place_name: &str, known: &[Key]) -> PlanError {
        let within = if place_name.is_empty() { String::new() } else { format!(" in {place_name}") };
        self.error(place, format!("unknown key '{key}'{within}{}", did_you_mean(key, &keys::names(known))))
    }

    pub(super) fn table<'t, 'a>(&self, value: &'t Value<'a>, what: &str) -> Result<&'t DeTable<'a>, PlanError> {
        value.get_ref().as_table().ok_or_else(|| self.error(value.span(), format!("{what} must be a table")))
    }

    pub(super) fn tables<'t, 'a>(
        &self,
        value: &'t Value<'a>,
        place: Range<usize>,
        key: &str,
    ) -> Result<Vec<(&'t DeTable<'a>, Range<usize>)>, PlanError> {
        let DeValue::Array(list) = value.get_ref() else {
            return Err(self.error(place, format!("{key} is written as [[{key}]], in double brackets")));
        };
        list.iter().map(|one| Ok((self.table(one, &format!("[[{key}]]"))?, one.span()))).collect()
    }

    /// A string, number or boolean, as text.
    pub(super) fn scalar(&self, value: &Value, key: &str) -> Result<String, PlanError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            DeValue::Boolean(truth) => Ok(truth.to_string()),
            DeValue::Array(_) => {
                Err(self.error(value.span(), format!("{key} takes one value; several belong in [sweep]")))
            }
            _ => Err(self.error(value.span(), format!("{key} takes a text or a number"))),
        }
    }

    pub(super) fn setting(&self, value: &Value, key: &str) -> Result<String, PlanError> {
        let usual = Settings::default().set(key, &self.scalar(value, key)?);
        usual.map_err(|e| self.error(value.span(), format!("{key}: {e}")))
    }

    pub(super) fn span(&self, value: &Value, key: &str) -> Result<Span, PlanError> {
        let parsed = self.scalar(value, key)?.parse();
        parsed.map_err(|e| self.error(value.span(), format!("{key}: {e}")))
    }

    pub(super) fn string(&self, value: &Value, key: &str) -> Result<String, PlanError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.error(value.span(), format!("{key} must be a text in quotes"))),
        }
    }

    pub(super) fn strings<'t, 'a>(
        &self,
        value: &'t Value<'a>,
        key: &str,
    ) -> Result<Vec<(String, &'t Value<'a>)>, PlanError> {
        let DeValue::Array(list) = value.get_ref() else {
            return Err(self.error(value.span(), format!("{key} must be a list of texts, such as [\"a\", \"b\"]")));
        };
        list.iter().map(|word| Ok((self.string(word, key)?, word))).collect()
    }

    /// A string that can name a directory and appear in `--only`.
    pub(super) fn name(&self, value: &Value, key: &str) -> Result<String, PlanError> {
        let name = self.string(value, key)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
        if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.chars().all(plain) {
            let message =
                format!("{key} '{name}' must be 1 to 64 letters, digits, - _ . or +, and not begin with a dot");
            return Err(self.error(value.span(), message));
        }
        Ok(name)
    }

    pub(super) fn whole(
        &self,
        value: &Value,
        key: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, PlanError> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        number.filter(|n| range.contains(n)).ok_or_else(|| {
            let (low, high) = (range.start(), range.end());
            self.error(value.span(), format!("{key} must be a whole number from {low} to {high}"))
        })
    }

    /// Rejects a total beside an amount per core in one table.
    pub(super) fn check_exclusive(&self, key: &str, place: Range<usize>, seen: &[&str]) -> Result<(), PlanError> {
        for (total, each) in [("connections", "connections_per_core"), ("rate", "rate_per_core")] {
            if (key == total && seen.contains(&each)) || (key == each && seen.contains(&total)) {
                return Err(self.error(place, format!("{total} and {each} exclude each other: keep one")));
            }
        }
        Ok(())
    }
}
