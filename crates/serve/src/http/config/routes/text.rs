//! The text of a routes file, to point at: where a mistake is, what it is, and the nearest name that would do.

use brunt_results::{Size, Span};
use std::{ops::Range, ops::RangeInclusive, str::FromStr, time::Duration};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// A value of the text, with its place.
pub(super) type Value<'a> = Spanned<DeValue<'a>>;
/// What went wrong, in one line.
pub(super) type Read<T> = Result<T, String>;

pub(super) struct Text<'s> {
    pub file: &'s str,
    pub source: &'s str,
}

/// The entries of one table, taken one after another; what nobody takes is unknown.
pub(super) struct Table<'t, 'a> {
    entries: Vec<(&'t str, Range<usize>, &'t Value<'a>)>,
    /// Where the table begins.
    pub place: Range<usize>,
    known: Vec<&'static str>,
}

impl Text<'_> {
    /// A mistake at that place.
    pub fn fault(&self, place: &Range<usize>, message: impl std::fmt::Display) -> String {
        let mut start = place.start.min(self.source.len());
        while !self.source.is_char_boundary(start) {
            start -= 1;
        }
        let before = &self.source[..start];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("{}:{line}:{column}: {message}", self.file)
    }

    pub fn table<'t, 'a>(&self, value: &'t Value<'a>, what: &str) -> Read<Table<'t, 'a>> {
        let table = value.get_ref().as_table();
        table.map(|table| Table::new(table, value.span())).ok_or_else(|| {
            self.fault(&value.span(), format!("{what} must be a table, such as {{ every = 10 }} or [[{what}]]"))
        })
    }

    /// Each table of `[[what]]`, or the one of `what = {..}`.
    pub fn tables<'t, 'a>(&self, value: &'t Value<'a>, what: &str) -> Read<Vec<Table<'t, 'a>>> {
        let one = std::slice::from_ref(value);
        let list: &[Value<'a>] = if let DeValue::Array(list) = value.get_ref() { list } else { one };
        list.iter().map(|table| self.table(table, what)).collect()
    }

    pub fn string(&self, value: &Value<'_>, key: &str) -> Read<String> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.fault(&value.span(), format!("{key} must be a text in quotes"))),
        }
    }

    /// One text, or a list of them.
    pub fn strings(&self, value: &Value<'_>, key: &str) -> Read<Vec<String>> {
        match value.get_ref() {
            DeValue::Array(list) => list.iter().map(|one| self.string(one, key)).collect(),
            _ => Ok(vec![self.string(value, key)?]),
        }
    }

    pub fn truth(&self, value: &Value<'_>, key: &str) -> Read<bool> {
        match value.get_ref() {
            DeValue::Boolean(truth) => Ok(*truth),
            _ => Err(self.fault(&value.span(), format!("{key} must be true or false"))),
        }
    }

    pub fn whole(&self, value: &Value<'_>, key: &str, range: RangeInclusive<u64>) -> Read<u64> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let (low, high) = (range.start(), range.end());
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| self.fault(&value.span(), format!("{key} must be a whole number from {low} to {high}")))
    }

    pub fn number(&self, value: &Value<'_>, key: &str, range: RangeInclusive<f64>) -> Read<f64> {
        let number: Option<f64> = match value.get_ref() {
            DeValue::Integer(number) => number.as_str().parse().ok(),
            DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
            _ => None,
        };
        let (low, high) = (range.start(), range.end());
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| self.fault(&value.span(), format!("{key} must be a number from {low} to {high}")))
    }

    pub fn time(&self, value: &Value<'_>, key: &str, most: Duration) -> Read<Duration> {
        let Span(time) = self.parsed(value, key)?;
        if time > most {
            return Err(self.fault(&value.span(), format!("{key} is longer than {}", Span(most))));
        }
        Ok(time)
    }

    pub fn size(&self, value: &Value<'_>, key: &str, most: u64) -> Read<u64> {
        if let DeValue::Integer(_) = value.get_ref() {
            return self.whole(value, key, 0..=most);
        }
        let Size(size) = self.parsed(value, key)?;
        if size > most {
            return Err(self.fault(&value.span(), format!("{key} is more than {}", Size(most))));
        }
        Ok(size)
    }

    pub fn parsed<T: FromStr<Err: std::fmt::Display>>(&self, value: &Value<'_>, key: &str) -> Read<T> {
        let text = self.string(value, key)?;
        text.parse().map_err(|error| self.fault(&value.span(), format!("{key}: {error}")))
    }
}

impl<'t, 'a> Table<'t, 'a> {
    pub fn new(table: &'t DeTable<'a>, place: Range<usize>) -> Self {
        let mut entries: Vec<_> = table.iter().map(|(key, value)| (&**key.get_ref(), key.span(), value)).collect();
        entries.sort_by_key(|(_, place, _)| place.start);
        Self { entries, place, known: Vec::new() }
    }

    /// The value of that key, if it is there.
    pub fn take(&mut self, key: &'static str) -> Option<&'t Value<'a>> {
        self.known.push(key);
        let at = self.entries.iter().position(|(own, ..)| *own == key)?;
        Some(self.entries.remove(at).2)
    }

    /// To be called when all known keys have been taken.
    pub fn end(self, text: &Text<'_>, what: &str) -> Read<()> {
        let Some((key, place, _)) = self.entries.first() else { return Ok(()) };
        let near = self.known.iter().min_by_key(|known| strsim::osa_distance(key, known));
        // A third of the word wrong is still a slip of the finger; more is another word.
        let slip = near.filter(|near| strsim::osa_distance(key, near) <= (key.chars().count() / 3).max(1));
        let hint = match slip {
            Some(name) => format!("did you mean '{name}'?"),
            None => format!("known are {}", self.known.join(", ")),
        };
        Err(text.fault(place, format!("unknown key '{key}' in {what}; {hint}")))
    }
}
