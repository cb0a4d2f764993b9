//! Values of settings: read from text, and written in the form in which they are read again.

use brunt_results::stages::{Quantity, Range, TimedStage};
use brunt_results::{Cores, Count, Percentile, Rate, Size, Span};
use std::ffi::OsStr;
use std::path::PathBuf;

/// How a value is written, for parsers of command lines, schemas and forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A flag without a value.
    Switch,
    OneOf(&'static [&'static str]),
    Count,
    Rate,
    Size,
    Span,
    File,
    Text,
}

/// One value.
pub trait Written: Sized {
    const KIND: Kind = Kind::Text;

    /// The error is the end of a line that names flag and value.
    fn read(text: &OsStr) -> Result<Self, String>;

    fn text(&self) -> String;
}

/// The value of a setting: none, one or several.
pub trait Value {
    /// Takes a value in place of an earlier one, or after those of a list.
    ///
    /// # Errors
    /// As [`Written::read`].
    fn add(&mut self, text: &OsStr) -> Result<(), String>;

    fn clear(&mut self);

    /// A text for each value; none if nothing was set.
    fn texts(&self) -> Vec<String>;
}

/// What is known of the values of a type.
pub trait Form {
    const KIND: Kind;
    const IS_LIST: bool;
}

impl Form for bool {
    const KIND: Kind = Kind::Switch;
    const IS_LIST: bool = false;
}

impl<T: Written> Form for Option<T> {
    const KIND: Kind = T::KIND;
    const IS_LIST: bool = false;
}

impl<T: Written> Form for Vec<T> {
    const KIND: Kind = T::KIND;
    const IS_LIST: bool = true;
}

impl Value for bool {
    fn add(&mut self, text: &OsStr) -> Result<(), String> {
        *self = utf8(text)?.parse().map_err(|_| format!("'{}' is neither true nor false", text.display()))?;
        Ok(())
    }

    fn clear(&mut self) {
        *self = false;
    }

    fn texts(&self) -> Vec<String> {
        self.then(|| self.to_string()).into_iter().collect()
    }
}

impl<T: Written> Value for Option<T> {
    fn add(&mut self, text: &OsStr) -> Result<(), String> {
        *self = Some(T::read(text)?);
        Ok(())
    }

    fn clear(&mut self) {
        *self = None;
    }

    fn texts(&self) -> Vec<String> {
        self.iter().map(T::text).collect()
    }
}

impl<T: Written> Value for Vec<T> {
    fn add(&mut self, text: &OsStr) -> Result<(), String> {
        self.push(T::read(text)?);
        Ok(())
    }

    fn clear(&mut self) {
        Vec::clear(self);
    }

    fn texts(&self) -> Vec<String> {
        self.iter().map(T::text).collect()
    }
}

pub(crate) fn utf8(text: &OsStr) -> Result<&str, String> {
    text.to_str().ok_or_else(|| format!("'{}' is not text in UTF-8", text.display()))
}

/// Types that are read as `FromStr` does and written as `Display` does.
macro_rules! written {
    ($($type:ty: $kind:ident),+ $(,)?) => {
        $(impl Written for $type {
            const KIND: Kind = Kind::$kind;

            fn read(text: &OsStr) -> Result<Self, String> {
                utf8(text)?.parse().map_err(|error| format!("{error}"))
            }

            fn text(&self) -> String {
                self.to_string()
            }
        })+
    };
}

written!(Count: Count, Rate: Rate, Size: Size, Cores: Text, TimedStage: Text, Percentile: Text, String: Text, u64: Count);

impl<T: Quantity> Written for Range<T> {
    fn read(text: &OsStr) -> Result<Self, String> {
        utf8(text)?.parse()
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

/// A number without a unit is of seconds, as other load tools take it.
impl Written for Span {
    const KIND: Kind = Kind::Span;

    fn read(text: &OsStr) -> Result<Self, String> {
        Self::or_seconds(utf8(text)?).map_err(|error| error.to_string())
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl Written for u32 {
    const KIND: Kind = Kind::Count;

    fn read(text: &OsStr) -> Result<Self, String> {
        let number: i64 = utf8(text)?.parse().map_err(|error: std::num::ParseIntError| error.to_string())?;
        number.try_into().map_err(|_| format!("{number} is not in 0..={}", Self::MAX))
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

/// Need not be UTF-8 on the command line.
impl Written for PathBuf {
    const KIND: Kind = Kind::File;

    fn read(text: &OsStr) -> Result<Self, String> {
        Ok(text.into())
    }

    fn text(&self) -> String {
        self.display().to_string()
    }
}

/// Enumerations, by the words for their variants.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl $crate::value::Written for $name {
            const KIND: $crate::value::Kind = $crate::value::Kind::OneOf(Self::WORDS);

            fn read(text: &std::ffi::OsStr) -> Result<Self, String> {
                match text.to_str() {
                    $(Some($word) => Ok(Self::$variant),)+
                    _ => Err(format!("'{}' is not one of {}", text.display(), Self::WORDS.join(", "))),
                }
            }

            fn text(&self) -> String {
                match self {
                    $(Self::$variant => $word,)+
                }
                .to_owned()
            }
        }
    };
}

pub(crate) use words;
