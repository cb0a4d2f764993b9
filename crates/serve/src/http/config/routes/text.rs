//! The values of a routes file: what [`Text`] reads, and times and sizes.

use brunt_diagnostic::{Diagnostic, Text, Value, entries, one_or_list};
use brunt_results::{Size, Span};
use std::{fmt::Display, ops::Range, ops::RangeInclusive, str::FromStr, time::Duration};
use toml::de::{DeTable, DeValue};

pub(super) type Read<T> = Result<T, Diagnostic>;

/// The value of a key in its text.
#[derive(Clone, Copy)]
pub(super) struct Entry<'t, 'a> {
    pub text: Text<'t>,
    pub key: &'static str,
    pub value: &'t Value<'a>,
}

impl<'t, 'a> Entry<'t, 'a> {
    pub fn place(self) -> Range<usize> {
        self.value.span()
    }

    pub fn error(self, message: impl Display) -> Diagnostic {
        self.text.error(self.place(), message)
    }

    pub fn string(self) -> Read<String> {
        self.text.string(self.value, self.key)
    }

    /// The elements of a list, or the value itself.
    fn elements(self) -> impl Iterator<Item = Self> {
        one_or_list(self.value).iter().map(move |value| Self { value, ..self })
    }

    pub fn strings(self) -> Read<Vec<String>> {
        self.elements().map(Self::string).collect()
    }

    pub fn parsed<T: FromStr<Err: Display>>(self) -> Read<T> {
        self.string()?.parse().map_err(|error| self.error(format!("{}: {error}", self.key)))
    }

    pub fn bool(self) -> Read<bool> {
        self.text.boolean(self.value, self.key)
    }

    pub fn integer(self, range: RangeInclusive<u64>) -> Read<u64> {
        self.text.whole(self.value, self.key, range)
    }

    pub fn number(self, range: RangeInclusive<f64>) -> Read<f64> {
        self.text.number(self.value, self.key, range)
    }

    pub fn time(self, most: Duration) -> Read<Duration> {
        match self.parsed()? {
            Span(time) if time > most => Err(self.error(format!("{} is longer than {}", self.key, Span(most)))),
            Span(time) => Ok(time),
        }
    }

    pub fn size(self, most: u64) -> Read<u64> {
        if let DeValue::Integer(_) = self.value.get_ref() {
            return self.integer(0..=most);
        }
        match self.parsed()? {
            Size(size) if size > most => Err(self.error(format!("{} is more than {}", self.key, Size(most)))),
            Size(size) => Ok(size),
        }
    }

    pub fn table(self) -> Read<Table<'t, 'a>> {
        let what = format!("a table, such as {{ every = 10 }} or [[{}]]", self.key);
        let table = self.text.must_be(self.value.get_ref().as_table(), self.value, self.key, what)?;
        Ok(Table::new(self.text, table, self.place()))
    }
}

/// The entries of one table that have not been taken yet.
pub(super) struct Table<'t, 'a> {
    pub text: Text<'t>,
    pub place: Range<usize>,
    entries: Vec<brunt_diagnostic::Entry<'t, 'a>>,
    known: Vec<&'static str>,
}

impl<'t, 'a> Table<'t, 'a> {
    pub fn new(text: Text<'t>, table: &'t DeTable<'a>, place: Range<usize>) -> Self {
        Self { text, place, entries: entries(table), known: Vec::new() }
    }

    pub fn take(&mut self, key: &'static str) -> Option<Entry<'t, 'a>> {
        self.known.push(key);
        let at = self.entries.iter().position(|(own, ..)| *own == key)?;
        Some(Entry { text: self.text, key, value: self.entries.remove(at).2 })
    }

    /// Takes a key and reads its value, such as with [`Entry::string`].
    pub fn get<T>(&mut self, key: &'static str, read: impl FnOnce(Entry<'t, 'a>) -> Read<T>) -> Read<Option<T>> {
        self.take(key).map(read).transpose()
    }

    /// Each table of `[[key]]`, or the one of `key = {..}`.
    pub fn tables(&mut self, key: &'static str) -> Read<Vec<Self>> {
        self.take(key).into_iter().flat_map(Entry::elements).map(Entry::table).collect()
    }

    /// Fails if an entry was not taken: its key is unknown.
    pub fn finish(self, what: &str) -> Read<()> {
        self.entries.first().map_or(Ok(()), |entry| Err(self.text.unknown(entry, what, &self.known)))
    }
}
