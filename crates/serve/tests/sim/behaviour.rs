//! What clients do, by seed: requests in pieces, pauses, half closes, disappearances.

use crate::clients::Client;
use crate::worlds::{MS, US, until};
use brunt_runtime::sim::World;
use std::time::Duration;

/// When clients act, in a millisecond. None of the first 400 ticks comes then, so that none is moved by what a client does: a
/// sleep that ends with another turn saves its own.
const ACTS: Duration = Duration::from_micros(500);
/// Pieces of a client, at most: the last one comes before that tick.
const PIECES: usize = 8;

/// What a client does last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Last {
    /// Waits for the end.
    Waits,
    /// Shuts down its sending side, and waits for the end.
    HalfCloses,
    /// Is gone.
    Leaves,
}

/// What a client does: some requests, one behind the other and cut into pieces, and no more.
#[derive(Debug)]
pub struct Behaviour {
    requests: Vec<Request>,
    bytes: String,
    pub connects: Duration,
    /// Each piece: when it is sent, and where it ends.
    pub pieces: Vec<(Duration, usize)>,
    pub last: (Duration, Last),
}

/// Where the head and the body of a request end.
#[derive(Debug)]
struct Request {
    head: usize,
    body: usize,
}

impl Behaviour {
    pub fn draw(world: &World, number: u64) -> Self {
        let (mut requests, mut bytes) = (Vec::new(), String::new());
        for _ in 0..world.below(4) {
            let length = world.one_of(&[0, 0, 1, 300]) as usize;
            let method = if length == 0 { "GET" } else { "POST" };
            let framing = if length == 0 { String::new() } else { format!("Content-Length: {length}\r\n") };
            bytes += &format!("{method} / HTTP/1.1\r\nHost: a\r\n{framing}\r\n");
            let head = bytes.len();
            bytes += &"x".repeat(length);
            requests.push(Request { head, body: bytes.len() });
        }
        // Clients act at times of their own within a millisecond.
        let mut at = ACTS + 20 * US * number as u32 + world.below(200) as u32 * MS;
        let connects = at;
        let pause = || world.below(world.one_of(&[2, 20, 100, 400])) as u32 * MS + MS;
        let (mut pieces, mut sent) = (Vec::new(), 0);
        while sent < bytes.len() && pieces.len() < PIECES && world.below(12) > 0 {
            at += pause();
            // A part, all, or what ends with a head or a body.
            let ends = requests.iter().flat_map(|request| [request.head, request.body]).filter(|end| *end > sent);
            let ends: Vec<usize> =
                ends.chain([bytes.len(), sent + 1 + world.below((bytes.len() - sent) as u64) as usize]).collect();
            sent = world.one_of(&ends);
            pieces.push((at, sent));
        }
        let last = world.one_of(&[Last::Waits, Last::Waits, Last::HalfCloses, Last::Leaves]);
        Self { requests, bytes, connects, pieces, last: (at + pause(), last) }
    }

    /// What the server waits for when so many bytes have come, and how many heads have.
    pub fn waits(&self, received: usize) -> (Waits, usize) {
        let heads = self.requests.iter().filter(|request| request.head <= received).count();
        let begins = self.requests.iter().map(|request| request.body).filter(|end| *end <= received).max().unwrap_or(0);
        let waits = match self.requests.iter().find(|request| request.body > received) {
            Some(_) if begins == received => Waits::Idle,
            Some(request) if request.head <= received => Waits::Body,
            Some(_) => Waits::Head,
            None => Waits::Idle,
        };
        (waits, heads)
    }

    pub fn answered(&self, received: usize) -> usize {
        self.requests.iter().filter(|request| request.body <= received).count()
    }
}

/// What a server waits for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Waits {
    Idle,
    Head,
    Body,
}

/// What a client has seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub statuses: Vec<u16>,
    /// When the connection has ended; `None` if the client has left before.
    pub end: Option<Duration>,
}

impl Behaviour {
    /// Does what it says.
    pub async fn act(&self) -> Seen {
        until(self.connects).await;
        let mut client = Client::connect().await;
        let mut sent = 0;
        let mut goes_on = true;
        for (at, end) in &self.pieces {
            goes_on = goes_on && client.hear_until(*at).await;
            if goes_on {
                client.send(&self.bytes[sent..*end]).await;
                sent = *end;
            }
        }
        if goes_on && client.hear_until(self.last.0).await {
            match self.last.1 {
                Last::Waits => (),
                Last::HalfCloses => client.half_close().await,
                Last::Leaves => return Seen { statuses: statuses(&client.said()), end: None },
            }
        }
        let end = client.end().await;
        assert!(!end.reset, "{end:?}");
        Seen { statuses: statuses(&end.said), end: Some(end.at) }
    }
}

fn statuses(said: &str) -> Vec<u16> {
    said.split("HTTP/1.1 ").skip(1).map(|answer| answer[..3].parse().unwrap()).collect()
}
