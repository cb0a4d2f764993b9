//! A table of replies and what is read in them: by this client, leniently and strictly, by hyper, by curl, and by the clients of
//! Go's net/http, Python's h11 and Node's llhttp in its lenient mode.
//!
//! `table.tsv` has a row for each reply, whose bytes are escaped as in Rust; `{N|text}` stands for N times the text. After them
//! the target closes. Columns of others are compared where these are: curl of the recorded version if it is on PATH, the
//! programs that `BRUNT_PARSERS` names. `UPDATE_REPLIES=1` writes the columns that can be compared; read the difference.

mod others;

use brunt_wire::http1::{Leniency, Limits, Persistence};
use proptest::{collection::vec, prelude::*};
use std::{env, fs, path::PathBuf};

use crate::common::{OwnedEvent, STRICT, config, cut, read};

/// A row of the table.
#[derive(Debug, Clone)]
struct Reply {
    name: String,
    method: String,
    text: String,
    bytes: Vec<u8>,
}

/// The columns that follow name, method, bytes and rule.
const COLUMNS: [&str; 7] = ["lenient", "strict", "hyper", "curl", "go", "h11", "node"];

struct Table {
    /// Lines before the rows.
    head: Vec<String>,
    replies: Vec<Reply>,
    rules: Vec<String>,
    /// By reply, then by column.
    cells: Vec<[String; COLUMNS.len()]>,
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/http1/replies/table.tsv")
}

impl Table {
    fn read() -> Self {
        let text = fs::read_to_string(path()).unwrap();
        let (head, rows): (Vec<_>, Vec<_>) = text.lines().enumerate().partition(|(number, _)| *number < 3);
        let head = head.into_iter().map(|(_, line)| line.to_owned()).collect();
        let mut table = Self { head, replies: Vec::new(), rules: Vec::new(), cells: Vec::new() };
        for (_, row) in rows {
            let [name, method, text, rule, cells @ ..] = &row.split('\t').map(str::to_owned).collect::<Vec<_>>()[..]
            else {
                panic!("{row}: too few columns")
            };
            let (name, method, text, bytes) = (name.clone(), method.clone(), text.clone(), unescaped(text));
            table.replies.push(Reply { name, method, text, bytes });
            table.rules.push(rule.clone());
            table.cells.push(cells.to_vec().try_into().unwrap_or_else(|_| panic!("{row}: not all columns")));
        }
        table
    }

    fn write(&self) {
        let mut text = self.head.join("\n");
        for ((reply, rule), cells) in self.replies.iter().zip(&self.rules).zip(&self.cells) {
            let Reply { name, method, text: bytes, .. } = reply;
            text += &format!("\n{name}\t{method}\t{bytes}\t{rule}\t{}", cells.join("\t"));
        }
        fs::write(path(), text + "\n").unwrap();
    }

    /// The version of a program, as the head of the table has it.
    fn version(&self, program: &str) -> Option<&str> {
        self.head.iter().find_map(|line| line.strip_prefix(&format!("# {program}\t")))
    }
}

