//! Requests with placeholders, put together from rendered pieces when they are sent.
//!
//! A placeholder that comes twice in a request has the same value in both places.

use super::fields::{self, Field, Place};
use super::rendered::{batch, check_fields, check_reuse, encode, order};
use super::{Batch, Pipeline, RequestTarget, Template};
use crate::schedule::Share;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::{io::Write, ops::Range, sync::Arc};

/// All requests of a host, of which at least one has a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    fields: Vec<Field>,
    /// By number of the target: requests that keep the connection, and those that end it.
    keeping: Vec<Shape>,
    closing: Vec<Shape>,
    /// Numbers of targets.
    order: Vec<usize>,
    /// By number of the target.
    names: Vec<u16>,
    /// The requests of every write.
    batch: Batch,
    pub pipeline: Pipeline,
    seed: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Shape {
    head: Vec<Piece>,
    body: Vec<Piece>,
    /// Fields that it has.
    used: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Field(usize),
    /// The length of the body.
    Length,
}

impl Filled {
    /// Prepares requests for `targets`; `None` if none has a placeholder.
    ///
    /// # Errors
    /// One line with what cannot be sent and the remedy.
    pub fn new(
        template: &Template,
        targets: &[RequestTarget],
        pipeline: Pipeline,
        reuse: Option<u64>,
        seed: u64,
    ) -> Result<Option<Self>, String> {
        let mut marks = Marks::new(seed, template, targets);
        let mut marked = template.clone();
        for (_, value) in &mut marked.fields {
            *value = marks.replace(value, Place::Head)?;
        }
        if let Some(body) = marked.body.as_mut().filter(|body| std::str::from_utf8(body).is_ok()) {
            *body = marks.replace(&String::from_utf8_lossy(body), Place::Body)?.into_bytes();
        }
        let mut of_targets = targets.to_vec();
        for target in &mut of_targets {
            target.target = marks.replace(&target.target, Place::Target)?;
        }
        if marks.fields.is_empty() {
            return Ok(None);
        }
        check_reuse(reuse, pipeline)?;
        check_fields(&marked)?;
        let shapes = |keep: bool| -> Result<Vec<Shape>, String> {
            of_targets.iter().map(|target| Ok(marks.shape(&encode(&marked, target, keep)?))).collect()
        };
        let (Pipeline::Batches(in_flight) | Pipeline::Single(in_flight)) = pipeline;
        let whole = batch(&template.method, in_flight)?;
        Ok(Some(Self {
            keeping: shapes(true)?,
            closing: shapes(false)?,
            order: order(targets)?,
            names: targets.iter().map(|target| target.name).collect(),
            batch: if matches!(pipeline, Pipeline::Single(_)) { Batch::of(&template.method) } else { whole },
            pipeline,
            seed,
            fields: marks.fields.into_iter().map(|(_, _, field)| field).collect(),
        }))
    }
}

/// Texts that stand for the placeholders while requests are rendered.
struct Marks {
    prefix: String,
    fields: Vec<(String, Place, Field)>,
}

/// Digits of a mark behind its prefix.
const DIGITS: usize = 4;

