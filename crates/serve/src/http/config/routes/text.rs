//! Reading TOML values with errors that name file, line and column and suggest the nearest known key.

use brunt_results::{Size, Span};
use std::{fmt::Display, ops::Range, ops::RangeInclusive, str::FromStr, time::Duration};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(super) type Value<'a> = Spanned<DeValue<'a>>;
/// An error is one line.
pub(super) type Read<T> = Result<T, String>;

#[derive(Clone, Copy)]
pub(super) struct Text<'s> {
    pub file: &'s str,
    pub source: &'s str,
}

impl Text<'_> {
    pub fn error(&self, place: &Range<usize>, message: impl Display) -> String {
        let is_boundary = |at: &usize| self.source.is_char_boundary(*at);
        let before = &self.source[..(0..=place.start).rev().find(is_boundary).unwrap_or(0)];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("{}:{line}:{column}: {message}", self.file)
    }
}

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

    pub fn error(self, message: impl Display) -> String {
        self.text.error(&self.place(), message)
    }

    fn must_be<T>(self, value: Option<T>, what: impl Display) -> Read<T> {
        value.ok_or_else(|| self.error(format!("{} must be {what}", self.key)))
    }

    pub fn string(self) -> Read<String> {
        self.must_be(self.value.get_ref().as_str(), "a text in quotes").map(str::to_owned)
    }

    /// The elements of a list, or the value itself.
    fn elements(self) -> impl Iterator<Item = Self> {
        let one = std::slice::from_ref(self.value);
        let list: &[Value<'a>] = if let DeValue::Array(list) = self.value.get_ref() { list } else { one };
        list.iter().map(move |value| Self { value, ..self })
    }

    pub fn strings(self) -> Read<Vec<String>> {
        self.elements().map(Self::string).collect()
    }

    pub fn parsed<T: FromStr<Err: Display>>(self) -> Read<T> {
        self.string()?.parse().map_err(|error| self.error(format!("{}: {error}", self.key)))
    }

    pub fn bool(self) -> Read<bool> {
        self.must_be(self.value.get_ref().as_bool(), "true or false")
    }

    pub fn integer(self, range: RangeInclusive<u64>) -> Read<u64> {
        let number = self.value.get_ref().as_integer();
        let number = number.and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        let (low, high) = (range.start(), range.end());
        self.must_be(number.filter(|number| range.contains(number)), format!("a whole number from {low} to {high}"))
    }

    pub fn number(self, range: RangeInclusive<f64>) -> Read<f64> {
        let number: Option<f64> = match self.value.get_ref() {
            DeValue::Integer(number) => number.as_str().parse().ok(),
            DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
            _ => None,
        };
        let (low, high) = (range.start(), range.end());
        self.must_be(number.filter(|number| range.contains(number)), format!("a number from {low} to {high}"))
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
        let table = self.must_be(self.value.get_ref().as_table(), what)?;
        Ok(Table::new(self.text, table, self.place()))
    }
}

/// The entries of one table that have not been taken yet.
pub(super) struct Table<'t, 'a> {
    pub text: Text<'t>,
    pub place: Range<usize>,
    entries: Vec<(&'t str, Range<usize>, &'t Value<'a>)>,
    known: Vec<&'static str>,
}

impl<'t, 'a> Table<'t, 'a> {
    pub fn new(text: Text<'t>, table: &'t DeTable<'a>, place: Range<usize>) -> Self {
        let mut entries: Vec<_> = table.iter().map(|(key, value)| (&**key.get_ref(), key.span(), value)).collect();
        entries.sort_by_key(|(_, place, _)| place.start);
        Self { text, place, entries, known: Vec::new() }
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
        let Some((key, place, _)) = self.entries.first() else { return Ok(()) };
        let distance = |known: &&&str| strsim::osa_distance(key, known);
        // With at most a third of its characters wrong it is a misspelling, otherwise another word.
        let near =
            self.known.iter().min_by_key(distance).filter(|near| distance(near) <= (key.chars().count() / 3).max(1));
        let hint = match near {
            Some(name) => format!("did you mean '{name}'?"),
            None => format!("known are {}", self.known.join(", ")),
        };
        Err(self.text.error(place, format!("unknown key '{key}' in {what}; {hint}")))
    }
}
