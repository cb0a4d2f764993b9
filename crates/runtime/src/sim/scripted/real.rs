//! The random programs on a real ring: the same tasks on socket pairs whose far ends are played by other tasks.
//!
//! Checks the bytes of both directions and leaks, but not the waits and buffers, which only the simulated kernel can judge.

use super::conn_task;
use super::net::{self, PeerAct};
use super::plan::{ConnPlan, Origin, Plan};
use super::world::World;
use crate::{executor, net::AsyncFd, spawn, time::sleep};
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use std::{net::Shutdown, os::unix::net::UnixStream, rc::Rc};

const STEP: Duration = Duration::from_micros(100);

/// Reads what the connection sends, unless the peer has stopped reading.
async fn read(world: Rc<World>, me: usize, far: UnixStream) {
    let (fd, mut buffer) = (AsyncFd::new(far), [0; 8192]);
    while let Ok(len @ 1..) = fd.read_with(|mut far| far.read(&mut buffer)).await {
        world.sock(me).take(&buffer[..len]);
        while world.sock(me).stopped_reading {
            sleep(STEP).await;
        }
    }
}

/// Performs the peer's steps.
async fn act(world: Rc<World>, me: usize, plan: ConnPlan) {
    let far = loop {
        let far = world.sock(me).far.as_ref().map(|far| far.try_clone().unwrap());
        match far {
            Some(far) => break UnixStream::from(far),
            None => sleep(STEP).await,
        }
    };
    far.set_nonblocking(true).unwrap();
    spawn(read(world.clone(), me, far.try_clone().unwrap()));
    let (fd, mut awaited) = (AsyncFd::new(far), 0);
    for step in plan.peer {
        match step {
            PeerAct::Send(len) => {
                let from = world.sock(me).sent;
                world.sock(me).sent += usize::from(len);
                let bytes: Vec<u8> = (from..from + usize::from(len)).map(|at| net::byte(me, at)).collect();
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    // The connection may be closed.
                    let Ok(len) = fd.write_with(|mut far| far.write(rest)).await else { return };
                    rest = &rest[len..];
                }
            }
            PeerAct::Await(len) => {
                awaited += usize::from(len);
                while world.sock(me).taken.len() < awaited {
                    sleep(STEP).await;
                }
            }
            PeerAct::Fin => {
                world.sock(me).fin = true;
                return fd.get_ref().shutdown(Shutdown::Write).unwrap();
            }
            PeerAct::StopReading => world.sock(me).stopped_reading = true,
            PeerAct::Reset { .. } => {
                (world.sock(me).fin, world.sock(me).failed) = (true, true);
                return fd.get_ref().shutdown(Shutdown::Both).unwrap();
            }
        }
    }
}

async fn until(limit: Duration, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() && start.elapsed() < limit {
        sleep(STEP).await;
    }
}

pub(super) async fn scenario(world: &Rc<World>, plan: &Plan) {
    let adopted = |conn: &ConnPlan| ConnPlan { origin: Origin::Adopted, ..conn.clone() };
    let conns: Rc<Vec<ConnPlan>> = Rc::new(plan.conns.iter().map(adopted).collect());
    for (me, conn) in conns.iter().enumerate() {
        spawn(act(world.clone(), me, conn.clone()));
        world.spawn(conn.abort, conn_task::run(world.clone(), me, conns.clone(), None));
    }
    for round in 0..plan.rounds {
        world.abort(round);
        crate::yield_now().await;
    }
    if plan.early {
        return;
    }
    // Some tasks wait for bytes that their peers never send.
    until(Duration::from_millis(10), || world.handles.borrow().iter().all(|(_, task)| task.is_finished())).await;
    world.end_tasks().await;
    // Pending writes are sent after the streams are dropped, unless the peer has stopped reading.
    for me in 0..conns.len() {
        let sent = || {
            let sock = world.sock(me);
            sock.failed || sock.stopped_reading || sock.taken.len() == world.written(me)
        };
        until(Duration::from_secs(20), sent).await;
        if !sent() {
            world.report(format!("socket {me}: not all written bytes were sent"));
        }
    }
    world.check_sent(false);
    executor::current(|worker| worker.io().age());
}