impl Marks {
    /// The prefix is in none of the texts.
    fn new(seed: u64, template: &Template, targets: &[RequestTarget]) -> Self {
        let in_target = |prefix: &str| targets.iter().any(|target| target.target.contains(prefix));
        let in_head = |prefix: &str| template.fields.iter().any(|(_, value)| value.contains(prefix));
        let in_body = |prefix: &str| {
            let body = template.body.as_deref().unwrap_or_default();
            body.windows(prefix.len()).any(|window| window == prefix.as_bytes())
        };
        let prefixes =
            (0u64..).map(|n| format!("field{:016x}", seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))));
        let free = |prefix: &String| !in_target(prefix) && !in_head(prefix) && !in_body(prefix);
        Self { prefix: prefixes.into_iter().find(free).unwrap_or_default(), fields: Vec::new() }
    }

    /// The text with a mark for each placeholder.
    fn replace(&mut self, text: &str, place: Place) -> Result<String, String> {
        let (mut replaced, mut rest) = (String::new(), text);
        while let Some(start) = rest.find('{') {
            let (before, from) = rest.split_at(start);
            replaced.push_str(before);
            let inner = from.find('}').map(|end| &from[1..end]).filter(|inner| !inner.contains('{'));
            let number = inner.map(|inner| self.number(inner, place)).transpose()?.flatten();
            match (number, inner) {
                (Some(number), Some(inner)) => {
                    replaced += &format!("{}{number:0DIGITS$}", self.prefix);
                    rest = &from[inner.len() + 2..];
                }
                _ => {
                    replaced.push('{');
                    rest = &from[1..];
                }
            }
        }
        Ok(replaced + rest)
    }

    /// The number of the field; `None` if the text in braces is no placeholder.
    fn number(&mut self, inner: &str, place: Place) -> Result<Option<usize>, String> {
        // Lines are encoded for their place, and are the same line by their number.
        let is_same = |at: Place| at == place || !inner.starts_with("line:");
        if let Some(known) = self.fields.iter().position(|(text, at, _)| text == inner && is_same(*at)) {
            return Ok(Some(known));
        }
        let Some(field) = Field::parse(inner, place)? else { return Ok(None) };
        if self.fields.len() == 10usize.pow(DIGITS as u32) {
            return Err(format!("'{{{inner}}}' is one placeholder too many"));
        }
        self.fields.push((inner.to_owned(), place, field));
        Ok(Some(self.fields.len() - 1))
    }

    fn shape(&self, request: &[u8]) -> Shape {
        let end = request.windows(4).position(|window| window == b"\r\n\r\n").map_or(request.len(), |at| at + 4);
        let (head, body) = request.split_at(end);
        let (mut head, body) = (self.pieces(head), self.pieces(body));
        if body.iter().any(|piece| matches!(piece, Piece::Field(_))) {
            head = head.into_iter().flat_map(length_apart).collect();
        }
        let used =
            head.iter().chain(&body).filter_map(|piece| if let Piece::Field(at) = piece { Some(*at) } else { None });
        let mut used: Vec<usize> = used.collect();
        used.sort_unstable();
        used.dedup();
        Shape { head, body, used }
    }

    fn pieces(&self, mut bytes: &[u8]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        while let Some(at) = bytes.windows(self.prefix.len()).position(|window| window == self.prefix.as_bytes()) {
            let number = &bytes[at + self.prefix.len()..at + self.prefix.len() + DIGITS];
            let number = number.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
            pieces.extend([Piece::Text(bytes[..at].to_vec()), Piece::Field(number)]);
            bytes = &bytes[at + self.prefix.len() + DIGITS..];
        }
        pieces.push(Piece::Text(bytes.to_vec()));
        pieces
    }
}

/// A piece of a head, with the value of Content-Length apart.
fn length_apart(piece: Piece) -> Vec<Piece> {
    const NAME: &[u8] = b"content-length: ";
    let Piece::Text(text) = &piece else { return vec![piece] };
    let Some(at) = text.windows(NAME.len()).position(|window| window.eq_ignore_ascii_case(NAME)) else {
        return vec![piece];
    };
    let start = at + NAME.len();
    let end = text[start..].iter().position(|byte| *byte == b'\r').map_or(text.len(), |length| start + length);
    vec![Piece::Text(text[..start].to_vec()), Piece::Length, Piece::Text(text[end..].to_vec())]
}

/// The requests of one load thread, in turn.
pub struct Filler {
    all: Arc<Filled>,
    position: usize,
    /// Number of the next request in the run, and what it grows by.
    number: u64,
    step: u64,
    random: Xoshiro256PlusPlus,
    values: Vec<u8>,
    /// By field: where its value in the current request is.
    places: Vec<Range<usize>>,
    body: Vec<u8>,
}

impl Filler {
    pub fn new(all: &Arc<Filled>, share: Share) -> Self {
        Self {
            position: share.thread * all.order.len() / share.threads,
            number: share.thread as u64,
            step: share.threads as u64,
            random: fields::random(all.seed, share.thread),
            values: Vec::new(),
            places: vec![0..0; all.fields.len()],
            body: Vec::new(),
            all: Arc::clone(all),
        }
    }

    /// The requests of every write.
    pub fn batch(&self) -> Batch {
        self.all.batch
    }

    /// Position in the order of the next request.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Name of the request `number` places behind this position.
    pub fn name(&self, position: usize, number: u32) -> u16 {
        let order = &self.all.order;
        self.all.names[order[(position + number as usize) % order.len()]]
    }

