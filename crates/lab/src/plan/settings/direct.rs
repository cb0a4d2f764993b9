//! Settings that a plan takes as `brunt load` has them: rows of [`brunt_spec::DIRECT`] with a description for plans.

use super::Settings;
use crate::plan::key::{Key, ValueType, optional};
use brunt_spec::{DIRECT, Heading, Kind, Setting};

/// Their number.
pub(super) const COUNT: usize = {
    let (mut count, mut index) = (0, 0);
    while index < DIRECT.len() {
        count += DIRECT[index].plan.is_some() as usize;
        index += 1;
    }
    count
};

/// The key of number `number`, below [`COUNT`].
pub(super) const fn key(number: usize) -> Key {
    let (mut left, mut index) = (number, 0);
    loop {
        match DIRECT[index].plan {
            Some(description) if left == 0 => {
                return optional(DIRECT[index].name, value_type(DIRECT[index].kind), description);
            }
            Some(_) => left -= 1,
            None => {}
        }
        index += 1;
    }
}

const fn value_type(kind: Kind) -> ValueType {
    match kind {
        Kind::Switch => ValueType::Truth,
        Kind::OneOf(words) => ValueType::OneOf(words),
        Kind::Count => ValueType::Count,
        Kind::Rate => ValueType::Rate,
        Kind::Size => ValueType::Size,
        Kind::Span => ValueType::Span,
        Kind::File | Kind::Text => ValueType::Text,
    }
}

fn all() -> impl Iterator<Item = &'static Setting> {
    DIRECT.iter().filter(|setting| setting.plan.is_some())
}

pub(super) fn named(name: &str) -> Option<&'static Setting> {
    all().find(|setting| setting.name == name)
}

impl Settings {
    /// The first of these settings that has a value and is one of HTTP.
    pub(super) fn first_direct_of_http(&self) -> Option<&'static str> {
        let mut of_http = all().filter(|setting| setting.heading == Heading::Http);
        of_http.find(|setting| setting.is_set(&self.load)).map(|setting| setting.name)
    }

    /// The first of these settings that has a value.
    pub(super) fn first_direct(&self) -> Option<&'static str> {
        all().find(|setting| setting.is_set(&self.load)).map(|setting| setting.name)
    }
}
