//! Placeholders of requests whose values differ from request to request: `{seq}`, `{uuid}`, `{rand:1..6}`, `{line:FILE}`.

use brunt_results::named;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::io::Write;
use std::{fs, ops::Range};

/// Largest file of lines.
const LARGEST: u64 = 256 << 20;

/// What a placeholder stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// The number of the request in the run, from 1.
    Seq,
    /// A random UUID, version 4.
    Uuid,
    /// A random whole number between two, inclusive.
    Rand(u64, u64),
    /// The lines of a file, one after another.
    Lines(Lines),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    bytes: Vec<u8>,
    each: Vec<Range<usize>>,
}

impl Lines {
    /// The lines of a text that are not empty. In a target, bytes that it cannot have are %-encoded.
    fn of(text: &[u8], in_target: bool) -> Self {
        let mut lines = Self { bytes: Vec::new(), each: Vec::new() };
        for line in text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)) {
            let start = lines.bytes.len();
            for byte in line {
                match byte {
                    b'%' | b'#' | 0..=b' ' | 0x7f.. if in_target => {
                        write!(lines.bytes, "%{byte:02X}").unwrap_or_default()
                    }
                    byte => lines.bytes.push(*byte),
                }
            }
            if lines.bytes.len() > start {
                lines.each.push(start..lines.bytes.len());
            }
        }
        lines
    }

    fn get(&self, number: u64) -> &[u8] {
        let line = (number % self.each.len() as u64) as usize;
        &self.bytes[self.each[line].clone()]
    }
}

/// Where a placeholder stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Target,
    /// A value of a field of the head.
    Head,
    Body,
}

impl Field {
    /// The placeholder within braces; `None` if it is none.
    ///
    /// # Errors
    /// One line with the placeholder, what is wrong with it and the remedy.
    pub fn parse(inner: &str, place: Place) -> Result<Option<Self>, String> {
        let message = |remedy: &str| format!("'{{{inner}}}' {remedy}");
        Ok(Some(match inner.split_once(':') {
            None if inner == "seq" => Self::Seq,
            None if inner == "uuid" => Self::Uuid,
            Some(("rand", range)) => {
                let ends = range.split_once("..").map(|(low, high)| (low.parse(), high.parse()));
                match ends {
                    Some((Ok(low), Ok(high))) if low <= high => Self::Rand(low, high),
                    _ => return Err(message("needs two whole numbers, the lower one first: {rand:1..6}")),
                }
            }
            Some(("line", path)) => Self::Lines(read(path, place).map_err(|why| message(&why))?),
            _ => return Ok(None),
        }))
    }

    /// Appends the value in the request of this number, from 0.
    pub fn append(&self, number: u64, random: &mut Xoshiro256PlusPlus, out: &mut Vec<u8>) {
        match self {
            // Writing to a vector does not fail.
            Self::Seq => drop(write!(out, "{}", number + 1)),
            Self::Uuid => append_uuid(random, out),
            Self::Rand(low, high) => {
                // Without the bias of a remainder, but for one in 2^64 values (Lemire 2019).
                let span = u128::from(high - low) + 1;
                let value = (u128::from(random.next_u64()) * span) >> 64;
                drop(write!(out, "{}", low + value as u64));
            }
            Self::Lines(lines) => out.extend_from_slice(lines.get(number)),
        }
    }
}

fn read(path: &str, place: Place) -> Result<Lines, String> {
    let path = named::place(path).map_err(|error| format!("cannot be read: {error}"))?;
    let length = fs::metadata(&path).map_err(|error| format!("cannot be read: {error}"))?.len();
    if length > LARGEST {
        return Err(format!("is {length} bytes long; at most {LARGEST} are allowed"));
    }
    let text = fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    let lines = Lines::of(&text, place == Place::Target);
    if lines.each.is_empty() {
        return Err("has no line that is not empty".to_owned());
    }
    let is_bad = |byte: &u8| *byte < b' ' && *byte != b'\t' || *byte == 0x7f;
    if place == Place::Head && lines.bytes.iter().any(is_bad) {
        return Err("has control characters, which a header cannot have".to_owned());
    }
    Ok(lines)
}

fn append_uuid(random: &mut Xoshiro256PlusPlus, out: &mut Vec<u8>) {
    let bytes = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
    let uuid = uuid::Builder::from_random_bytes(bytes.to_be_bytes()).into_uuid();
    let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
    out.extend_from_slice(uuid.hyphenated().encode_lower(&mut text).as_bytes());
}

/// Random numbers of a load thread: sequences 2^128 draws apart.
pub fn random(seed: u64, thread: usize) -> Xoshiro256PlusPlus {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x6669_656c_6473);
    (0..thread).for_each(|_| random.jump());
    random
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn values(inner: &str, count: u64) -> Vec<String> {
        let field = Field::parse(inner, Place::Body).unwrap().unwrap();
        let mut random = random(1, 0);
        let value = |number| {
            let mut out = Vec::new();
            field.append(number, &mut random, &mut out);
            String::from_utf8(out).unwrap()
        };
        (0..count).map(value).collect()
    }

    #[test]
    fn each_placeholder_has_its_values() {
        assert_eq!(values("seq", 3), ["1", "2", "3"]);
        let dice: HashSet<String> = values("rand:1..6", 200).into_iter().collect();
        assert_eq!(dice, (1..=6).map(|n| n.to_string()).collect());
        assert_eq!(values("rand:7..7", 2), ["7", "7"]);
        assert_eq!(values(&format!("rand:0..{}", u64::MAX), 1).len(), 1);
        let uuids = values("uuid", 1000);
        assert_eq!(uuids.iter().collect::<HashSet<_>>().len(), 1000);
        for uuid in uuids {
            let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12]);
            assert!(uuid.as_bytes()[14] == b'4' && b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
        }
    }

    #[test]
    fn lines_take_turns_and_are_encoded_in_a_target() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "a b\r\n\nc/d?e=1\n100%").unwrap();
        let inner = format!("line:{}", file.path().display());
        assert_eq!(values(&inner, 4), ["a b", "c/d?e=1", "100%", "a b"]);
        let Some(Field::Lines(lines)) = Field::parse(&inner, Place::Target).unwrap() else { panic!() };
        assert_eq!([0, 1, 2].map(|number| lines.get(number)), [&b"a%20b"[..], b"c/d?e=1", b"100%25"]);
        fs::write(file.path(), "a\x01b").unwrap();
        assert!(Field::parse(&inner, Place::Head).unwrap_err().contains("control"));
        fs::write(file.path(), "\n\n").unwrap();
        assert!(Field::parse(&inner, Place::Body).unwrap_err().contains("no line"));
    }

    #[test]
    fn other_braces_are_text_and_wrong_placeholders_are_named() {
        for inner in ["", "vary", "seq:1", "\"a\":1", "name", "uuid4"] {
            assert_eq!(Field::parse(inner, Place::Body), Ok(None), "{inner}");
        }
        for inner in ["rand:6..1", "rand:1", "rand:a..b", "rand:-1..1", "line:/no/such/file"] {
            assert!(Field::parse(inner, Place::Body).unwrap_err().contains(&format!("'{{{inner}}}'")), "{inner}");
        }
    }
}