/// Bytes from their escaped form.
fn unescaped(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        if first == '{' {
            let (repeated, behind) = rest.split_once('}').expect("a closing brace");
            let (times, part) = repeated.split_once('|').expect("a number of times");
            bytes.extend(unescaped(part).repeat(times.parse().unwrap()));
            rest = behind;
            continue;
        }
        if first != '\\' {
            bytes.extend(first.to_string().as_bytes());
            continue;
        }
        let (byte, length) = match rest.as_bytes()[0] {
            b'r' => (b'\r', 1),
            b'n' => (b'\n', 1),
            b't' => (b'\t', 1),
            b'0' => (0, 1),
            b'x' => (u8::from_str_radix(&rest[1..3], 16).unwrap(), 3),
            other => panic!("\\{}: no such escape", char::from(other)),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    bytes
}

/// A reply with this status and body, as the table has it.
fn read_as(status: u16, body: &[u8]) -> String {
    format!("{status} '{}'", body.escape_ascii())
}

/// What this client reads: status, body, whether the connection is kept and what was accepted, or the refusal.
fn ours(reply: &Reply, limits: &Limits) -> String {
    let (mut status, mut body, mut accepted) = (0, Vec::new(), Vec::new());
    let mut text = None;
    for event in read(&[&reply.method], &[&reply.bytes], limits, true, true) {
        match event {
            OwnedEvent::Response { status: its, .. } => status = its,
            OwnedEvent::Body(data) => body = data,
            OwnedEvent::Accepted(rules) => accepted = rules,
            OwnedEvent::End(persistence) => {
                let keeps = if persistence == Persistence::Keep { "keep" } else { "close" };
                text = Some(format!("{} {keeps}", read_as(status, &body)));
            }
            OwnedEvent::Error(error) => return format!("refused {error:?}"),
            _ => (),
        }
    }
    let rules: Vec<String> = accepted.iter().map(|rule: &Leniency| format!("{rule:?}")).collect();
    let text = text.expect("an end or an error");
    if rules.is_empty() { text } else { format!("{text}: {}", rules.join(", ")) }
}

/// The column of a reader: a cell for each reply, or none if it is not to be compared.
fn column(table: &Table, name: &str) -> Option<Vec<String>> {
    match name {
        "lenient" => Some(table.replies.iter().map(|reply| ours(reply, &Limits::CLIENT)).collect()),
        "strict" => Some(table.replies.iter().map(|reply| ours(reply, &STRICT)).collect()),
        "hyper" => Some(others::hyper(&table.replies)),
        "curl" => others::curl(&table.replies, table.version("curl").expect("the version of curl")),
        program => others::program(program, &table.replies),
    }
}

fn compare(names: &[&str]) {
    let mut table = Table::read();
    for name in names {
        let number = COLUMNS.iter().position(|column| column == name).unwrap();
        let Some(cells) = column(&table, name) else { continue };
        assert_eq!(cells.len(), table.replies.len(), "{name} needs a cell for each reply");
        if env::var_os("UPDATE_REPLIES").is_some() {
            table.cells.iter_mut().zip(cells).for_each(|(row, cell)| row[number] = cell);
            continue;
        }
        let rows = table.replies.iter().zip(&table.cells).zip(&cells);
        let differs = rows.filter(|((_, row), cell)| row[number] != **cell);
        let lines: Vec<String> = differs
            .map(|((reply, row), cell)| format!("{}: {} instead of {}", reply.name, cell, row[number]))
            .collect();
        assert!(lines.is_empty(), "{name} reads otherwise:\n{}", lines.join("\n"));
    }
    if env::var_os("UPDATE_REPLIES").is_some() {
        table.write();
    }
}

/// One test, since all columns are in one file.
#[test]
fn replies_are_read_as_the_table_says() {
    compare(&COLUMNS);
}

#[test]
fn what_the_strict_reader_accepts_the_lenient_one_reads_alike_and_it_notes_all_else() {
    Table::read().replies.iter().for_each(assert_readers_agree);
}

/// Both readers agree on a reply, or the lenient one notes what it accepts.
fn assert_readers_agree(reply: &Reply) {
    let (lenient, strict) = (ours(reply, &Limits::CLIENT), ours(reply, &STRICT));
    match (lenient.starts_with("refused"), strict.starts_with("refused")) {
        // Blank lines behind a reply are noted with the next one.
        (false, true) if strict.ends_with("Unsolicited") => (),
        (false, true) => assert!(lenient.contains(": "), "{}: {lenient} without a note", reply.name),
        (true, false) => panic!("{}: {lenient}, strictly {strict}", reply.name),
        (false, false) => assert_eq!(lenient, strict, "{}", reply.name),
        (true, true) => (),
    }
}

/// Rows of the table with some bytes changed, inserted or removed.
fn changed() -> impl Strategy<Value = Reply> {
    let short: Vec<Reply> = Table::read().replies.into_iter().filter(|reply| reply.bytes.len() < 1000).collect();
    let byte = prop_oneof![prop::sample::select(&b"\r\n \t:,;0\0"[..]), any::<u8>()];
    let changes = vec((any::<prop::sample::Index>(), byte, 0u8..3), 0..4);
    (prop::sample::select(short), changes).prop_map(|(mut reply, changes)| {
        for (place, byte, how) in changes {
            let place = place.index(reply.bytes.len() + 1);
            match how {
                0 => reply.bytes.insert(place, byte),
                _ if place == reply.bytes.len() => (),
                1 => reply.bytes[place] = byte,
                _ => _ = reply.bytes.remove(place),
            }
        }
        reply.name = reply.bytes.escape_ascii().to_string();
        reply
    })
}

proptest! {
    #![proptest_config(config(5000))]

    #[test]
    fn readers_agree_on_changed_replies_or_the_lenient_one_notes_what_it_accepts(reply in changed()) {
        assert_readers_agree(&reply);
    }

    #[test]
    fn the_lenient_reader_sees_no_splits(
        reply in changed(), behind in changed(), cuts in vec(0usize..500, 0..6), whole: bool,
    ) {
        let (methods, bytes) = ([&reply.method[..], &behind.method], [&reply.bytes[..], &behind.bytes].concat());
        let events = read(&methods, &[&bytes], &Limits::CLIENT, false, true);
        prop_assert_eq!(read(&methods, &cut(&bytes, &cuts), &Limits::CLIENT, whole, true), events);
    }
}
