//! Random programs on a kernel with random whims. Whatever it does:
//!
//! - every byte that arrives is delivered once and in order, or the stream ends or fails for a reason;
//! - every buffer and block is in exactly one place, and what the kernel has is left alone until it has done with it;
//! - who waits when nothing moves waits for something that has not happened;
//! - at the end, and in the middle of anything, everything is reaped, closed and free.
//!
//! `PROPTEST_CASES=100000 cargo test -p brunt-runtime --lib --release fake` soaks.

use super::{
    NEXT,
    kernel::Kernel,
    life,
    net::Net,
    plan::{Choices, Life, Op, Origin, Plan, famine, plan},
    script::Script,
    socket::{self, PeerAct, Sock, Stage},
    world::World,
};
use crate::{BackendKind, Runtime, executor, net::TcpListener, spawn, yield_now};
use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};
use std::{cell::RefCell, rc::Rc, time::Duration};

fn kernel(plan: &Plan) -> Rc<RefCell<Kernel>> {
    let sock = |life: &Life| {
        let mut sock = Sock::new(life.peer.clone(), life.window, life.refused);
        sock.silent = life.silent;
        sock
    };
    let mut socks: Vec<Sock> = plan.lives.iter().map(sock).collect();
    let mut hoarded = Sock::new(vec![PeerAct::Send(plan.hoard.unwrap_or(0))], 1, false);
    hoarded.crumbs = true;
    socks.push(hoarded);
    let accepted = |index: &usize| plan.lives[*index].origin == Origin::Accepted;
    let backlog = (0..plan.lives.len()).filter(accepted).collect();
    let script = Script::new(plan.script.0.clone());
    Rc::new(RefCell::new(Kernel::new(Net { script, socks, backlog, ..Net::default() }, plan.room)))
}

/// A runtime on that kernel.
fn build(kernel: &Rc<RefCell<Kernel>>) -> Runtime {
    NEXT.set(Some(kernel.clone()));
    Runtime::builder().backend(Some(BackendKind::Uring)).build().unwrap()
}

fn run(plan: &Plan) -> Result<(), TestCaseError> {
    let kernel = kernel(plan);
    let runtime = build(&kernel);
    let world = Rc::new(World::new(kernel.clone(), plan));
    runtime.block_on(scenario(&world, plan));
    drop(runtime);
    world.check_end();
    let faults = std::mem::take(&mut kernel.borrow_mut().net.faults);
    prop_assert!(faults.is_empty(), "{:#?}", &faults[..faults.len().min(5)]);
    Ok(())
}

async fn scenario(world: &Rc<World>, plan: &Plan) {
    let lives = Rc::new(plan.lives.clone());
    if plan.hoard.is_some() {
        let task = spawn(life::hoard(world.clone(), lives.len()));
        world.handles.borrow_mut().push((None, task));
        world.rest().await;
        world.check_waits();
    }
    for (me, life) in lives.iter().enumerate().filter(|(_, life)| life.origin != Origin::Accepted) {
        let task = spawn(life::live(world.clone(), me, lives.clone(), None));
        world.handles.borrow_mut().push((life.abort, task));
    }
    let listener = TcpListener::from_std(socket::pair().0.into()).unwrap();
    let task = spawn(life::accept(world.clone(), lives.clone(), listener));
    world.handles.borrow_mut().push((plan.unlisten, task));
    for round in 0..plan.rounds {
        world.handles.borrow().iter().filter(|(at, _)| *at == Some(round)).for_each(|(_, task)| task.abort());
        yield_now().await;
        world.audit();
    }
    if plan.early {
        return;
    }
    world.rest().await;
    world.check_waits();
    // The newest lease is in a spare buffer, if any is: it goes home, and is wanted.
    let newest = world.kept.borrow_mut().pop_back();
    if newest.is_some() {
        drop(newest);
        world.rest().await;
        world.check_waits();
    }
    while !world.kept.borrow().is_empty() {
        // Those who keep leases give half of them back: whoever starves must be fed.
        let half = world.kept.borrow().len().div_ceil(2);
        drop(world.kept.borrow_mut().drain(..half).collect::<Vec<_>>());
        world.rest().await;
        world.check_waits();
        if half < 8 {
            break;
        }
    }
    world.handles.borrow().iter().for_each(|(_, task)| task.abort());
    let tasks = std::mem::take(&mut *world.handles.borrow_mut());
    for (_, task) in tasks {
        if let Err(error) = task.await
            && error.is_panic()
        {
            world.fault(error.to_string());
        }
    }
    world.kept.borrow_mut().clear();
    world.rest().await;
    world.check_sent(true);
    // Peers that take nothing are waited for, but not for ever.
    executor::current(|worker| worker.io().age());
    world.rest().await;
    if let Some(left) = executor::current(|worker| worker.io().remains()) {
        world.fault(format!("{left} are left"));
    }
}

