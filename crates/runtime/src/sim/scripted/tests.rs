//! Random programs on a kernel with random behaviour. Whatever it does:
//!
//! - every byte that arrives is delivered once and in order, or the stream ends or fails with a cause;
//! - every buffer is in exactly one place, and memory lent to the kernel is untouched until it is returned;
//! - when nothing can happen any more, each waiting task waits for something that has not happened;
//! - the runtime may be dropped at any point and has then reaped, closed and freed everything.
//!
//! Soak: `PROPTEST_CASES=100000 cargo test -p brunt-runtime --lib --release sim::scripted`

use super::kernel::Kernel;
use super::net::{self, Net, PeerAct, Script, Sock, Stage};
use super::plan::{ConnPlan, Op, Origin, Plan, plan, scarce_buffers};
use super::world::World;
use super::{NEXT, conn_task, real};
use crate::io::LINGER;
use crate::{BackendKind, Runtime, executor, net::TcpListener, spawn, testing, yield_now};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::{cell::RefCell, os::fd::OwnedFd, rc::Rc, time::Duration};

fn kernel(plan: &Plan) -> Rc<RefCell<Kernel>> {
    let sock = |conn: &ConnPlan| Sock {
        acts: conn.peer.clone().into(),
        window: conn.window,
        refuses: conn.refused,
        silent: conn.silent,
        ..Sock::default()
    };
    let hoarded = PeerAct::Send(plan.hoard.unwrap_or(0));
    let hoarded = Sock { acts: [hoarded].into(), window: 1, single_bytes: true, ..Sock::default() };
    let socks = plan.conns.iter().map(sock).chain([hoarded]).collect();
    let accepted = |index: &usize| plan.conns[*index].origin == Origin::Accepted;
    let backlog = (0..plan.conns.len()).filter(accepted).collect();
    let net = Net { script: plan.script.clone(), socks, backlog, ..Net::default() };
    Rc::new(RefCell::new(Kernel::new(net, plan.capacity)))
}

/// A runtime on that kernel.
fn build(kernel: &Rc<RefCell<Kernel>>) -> Runtime {
    NEXT.set(Some(kernel.clone()));
    Runtime::builder().backend(Some(BackendKind::Uring)).build().unwrap()
}

fn run(plan: &Plan) -> Result<(), TestCaseError> {
    let kernel = kernel(plan);
    let runtime = build(&kernel);
    let world = Rc::new(World::new(kernel, plan));
    runtime.block_on(async {
        scenario(&world, plan).await;
        // A peer may never read, and the kernel of the plan sleeps in real time.
        executor::current(|worker| worker.io().set_timeouts(LINGER, Duration::from_millis(200)));
    });
    drop(runtime);
    world.check_sent(false);
    world.check_end()
}

/// The same program on the kernel's ring, if there is one.
fn run_on_real_ring(plan: &Plan) -> Result<(), TestCaseError> {
    let Some(runtime) = testing::runtime(BackendKind::Uring) else { return Ok(()) };
    let world = Rc::new(World { on_real_ring: true, ..World::new(kernel(plan), plan) });
    runtime.block_on(real::scenario(&world, plan));
    drop(runtime);
    world.check_end()
}

async fn scenario(world: &Rc<World>, plan: &Plan) {
    let conns = Rc::new(plan.conns.clone());
    if plan.hoard.is_some() {
        world.spawn(None, conn_task::hoard(world.clone(), conns.len()));
        world.settle().await;
    }
    for (me, conn) in conns.iter().enumerate().filter(|(_, conn)| conn.origin != Origin::Accepted) {
        world.spawn(conn.abort, conn_task::run(world.clone(), me, conns.clone(), None));
    }
    let listener = net::listener();
    world.kernel.borrow_mut().net.listener = Some(listener.local_addr().unwrap());
    let listener = TcpListener::from_std(OwnedFd::from(listener).into()).unwrap();
    world.spawn(plan.unlisten, conn_task::accept(world.clone(), conns.clone(), listener));
    for round in 0..plan.rounds {
        world.abort(round);
        yield_now().await;
        world.audit();
    }
    if plan.early {
        return;
    }
    world.settle().await;
    // The newest kept buffer is an overflow buffer if any is: returning it must serve a waiting receive.
    let newest = world.kept.borrow_mut().pop_back();
    if newest.is_some() {
        drop(newest);
        world.settle().await;
    }
    while !world.kept.borrow().is_empty() {
        // Returning half of the kept buffers must serve the waiting receives.
        let half = world.kept.borrow().len().div_ceil(2);
        drop(world.kept.borrow_mut().drain(..half).collect::<Vec<_>>());
        world.settle().await;
        if half < 8 {
            break;
        }
    }
    world.end_tasks().await;
    world.until_idle().await;
    world.check_sent(true);
    // The wait for peers that stopped reading is limited.
    executor::current(|worker| worker.io().age());
    world.until_idle().await;
    if let Some(left) = executor::current(|worker| worker.io().remains()) {
        world.report(format!("{left} are left"));
    }
}

/// Runs plans: proptest's number of cases divided by `share`.
fn check(plans: impl Strategy<Value = Plan>, share: u32, run: fn(&Plan) -> Result<(), TestCaseError>) {
    let config = Config { failure_persistence: None, max_shrink_time: 60_000, ..Config::default() };
    let cases = (config.cases / share).max(1);
    let mut runner = TestRunner::new(Config { cases, ..config });
    if let Err(failure) = runner.run(&plans, |plan| run(&plan)) {
        panic!("{failure}");
    }
}

