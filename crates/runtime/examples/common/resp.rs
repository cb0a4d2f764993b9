//! The protocol and the map of the key-value server, without any input or output.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// The longest value, and so about the most that a connection buffers.
const MOST: usize = 64 << 20;
/// The most parts of a command.
const MOST_PARTS: usize = 1024;

/// The map of the process, in parts with a lock each.
pub struct Map {
    parts: Vec<Mutex<HashMap<Vec<u8>, Vec<u8>>>>,
    hasher: RandomState,
}

impl Map {
    pub fn new() -> &'static Self {
        Box::leak(Box::new(Self { parts: (0..64).map(|_| Mutex::default()).collect(), hasher: RandomState::new() }))
    }

    fn with<T>(&self, key: &[u8], f: impl FnOnce(&mut HashMap<Vec<u8>, Vec<u8>>) -> T) -> T {
        let part = self.hasher.hash_one(key) as usize % self.parts.len();
        f(&mut self.parts[part].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a connection has received and not answered, and answers that are not yet written.
#[derive(Default)]
pub struct Session {
    /// Input after the last whole command.
    rest: Vec<u8>,
    out: Vec<u8>,
}

impl Session {
    /// Answers all whole commands. Returns what is to be written, and whether the connection ends after it, because its input
    /// breaks the protocol.
    pub fn answer(&mut self, received: &[u8], map: &Map) -> (&[u8], bool) {
        self.out.clear();
        let joins = !self.rest.is_empty();
        if joins {
            self.rest.extend_from_slice(received);
        }
        let input = if joins { &self.rest } else { received };
        let (mut at, mut failed) = (0, false);
        while let Some(left) = input.get(at..).filter(|left| !left.is_empty()) {
            match parse(left) {
                Ok(Some((command, len))) => {
                    answer(&command, map, &mut self.out);
                    at += len;
                }
                Ok(None) => break,
                Err(why) => {
                    let _ = write!(self.out, "-ERR Protocol error: {why}\r\n");
                    failed = true;
                    break;
                }
            }
        }
        if joins {
            self.rest.drain(..at);
        } else {
            self.rest.extend_from_slice(&received[at..]);
        }
        (&self.out, failed)
    }
}

/// The parts of a command, and its length.
type Command<'a> = (Vec<&'a [u8]>, usize);

/// The command at the beginning of `input`; `None` if the rest is still to come.
fn parse(input: &[u8]) -> Result<Option<Command<'_>>, &'static str> {
    let Some((head, mut at)) = line(input, 0)? else { return Ok(None) };
    let Some(count) = head.strip_prefix(b"*") else {
        return Ok(Some((head.split(|byte| *byte == b' ').filter(|part| !part.is_empty()).collect(), at)));
    };
    let count = number(count).filter(|count| *count <= MOST_PARTS).ok_or("invalid multibulk length")?;
    let mut parts = Vec::with_capacity(count);
    for _ in 0..count {
        let Some((head, start)) = line(input, at)? else { return Ok(None) };
        let len = head.strip_prefix(b"$").ok_or("expected '$'")?;
        let len = number(len).filter(|len| *len <= MOST).ok_or("invalid bulk length")?;
        let Some(part) = input.get(start..start + len) else { return Ok(None) };
        match input.get(start + len..start + len + 2) {
            None => return Ok(None),
            Some(b"\r\n") => (),
            Some(_) => return Err("a bulk string without its end"),
        }
        parts.push(part);
        at = start + len + 2;
    }
    Ok(Some((parts, at)))
}

/// The line at `at`, without its end, and where the next begins.
fn line(input: &[u8], at: usize) -> Result<Option<(&[u8], usize)>, &'static str> {
    let rest = &input[at..];
    match rest.iter().take(65_536).position(|byte| *byte == b'\n') {
        Some(end) => Ok(Some((rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]), at + end + 1))),
        None if rest.len() >= 65_536 => Err("too long a line"),
        None => Ok(None),
    }
}

fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn answer(command: &[&[u8]], map: &Map, out: &mut Vec<u8>) {
    let Some((name, args)) = command.split_first() else { return };
    match (&*name.to_ascii_uppercase(), args) {
        (b"GET", [key]) => map.with(key, |part| bulk(part.get(*key).map(Vec::as_slice), out)),
        (b"SET", [key, value]) => {
            map.with(key, |part| match part.get_mut(*key) {
                Some(old) => (*value).clone_into(old),
                None => drop(part.insert(key.to_vec(), value.to_vec())),
            });
            out.extend_from_slice(b"+OK\r\n");
        }
        (b"DEL", [_, ..]) => {
            integer(args.iter().filter(|key| map.with(key, |part| part.remove(**key)).is_some()).count(), out)
        }
        (b"EXISTS", [_, ..]) => {
            integer(args.iter().filter(|key| map.with(key, |part| part.contains_key(**key))).count(), out)
        }
        (b"INCR", [key]) => match map.with(key, |part| incremented(part.entry(key.to_vec()).or_default())) {
            Some(value) => integer(value, out),
            None => out.extend_from_slice(b"-ERR value is not an integer or out of range\r\n"),
        },
        (b"PING", []) => out.extend_from_slice(b"+PONG\r\n"),
        (b"PING" | b"ECHO", [said]) => bulk(Some(said), out),
        // Asked by clients before they begin.
        (b"COMMAND" | b"CONFIG", _) => out.extend_from_slice(b"*0\r\n"),
        _ => {
            let name = String::from_utf8_lossy(name).replace(['\r', '\n'], " ");
            let _ = write!(out, "-ERR unknown command '{name}' or wrong number of arguments\r\n");
        }
    }
}

fn incremented(value: &mut Vec<u8>) -> Option<i64> {
    let old = if value.is_empty() { 0 } else { std::str::from_utf8(value).ok()?.parse().ok()? };
    let new = i64::checked_add(old, 1)?;
    *value = new.to_string().into_bytes();
    Some(new)
}

fn bulk(value: Option<&[u8]>, out: &mut Vec<u8>) {
    let Some(value) = value else { return out.extend_from_slice(b"$-1\r\n") };
    let _ = write!(out, "${}\r\n", value.len());
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn integer(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    let _ = write!(out, ":{value}\r\n");
}