fn check(plans: impl Strategy<Value = Plan>, share: u32) {
    let config = Config { failure_persistence: None, max_shrink_time: 60_000, ..Config::default() };
    let cases = (config.cases / share).max(1);
    let mut runner = TestRunner::new(Config { cases, ..config });
    if let Err(failure) = runner.run(&plans, |plan| run(&plan)) {
        panic!("{failure}");
    }
}

#[test]
fn whatever_the_kernel_does_nothing_is_lost_and_nobody_waits_in_vain() {
    check(plan(Just(None)), 1);
}

/// There are few spare buffers in unit tests: these plans use up all, all but a few, or more than there are.
#[test]
fn however_few_buffers_are_left_everybody_is_served_in_the_end() {
    check(plan((3040u16..3090).prop_map(Some)), 16);
}

#[test]
fn a_buffer_that_comes_back_in_a_famine_is_found() {
    check(famine(), 16);
}

/// A plan without surprises.
fn kind(lives: Vec<Life>) -> Plan {
    Plan { lives, script: Choices(Vec::new()), room: 64, rounds: 0, early: false, unlisten: None, hoard: None }
}

/// Their receives fail turn and turn about: each time it seems that the other one may have found something.
#[test]
fn two_that_starve_do_not_take_turns_for_ever() {
    let life = Life {
        origin: Origin::Adopted,
        refused: false,
        silent: false,
        peer: vec![PeerAct::Send(9000)],
        window: 1,
        ops: vec![Op::Recv],
        abort: None,
        foreign: false,
        split: false,
    };
    for room in [1, 64] {
        run(&Plan { hoard: Some(3072), room, ..kind(vec![life.clone(); 2]) }).unwrap();
    }
}

/// Whether the page at that address is still there.
fn is_mapped(address: usize) -> bool {
    let mut there = 0u8;
    // SAFETY: asking about one page reads nothing from it; the answer is one byte.
    unsafe { libc::mincore((address & !4095) as *mut _, 1, &raw mut there) == 0 }
}

#[test]
fn memory_that_the_kernel_does_not_let_go_of_is_never_freed() {
    let nothing = Plan { early: true, hoard: Some(10), ..kind(Vec::new()) };
    let kernel = kernel(&nothing);
    let runtime = build(&kernel);
    let world = Rc::new(World::new(kernel.clone(), &nothing));
    let (buffer, block) = runtime.block_on(async {
        let mut stream = life::adopt(&world, 0);
        drop(stream.recv().await.unwrap());
        stream.write_all(b"never taken").await.unwrap();
        let buffer = kernel.borrow().net.lent.front().unwrap().1.as_ptr() as usize;
        let block = kernel.borrow().sends().next().unwrap();
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
    kernel.net.socks[0].look();
    assert_eq!(kernel.net.socks[0].stage, Stage::Closed, "the descriptor is closed all the same");
    assert!(kernel.net.faults.is_empty() || kernel.net.faults.iter().all(|fault| fault.contains("descriptor closed")));
}