#[test]
fn random_programs_lose_nothing_and_never_hang() {
    check(plan(Just(None)), 1, run);
}

#[test]
fn random_programs_lose_nothing_on_a_real_ring() {
    check(plan(Just(None)), 4, run_on_real_ring);
}

/// Unit tests have few overflow buffers: these plans use all of them, all but a few, or need more than exist.
#[test]
fn random_programs_finish_with_few_buffers_left() {
    check(plan((3040u16..3090).prop_map(Some)), 16, run);
}

#[test]
fn a_returned_buffer_serves_a_waiting_receive() {
    check(scarce_buffers(), 16, run);
}

/// A plan with a mild kernel.
fn mild(conns: Vec<ConnPlan>) -> Plan {
    Plan { conns, capacity: 64, ..Plan::default() }
}

/// Their receives fail alternately, each failure looking as if the other may have found a buffer.
#[test]
fn two_receives_without_buffers_do_not_retry_each_other_forever() {
    let conn = ConnPlan { peer: vec![PeerAct::Send(9000)], window: 1, ops: vec![Op::Recv], ..ConnPlan::default() };
    for capacity in [1, 64] {
        run(&Plan { hoard: Some(3072), capacity, ..mild(vec![conn.clone(); 2]) }).unwrap();
    }
}

/// Its second try fails, as another connection has taken the only buffer; that one is returned before the next look.
#[test]
fn a_buffer_taken_and_returned_between_two_looks_serves_a_waiting_receive() {
    const SCRIPT: &str = "\
        86f049ff609c5c0360fc5807140aaacbcdf6a0f644b3567be15d69f535c5c67e11d83c49fcb58de659e491c0faa9b3f9b1f836fed8433326\
        e973fc6a2917fec3b040b6d1c1517d53b9e51dcc02ddf33ac45939c6ba68c1a61d13ef653bb32b589218683946afc73efbf398880dda16b1\
        c048867fc2b91a4ff3ec99929d7bd9a78dbd150f0640cf33ecadde0d8e018bb7e83fee7139db42386815205b0ac7b7d3894cc9c3f53956c0\
        2311e94dbf95538501fbc670ffe99a1363e7be7e6cbf7bb3d44f0fc64864a9214fef4eaf517c47df22a39c14cb8971eb3a26e4a9c04f5e1d\
        b759b86a3ffcf084d10038da6a0505aa251f7d8097498ceda74ca2257bd1f24ad0ea9ad41b31238043f413a3590227718cb6f0eb42e4f3a5\
        bb29921a1c4120";
    let sends = |bytes: &[u16]| bytes.iter().copied().map(PeerAct::Send).collect();
    let conn = |peer: &[u16], ops: &[Op]| ConnPlan {
        peer: sends(peer),
        window: 1 << 20,
        ops: ops.to_vec(),
        ..ConnPlan::default()
    };
    use Op::{Keep, Recv, Send};
    let conns = vec![
        conn(&[1], &[Keep]),
        conn(&[1], &[Send, Send, Send, Send, Keep, Keep]),
        conn(&[5054, 7565, 7486], &[Send, Recv, Keep, Keep, Keep, Keep, Keep]),
        conn(&[2625, 5325, 7492, 1096, 8066], &[Send, Send, Recv, Send, Send, Keep, Keep, Recv, Recv, Recv]),
    ];
    let choice = |at| u8::from_str_radix(&SCRIPT[at..at + 2], 16).unwrap();
    let script = Script::new((0..SCRIPT.len()).step_by(2).map(choice).collect());
    run(&Plan { script, hoard: Some(3072), ..mild(conns) }).unwrap();
}

/// Whether the page at that address is mapped.
fn is_mapped(address: usize) -> bool {
    let mut resident = 0u8;
    // SAFETY: mincore does not access the page and writes one byte.
    unsafe { libc::mincore((address & !4095) as *mut _, 1, &raw mut resident) == 0 }
}

#[test]
fn memory_the_kernel_does_not_return_is_never_freed() {
    let nothing = Plan { early: true, hoard: Some(10), ..mild(Vec::new()) };
    let kernel = kernel(&nothing);
    let runtime = build(&kernel);
    let world = Rc::new(World::new(kernel.clone(), &nothing));
    let (buffer, block) = runtime.block_on(async {
        let mut stream = conn_task::adopt(&world, 0);
        drop(stream.recv().await.unwrap());
        stream.write_all(b"never taken").await.unwrap();
        let buffer = kernel.borrow().net.lent.front().unwrap().1.as_ptr() as usize;
        let block = kernel.borrow().sends[0].1;
        kernel.borrow_mut().dead = true;
        spawn(async move {
            let _stream = stream;
            std::future::pending::<()>().await;
        });
        yield_now().await;
        (buffer, block)
    });
    let start = std::time::Instant::now();
    drop(runtime);
    assert!(start.elapsed() < Duration::from_secs(60));
    assert!(is_mapped(buffer) && is_mapped(block));
    let mut kernel = kernel.borrow_mut();
    kernel.net.socks[0].update();
    assert_eq!(kernel.net.socks[0].stage, Stage::Closed, "the descriptor is closed anyway");
    assert!(kernel.net.violations.get_mut().iter().all(|violation| violation.contains("descriptor closed")));
}
