//! What a test on the fake ring does: connections, what their tasks and their peers do, and the kernel's choices.

use super::socket::PeerAct;
use proptest::{collection::vec, option, prelude::*};
use std::fmt;

#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub lives: Vec<Life>,
    /// The kernel's choices, and the completions its queue holds.
    pub script: Choices,
    pub room: usize,
    /// Rounds in which tasks are aborted; then all is left to come to rest, or the runtime dropped in the middle of it.
    pub rounds: u8,
    pub early: bool,
    /// The round in which the listener is dropped.
    pub unlisten: Option<u8>,
    /// Buffers that somebody takes and keeps.
    pub hoard: Option<u16>,
}

/// A script's bytes, shown in one line.
#[derive(Clone)]
pub(super) struct Choices(pub Vec<u8>);

impl fmt::Debug for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What comes after the last choice is zeros anyway.
        let len = self.0.iter().rposition(|choice| *choice != 0).map_or(0, |last| last + 1);
        write!(f, "{:?}", &self.0[..len])
    }
}

/// One connection's.
#[derive(Debug, Clone)]
pub(super) struct Life {
    pub origin: Origin,
    /// Its connect is refused, or never answered.
    pub refused: bool,
    pub silent: bool,
    pub peer: Vec<PeerAct>,
    /// What the peer lets stand unread.
    pub window: usize,
    pub ops: Vec<Op>,
    /// The round in which its task is aborted.
    pub abort: Option<u8>,
    /// It is polled with wakers of its own.
    pub foreign: bool,
    /// At its end it drops the write half and reads what is left.
    pub split: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Adopted,
    Accepted,
    Connected,
}

#[derive(Debug, Clone)]
pub(super) enum Op {
    Read(usize),
    /// Takes a lease and drops it.
    Recv,
    /// Takes a lease and keeps it where all can find it.
    Keep,
    /// Sends the oldest lease kept, whosever it was.
    Send,
    Forget,
    /// One write, in part perhaps, or as many as it takes.
    Write(usize),
    WriteAll(usize),
    /// As a write, in that many pieces.
    Pieces(usize, usize),
    Flush,
    /// Waits for a pipe that somebody writes to; the first wait is given up.
    Pipe(u16),
    /// Polls a read, a receive or both once and drops the futures.
    GiveUp(u8),
    GiveUpWriting(usize),
    /// Waits for a receive that many microseconds.
    Timeout(u8),
    HalfClose,
    Yield(u8),
    /// Writes that much and reads meanwhile.
    Both(usize),
    /// Everything back until the end.
    Echo,
}

fn op() -> impl Strategy<Value = Op> {
    let size = || prop_oneof![1usize..60, 4000usize..4200, 16_300usize..16_500, 1usize..40_000];
    prop_oneof![
        3 => size().prop_map(Op::Read),
        3 => Just(Op::Recv),
        2 => Just(Op::Keep),
        3 => Just(Op::Send),
        1 => Just(Op::Forget),
        2 => size().prop_map(Op::Write),
        3 => size().prop_map(Op::WriteAll),
        1 => (size(), 1usize..5).prop_map(|(size, pieces)| Op::Pieces(size, pieces)),
        1 => Just(Op::Flush),
        1 => (1u16..4000).prop_map(Op::Pipe),
        3 => (0u8..3).prop_map(Op::GiveUp),
        2 => size().prop_map(Op::GiveUpWriting),
        1 => (0u8..80).prop_map(Op::Timeout),
        1 => Just(Op::HalfClose),
        2 => (1u8..5).prop_map(Op::Yield),
        2 => size().prop_map(Op::Both),
        3 => Just(Op::Echo),
    ]
}

fn act() -> impl Strategy<Value = PeerAct> {
    prop_oneof![
        6 => prop_oneof![1u16..60, 1u16..9000, 1u16..=65_535].prop_map(PeerAct::Send),
        3 => prop_oneof![1u16..60, 1u16..9000].prop_map(PeerAct::Await),
        1 => Just(PeerAct::Fin),
        1 => any::<bool>().prop_map(|purge| PeerAct::Reset { purge }),
        1 => Just(PeerAct::Deaf),
    ]
}

fn life() -> impl Strategy<Value = Life> {
    let origin = prop_oneof![Just(Origin::Adopted), Just(Origin::Accepted), Just(Origin::Connected)];
    let window = prop_oneof![1usize..200, 1usize..50_000, Just(1 << 20)];
    let often = proptest::bool::weighted;
    let ends = (option::weighted(0.3, 0u8..20), any::<bool>(), often(0.1), often(0.1), often(0.3));
    (origin, vec(act(), 0..8), window, vec(op(), 0..10), ends).prop_map(
        |(origin, peer, window, ops, (abort, foreign, refused, silent, split))| Life {
            origin,
            refused,
            silent,
            peer,
            window,
            ops,
            abort,
            foreign,
            split,
        },
    )
}

pub(super) fn plan(hoard: impl Strategy<Value = Option<u16>>) -> impl Strategy<Value = Plan> {
    let room = prop_oneof![1usize..10, Just(64), Just(8192)];
    let ends = (0u8..25, proptest::bool::weighted(0.3), option::weighted(0.3, 0u8..20));
    (vec(life(), 0..6), vec(any::<u8>(), 0..700).prop_map(Choices), room, ends, hoard).prop_map(
        |(lives, script, room, (rounds, early, unlisten), hoard)| Plan {
            lives,
            script,
            room,
            rounds,
            early,
            unlisten,
            hoard,
        },
    )
}

/// All buffers are taken, and everybody takes leases, keeps them and sends those of others: each buffer that comes back is
/// wanted by several.
pub(super) fn famine() -> impl Strategy<Value = Plan> {
    let op =
        prop_oneof![4 => Just(Op::Keep), 4 => Just(Op::Send), 1 => Just(Op::Recv), 1 => (1u8..5).prop_map(Op::Yield)];
    let life = (vec((1u16..9000).prop_map(PeerAct::Send), 1..6), vec(op, 1..12)).prop_map(|(peer, ops)| Life {
        origin: Origin::Adopted,
        refused: false,
        silent: false,
        peer,
        window: 1 << 20,
        ops,
        abort: None,
        foreign: false,
        split: false,
    });
    (vec(life, 2..7), vec(any::<u8>(), 0..700).prop_map(Choices), 3070u16..3074).prop_map(|(lives, script, hoard)| {
        Plan { lives, script, room: 64, rounds: 0, early: false, unlisten: None, hoard: Some(hoard) }
    })
}
