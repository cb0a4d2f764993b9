//! Typed access to the TOML of a plan, with errors that point at the text.

use super::{key::Key, keys};
use crate::plan::PlanError;
use crate::plan::settings::Settings;
use brunt_diagnostic::Text;
pub(super) use brunt_diagnostic::{Entry, Value, entries, one_or_list};
use std::ops::{Deref, Range, RangeInclusive};
use std::{fmt::Display, str::FromStr};
use toml::de::{DeTable, DeValue};

/// A table with known keys only, in the order of the source.
pub(super) struct Table<'t, 'a> {
    pub(super) text: &'t Source<'t>,
    pub(super) entries: Vec<Entry<'t, 'a>>,
}

impl<'t, 'a> Table<'t, 'a> {
    pub(super) fn entry(&self, key: &str) -> Option<&Entry<'t, 'a>> {
        self.entries.iter().find(|(known, ..)| *known == key)
    }

    pub(super) fn place(&self, key: &str) -> Range<usize> {
        self.entry(key).map_or(0..0, |(_, place, _)| place.clone())
    }

    pub(super) fn start(&self) -> Range<usize> {
        self.entries.first().map_or(0..0, |(_, place, _)| place.clone())
    }

    /// The value of a key, read by a function such as [`Source::string`].
    pub(super) fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Source<'t>, &'t Value<'a>, &str) -> Result<T, PlanError>,
    ) -> Result<Option<T>, PlanError> {
        self.entry(key).map(|(_, _, value)| read(self.text, value, key)).transpose()
    }

    pub(super) fn whole<T: TryFrom<u64>>(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<T>, PlanError> {
        let number = self.read(key, |text, value, key| text.whole(value, key, range))?;
        Ok(number.and_then(|number| number.try_into().ok()))
    }

    /// The tables of `[[key]]`, with their places.
    pub(super) fn tables(&self, key: &str) -> Result<Vec<(&'t DeTable<'a>, Range<usize>)>, PlanError> {
        let Some((_, place, value)) = self.entry(key) else { return Ok(Vec::new()) };
        let DeValue::Array(list) = value.get_ref() else {
            let message = format!("{key} is written as [[{key}]], in double brackets");
            return Err(self.text.error(place.clone(), message));
        };
        list.iter().map(|one| Ok((self.text.table(one, &format!("[[{key}]]"))?, one.span()))).collect()
    }
}

/// The text of a plan, whose values are those of [`Text`] and more.
pub(super) struct Source<'s>(pub(super) Text<'s>);

impl<'s> Deref for Source<'s> {
    type Target = Text<'s>;

    fn deref(&self) -> &Text<'s> {
        &self.0
    }
}

impl Source<'_> {
    /// A table that may have these keys; `name` is its own in messages.
    pub(super) fn keyed<'t, 'a>(
        &'t self,
        table: &'t DeTable<'a>,
        name: &str,
        known: &[Key],
    ) -> Result<Table<'t, 'a>, PlanError> {
        let entries = entries(table);
        let is_known = |name: &str| known.iter().any(|key| key.name == name || key.alias == Some(name));
        match entries.iter().find(|(key, ..)| !is_known(key)) {
            Some(entry) => Err(self.unknown(entry, name, &keys::names(known))),
            None => self.exclusive(entries),
        }
    }

    pub(super) fn table<'t, 'a>(&self, value: &'t Value<'a>, what: &str) -> Result<&'t DeTable<'a>, PlanError> {
        value.get_ref().as_table().ok_or_else(|| self.error(value.span(), format!("{what} must be a table")))
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

    /// The value of a setting, in normal form.
    pub(super) fn setting(&self, value: &Value, key: &str) -> Result<String, PlanError> {
        self.set(&mut Settings::default(), value, key)
    }

    pub(super) fn set(&self, settings: &mut Settings, value: &Value, key: &str) -> Result<String, PlanError> {
        let usual = settings.set(key, &self.scalar(value, key)?);
        usual.map_err(|e| self.error(value.span(), format!("{key}: {e}")))
    }

    pub(super) fn parsed<T: FromStr<Err: Display>>(&self, value: &Value, key: &str) -> Result<T, PlanError> {
        let parsed = self.scalar(value, key)?.parse();
        parsed.map_err(|e| self.error(value.span(), format!("{key}: {e}")))
    }

    pub(super) fn boolean(&self, value: &Value, key: &str) -> Result<bool, PlanError> {
        self.0.boolean(value, key)
    }

    pub(super) fn string(&self, value: &Value, key: &str) -> Result<String, PlanError> {
        self.0.string(value, key)
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

    pub(super) fn words(&self, value: &Value, key: &str) -> Result<Vec<String>, PlanError> {
        Ok(self.strings(value, key)?.into_iter().map(|(word, _)| word).collect())
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

    /// Rejects a total beside an amount per core in one table.
    pub(super) fn exclusive<'t, 'a>(&'t self, entries: Vec<Entry<'t, 'a>>) -> Result<Table<'t, 'a>, PlanError> {
        for pair in [
            ["connections", "connections_per_core"],
            ["rate", "rate_per_core"],
            ["stages", "rate"],
            ["stages", "rate_per_core"],
            ["stages", "duration"],
            ["request_file", "replay"],
        ] {
            if let Some((_, place, _)) = entries.iter().filter(|(key, ..)| pair.contains(key)).nth(1) {
                let message = format!("{} exclude each other: keep one", pair.join(" and "));
                return Err(self.error(place.clone(), message));
            }
        }
        Ok(Table { text: self, entries })
    }
}
