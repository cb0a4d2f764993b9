//! The description of a setting.

use crate::LoadSpec;
use crate::value::{Form, Kind, Value};
use std::ffi::OsStr;
use std::fmt;

/// Where help lists a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heading {
    Load,
    Http,
    Tls,
    Result,
}

impl Heading {
    pub fn text(self) -> &'static str {
        match self {
            Self::Load => "Load",
            Self::Http => "HTTP",
            Self::Tls => "TLS",
            Self::Result => "Result",
        }
    }
}

/// A field of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub label: &'static str,
    /// A value, or what happens without one.
    pub example: &'static str,
    /// Shown at once; the others are folded.
    pub first: bool,
}

/// A setting of a load, with its names and texts.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Of its field, in JSON, and in plans if it has a `plan`.
    pub name: &'static str,
    pub short: Option<char>,
    pub long: Option<&'static str>,
    pub short_alias: Option<char>,
    pub alias: Option<&'static str>,
    pub kind: Kind,
    /// Whether it takes several values.
    pub is_list: bool,
    /// Of its value, in help.
    pub value_name: &'static str,
    pub help: &'static str,
    pub heading: Heading,
    /// The value without the flag, in help.
    pub default: Option<&'static str>,
    /// Whether commas separate several values.
    pub separated: bool,
    /// Names of settings that exclude it, and of one that it needs.
    pub conflicts: Option<&'static str>,
    pub requires: Option<&'static str>,
    /// Its field in forms, if it has one.
    pub field: Option<Field>,
    /// Its description in plans, if they take it as it is. Plans have further settings, which they resolve themselves.
    pub plan: Option<&'static str>,
    pub(crate) of: fn(&LoadSpec) -> &dyn Value,
    pub(crate) of_mut: fn(&mut LoadSpec) -> &mut dyn Value,
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Setting {
    /// The setting of the field that all three functions return.
    pub(crate) const fn new<T: Form>(
        name: &'static str,
        _: fn(&LoadSpec) -> &T,
        of: fn(&LoadSpec) -> &dyn Value,
        of_mut: fn(&mut LoadSpec) -> &mut dyn Value,
    ) -> Self {
        Self {
            name,
            kind: T::KIND,
            is_list: T::IS_LIST,
            short: None,
            long: None,
            short_alias: None,
            alias: None,
            value_name: "",
            help: "",
            heading: Heading::Load,
            default: None,
            separated: false,
            conflicts: None,
            requires: None,
            field: None,
            plan: None,
            of,
            of_mut,
        }
    }

    pub(crate) const fn short(self, letter: char) -> Self {
        Self { short: Some(letter), ..self }
    }

    pub(crate) const fn long(self, word: &'static str) -> Self {
        Self { long: Some(word), ..self }
    }

    /// Name of the value and help.
    pub(crate) const fn help(self, value_name: &'static str, help: &'static str) -> Self {
        Self { value_name, help, ..self }
    }

    pub(crate) const fn under(self, heading: Heading) -> Self {
        Self { heading, ..self }
    }

    pub(crate) const fn separated(self) -> Self {
        Self { separated: true, ..self }
    }

    pub(crate) const fn requires(self, name: &'static str) -> Self {
        Self { requires: Some(name), ..self }
    }

    pub(crate) const fn conflicts(self, name: &'static str) -> Self {
        Self { conflicts: Some(name), ..self }
    }

    pub(crate) const fn field(self, label: &'static str, example: &'static str) -> Self {
        Self { field: Some(Field { label, example, first: false }), ..self }
    }

    pub(crate) const fn first_field(self, label: &'static str, example: &'static str) -> Self {
        Self { field: Some(Field { label, example, first: true }), ..self }
    }

    pub(crate) const fn plan(self, description: &'static str) -> Self {
        Self { plan: Some(description), ..self }
    }

    /// The flag, its short form if it has one.
    pub fn flag(&self) -> String {
        match (self.short, self.long) {
            (Some(letter), _) => format!("-{letter}"),
            (None, Some(word)) => format!("--{word}"),
            (None, None) => unreachable!("every setting has a flag"),
        }
    }

    /// The flag as messages name it: that of a switch is a word.
    pub fn named(&self) -> String {
        let word = self.long.filter(|_| self.kind == Kind::Switch);
        word.map_or_else(|| self.flag(), |word| format!("--{word}"))
    }

    pub fn is_set(&self, spec: &LoadSpec) -> bool {
        !self.texts(spec).is_empty()
    }

    /// The value, or the values of a list; none if it is not set.
    pub fn texts(&self, spec: &LoadSpec) -> Vec<String> {
        (self.of)(spec).texts()
    }

    /// The value in one text, as a plan has it: a switch that is off has one too.
    pub fn text(&self, spec: &LoadSpec) -> Option<String> {
        match self.texts(spec).join(",") {
            text if !text.is_empty() => Some(text),
            _ => (self.kind == Kind::Switch).then(|| false.to_string()),
        }
    }

    /// Sets it, or adds to a list.
    ///
    /// # Errors
    /// The end of a line that names flag and value.
    pub fn add(&self, spec: &mut LoadSpec, text: &OsStr) -> Result<(), String> {
        (self.of_mut)(spec).add(text)
    }

    /// Sets it to a value as a plan has it, and returns its normal form.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn set(&self, spec: &mut LoadSpec, text: &str) -> Result<String, String> {
        (self.of_mut)(spec).clear();
        let texts = if self.separated { text.split(',').map(str::trim).collect() } else { vec![text] };
        texts.into_iter().try_for_each(|text| self.add(spec, OsStr::new(text)))?;
        Ok(self.text(spec).unwrap_or_default())
    }

    /// The flag with its values, as words of a command line.
    pub(crate) fn words(&self, spec: &LoadSpec) -> Vec<String> {
        let (flag, texts) = (self.flag(), self.texts(spec));
        match self.kind {
            _ if texts.is_empty() => Vec::new(),
            Kind::Switch => vec![flag],
            _ if self.separated => vec![flag, texts.join(",")],
            _ => texts.into_iter().flat_map(|text| self.pair(&flag, text)).collect(),
        }
    }

    /// A value that begins with a dash would be read as a flag of its own.
    fn pair(&self, flag: &str, text: String) -> Vec<String> {
        match self.long.filter(|_| text.starts_with('-')) {
            Some(word) => vec![format!("--{word}={text}")],
            None => vec![flag.to_owned(), text],
        }
    }
}