    /// Appends the requests of one write; the last asks the target to close the connection if `last`.
    pub fn append(&mut self, last: bool, out: &mut Vec<u8>) {
        let count = self.all.batch.requests();
        (1..=count).for_each(|number| self.append_one(last && number == count, out));
    }

    fn append_one(&mut self, last: bool, out: &mut Vec<u8>) {
        let target = self.all.order[self.position];
        let shape = if last { &self.all.closing[target] } else { &self.all.keeping[target] };
        self.values.clear();
        for field in &shape.used {
            let start = self.values.len();
            self.all.fields[*field].append(self.number, &mut self.random, &mut self.values);
            self.places[*field] = start..self.values.len();
        }
        let write = |pieces: &[Piece], length: usize, out: &mut Vec<u8>| {
            for piece in pieces {
                match piece {
                    Piece::Text(text) => out.extend_from_slice(text),
                    Piece::Field(field) => out.extend_from_slice(&self.values[self.places[*field].clone()]),
                    // Writing to a vector does not fail.
                    Piece::Length => drop(write!(out, "{length}")),
                }
            }
        };
        self.body.clear();
        write(&shape.body, 0, &mut self.body);
        write(&shape.head, self.body.len(), out);
        out.extend_from_slice(&self.body);
        self.number += self.step;
        self.position = if self.position + 1 < self.all.order.len() { self.position + 1 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(target: &str, body: Option<&str>) -> Option<Filled> {
        let template = Template {
            method: if body.is_some() { "POST" } else { "GET" }.to_owned(),
            fields: vec![("X-Id".to_owned(), "{uuid}".to_owned())]
                .into_iter()
                .filter(|_| target.contains("uuid"))
                .collect(),
            body: body.map(|text| text.as_bytes().to_vec()),
            http10: false,
        };
        let target =
            RequestTarget { host: "h".to_owned(), target: target.to_owned(), weight: 1, name: 0, authorization: None };
        Filled::new(&template, &[target], Pipeline::NONE, None, 7).unwrap()
    }

    fn requests(all: Filled, threads: usize, count: usize) -> Vec<String> {
        let all = Arc::new(all);
        let of_thread = |thread| {
            let mut filler = Filler::new(&all, Share { thread, threads, connections: threads, group: threads });
            std::iter::repeat_with(move || {
                let mut out = Vec::new();
                filler.append(false, &mut out);
                String::from_utf8(out).unwrap()
            })
            .take(count)
        };
        (0..threads).flat_map(of_thread).collect()
    }

    #[test]
    fn numbers_of_all_threads_are_those_of_the_run() {
        let mut all = requests(filled("/item/{seq}?again={seq}", None).unwrap(), 3, 4);
        all.sort_by_key(|request| request.len());
        let mut numbers: Vec<u32> = all
            .iter()
            .map(|request| {
                let target = request.split(' ').nth(1).unwrap();
                let (item, again) = target.strip_prefix("/item/").unwrap().split_once("?again=").unwrap();
                assert_eq!(item, again);
                item.parse().unwrap()
            })
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=12).collect::<Vec<_>>());
    }

    #[test]
    fn a_body_has_its_length_and_braces_that_are_no_placeholder_stay() {
        let body = r#"{"id": {rand:0..100000}, "at": {"x": {seq}}, "{none}": 1}"#;
        let all = requests(filled("/", Some(body)).unwrap(), 1, 300);
        let mut lengths = std::collections::HashSet::new();
        for request in &all {
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
            assert_eq!(length.parse::<usize>().unwrap(), body.len(), "{request}");
            assert!(body.starts_with(r#"{"id": "#) && body.ends_with(r#", "{none}": 1}"#), "{body}");
            lengths.insert(body.len());
        }
        assert!(lengths.len() > 3);
    }

    #[test]
    fn a_placeholder_has_one_value_in_a_request() {
        let all = requests(filled("/{uuid}", Some("{uuid}")).unwrap(), 1, 3);
        for request in &all {
            let uuid = &request.split(' ').nth(1).unwrap()[1..];
            assert_eq!(request.matches(uuid).count(), 3, "{request}");
        }
        assert!(all[0] != all[1] && all[1] != all[2]);
    }

    #[test]
    fn without_placeholders_there_is_nothing_to_fill() {
        assert_eq!(filled("/{vary}/{a}", Some("{}{seq")), None);
    }
}
