//! Values of a plan that can be written in more than one way, and what is said where they are not.

use brunt_results::{Count, Rate};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// As it stands in the file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Whole(u64),
    Number(f64),
    Text(String),
    Words(Vec<String>),
}

/// `64` or `"64"`, `"1k"`.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Count>, D::Error> {
    let expected = "a count, such as 64 or \"20k\"";
    match read(deserializer, expected)? {
        Value::Whole(count) => Ok(Some(Count(count))),
        Value::Text(text) => text.parse().map(Some).map_err(D::Error::custom),
        Value::Number(_) | Value::Words(_) => Err(D::Error::custom(format!("it must be {expected}"))),
    }
}

/// `3`.
pub(super) fn retries<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let expected = "a number of further starts, such as 3";
    let number = match read(deserializer, expected)? {
        Value::Whole(number) => u32::try_from(number).ok(),
        _ => None,
    };
    number.ok_or_else(|| D::Error::custom(format!("it must be {expected}")))
}

/// `500`, `0.5` or `"10k"`.
pub(super) fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rate>, D::Error> {
    let expected = "a rate a second, such as 500 or \"10k\"";
    let text = match read(deserializer, expected)? {
        Value::Whole(rate) => rate.to_string(),
        Value::Number(rate) => rate.to_string(),
        Value::Text(text) => text,
        Value::Words(_) => return Err(D::Error::custom(format!("it must be {expected}"))),
    };
    text.parse().map(Some).map_err(D::Error::custom)
}

/// `2` or `0.5`.
pub(super) fn cores_used<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let expected = "CPU time in cores, such as 2 or 0.5";
    match read(deserializer, expected)? {
        Value::Whole(cores) => Ok(Some(cores as f64)),
        Value::Number(cores) => Ok(Some(cores)),
        Value::Text(_) | Value::Words(_) => Err(D::Error::custom(format!("it must be {expected}"))),
    }
}

/// `9` or `"9"`.
pub(super) fn pid<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let expected = "the number of a process, such as 4711";
    let wrong = || D::Error::custom(format!("it must be {expected}"));
    match read(deserializer, expected)? {
        Value::Whole(pid) => u32::try_from(pid).map(Some).map_err(|_| wrong()),
        Value::Text(text) => text.trim().parse().map(Some).map_err(|_| wrong()),
        Value::Number(_) | Value::Words(_) => Err(wrong()),
    }
}

/// `["xz", "-k", "a.log"]`.
pub(super) fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let expected = "a list of words, such as [\"xz\", \"-k\", \"a.log\"]";
    match read(deserializer, expected)? {
        Value::Words(words) => Ok(words),
        Value::Text(text) => {
            let words: Vec<&str> = text.split_whitespace().collect();
            Err(D::Error::custom(format!("'{text}' is no list of words; write {words:?}: no shell reads them")))
        }
        Value::Whole(_) | Value::Number(_) => Err(D::Error::custom(format!("it must be {expected}"))),
    }
}

/// The same, where it may be absent.
pub(super) fn some_words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    words(deserializer).map(Some)
}

fn read<'de, D: Deserializer<'de>>(deserializer: D, expected: &str) -> Result<Value, D::Error> {
    Value::deserialize(deserializer).map_err(|_| D::Error::custom(format!("it must be {expected}")))
}
