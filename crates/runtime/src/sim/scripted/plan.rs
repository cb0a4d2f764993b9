//! Random test plans: connections, the operations of their tasks and peers, and the kernel's choices.

use super::net::{PeerAct, Script};
use proptest::{bool::weighted, collection::vec, option, prelude::*};

#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    pub conns: Vec<ConnPlan>,
    /// The kernel's choices, and the capacity of its completion queue.
    pub script: Script,
    pub capacity: usize,
    /// Rounds in which tasks are aborted. Then the rest runs until idle or, if `early`, the runtime is dropped.
    pub rounds: u8,
    pub early: bool,
    /// The round in which the listener is dropped.
    pub unlisten: Option<u8>,
    /// Buffers that one task takes and keeps.
    pub hoard: Option<u16>,
}

/// The plan of one connection.
#[derive(Debug, Clone, Default)]
pub(super) struct ConnPlan {
    pub origin: Origin,
    /// Its connect is refused or never answered.
    pub refused: bool,
    pub silent: bool,
    pub peer: Vec<PeerAct>,
    /// Most bytes the peer leaves unread.
    pub window: usize,
    pub ops: Vec<Op>,
    /// Round in which its task is aborted.
    pub abort: Option<u8>,
    /// Polled with foreign wakers.
    pub foreign: bool,
    /// Ends by dropping the write half and reading the rest.
    pub split: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Origin {
    #[default]
    Adopted,
    Accepted,
    Connected,
}

#[derive(Debug, Clone)]
pub(super) enum Op {
    Read(usize),
    /// Receives a buffer and drops it.
    Recv,
    /// Receives a buffer and puts it into the pool shared by all tasks.
    Keep,
    /// Sends the oldest buffer of the pool.
    Send,
    Forget,
    /// One write, possibly partial; or as many as needed.
    Write(usize),
    WriteAll(usize),
    /// A vectored write of that many slices.
    WriteVectored(usize, usize),
    Flush,
    /// Reads a pipe that another task writes; the first wait is dropped.
    Pipe(u16),
    /// Polls a read, a receive or both once and drops the futures.
    DropRead(u8),
    DropWrite(usize),
    /// Waits for a receive that many microseconds.
    Timeout(u8),
    HalfClose,
    Yield(u8),
    /// Writes that many bytes and reads meanwhile.
    Both(usize),
    /// Sends everything back until the end.
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
        1 => (size(), 1usize..5).prop_map(|(size, pieces)| Op::WriteVectored(size, pieces)),
        1 => Just(Op::Flush),
        1 => (1u16..4000).prop_map(Op::Pipe),
        3 => (0u8..3).prop_map(Op::DropRead),
        2 => size().prop_map(Op::DropWrite),
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
        1 => Just(PeerAct::StopReading),
    ]
}

fn script() -> impl Strategy<Value = Script> {
    vec(any::<u8>(), 0..700).prop_map(Script::new)
}

prop_compose! {
    fn conn()(
        origin in prop_oneof![Just(Origin::Adopted), Just(Origin::Accepted), Just(Origin::Connected)],
        peer in vec(act(), 0..8),
        window in prop_oneof![1usize..200, 1usize..50_000, Just(1 << 20)],
        ops in vec(op(), 0..10),
        abort in option::weighted(0.3, 0u8..20),
        (foreign, refused, silent, split) in (any::<bool>(), weighted(0.1), weighted(0.1), weighted(0.3)),
    ) -> ConnPlan {
        ConnPlan { origin, refused, silent, peer, window, ops, abort, foreign, split }
    }
}

prop_compose! {
    pub(super) fn plan(hoard: impl Strategy<Value = Option<u16>>)(
        conns in vec(conn(), 0..6),
        script in script(),
        capacity in prop_oneof![1usize..10, Just(64), Just(8192)],
        (rounds, early, unlisten) in (0u8..25, weighted(0.3), option::weighted(0.3, 0u8..20)),
        hoard in hoard,
    ) -> Plan {
        Plan { conns, script, capacity, rounds, early, unlisten, hoard }
    }
}

prop_compose! {
    /// A connection that receives, keeps and sends buffers only.
    fn hoarding_conn()(
        peer in vec((1u16..9000).prop_map(PeerAct::Send), 1..6),
        ops in vec(prop_oneof![
            4 => Just(Op::Keep), 4 => Just(Op::Send), 1 => Just(Op::Recv), 1 => (1u8..5).prop_map(Op::Yield)
        ], 1..12),
    ) -> ConnPlan {
        ConnPlan { peer, window: 1 << 20, ops, ..ConnPlan::default() }
    }
}

prop_compose! {
    /// All buffers are taken, and all tasks receive, keep and send each other's: several wait for each returned buffer.
    pub(super) fn scarce_buffers()(
        conns in vec(hoarding_conn(), 2..7), script in script(), hoard in 3070u16..3074,
    ) -> Plan {
        Plan { conns, script, capacity: 64, hoard: Some(hoard), ..Plan::default() }
    }
}
