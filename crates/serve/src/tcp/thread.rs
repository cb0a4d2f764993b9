//! A blocking thread per connection.

use super::shared::accept::{self, PAUSE};
use super::shared::context::{Concurrency, ModelContext, ServerModel, Workers};
use super::shared::threads::set_affinity;
use crate::{Counts, Notice, ServeError, Service, lock, report::is_failure};
use rustix::net::SocketFlags;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::{collections::HashMap, fs, thread, time::Duration};

/// Bytes of a thread's stack; only touched pages use memory.
const STACK: usize = 64 << 10;

pub(crate) static MODEL: ServerModel = ServerModel {
    word: "thread",
    about: "a blocking thread per connection",
    backend: "a thread a connection",
    workers: Workers::One,
    concurrency: Concurrency::Unlimited,
    listener_per_worker: false,
    run,
};

fn run(context: &ModelContext) -> Result<Counts, ServeError> {
    let (service, buffer, stop) = (context.options.service, context.options.buffer(), context.stop);
    set_affinity(&context.options.workers)?;
    let listeners = context.listeners()?;
    let most = most_threads();
    let open = &Open::default();
    thread::scope(|scope| {
        let (mut accepted, mut told) = (0, false);
        let mut serve = |socket: TcpStream| {
            accepted += 1;
            let (number, socket) = (accepted, Arc::new(socket));
            lock(&open.state).sockets.insert(number, socket.clone());
            // Out of threads: accepted connections wait until another one ends.
            while let Err(why) = open.room(most).and_then(|()| {
                let (thread, socket) = (thread::Builder::new().stack_size(STACK), socket.clone());
                thread.spawn_scoped(scope, move || open.leave(number, connection(&socket, service, buffer)))
            }) {
                if !told {
                    let many = lock(&open.state).sockets.len() - 1;
                    let _ = context.notices.send(Notice::Trouble(format!(
                        "no thread for more than {many} connections: {why}; others wait until one of them ends"
                    )));
                    told = true;
                }
                thread::sleep(PAUSE);
                if stop.is_cancelled() {
                    return;
                }
            }
        };
        context.listening(MODEL.backend);
        accept::until(stop, &listeners, SocketFlags::empty(), &mut serve)?;
        drop(listeners);
        Ok(Counts { accepted, ..open.end(context.options.grace) })
    })
}

fn connection(mut socket: &TcpStream, service: Service, buffer: usize) -> io::Result<()> {
    let mut buffer = vec![0; buffer];
    loop {
        let len = match socket.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(len) => len,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if let Service::Echo(work) = service {
            work.block();
            socket.write_all(&buffer[..len])?;
        }
    }
}

/// Connections that have a thread or wait for one.
#[derive(Default)]
struct Open {
    state: Mutex<State>,
    none: Condvar,
}

#[derive(Default)]
struct State {
    sockets: HashMap<u64, Arc<TcpStream>>,
    failed: u64,
}

impl Open {
    /// Fails if no more threads are possible, the new one included.
    fn room(&self, most: usize) -> io::Result<()> {
        match lock(&self.state).sockets.len() > most {
            true => Err(io::Error::other("vm.max_map_count leaves room for no more stacks")),
            false => Ok(()),
        }
    }

    fn leave(&self, number: u64, result: io::Result<()>) {
        let mut state = lock(&self.state);
        state.failed += u64::from(result.is_err_and(|error| is_failure(&error)));
        state.sockets.remove(&number);
        if state.sockets.is_empty() {
            self.none.notify_all();
        }
    }

    /// Waits for connections to end during the grace time, then closes the rest.
    fn end(&self, grace: Duration) -> Counts {
        let some = |state: &mut State| !state.sockets.is_empty();
        let (state, _) =
            self.none.wait_timeout_while(lock(&self.state), grace, some).unwrap_or_else(PoisonError::into_inner);
        // Unblocks the threads.
        for socket in state.sockets.values() {
            let _ = socket.shutdown(Shutdown::Both);
        }
        Counts { accepted: 0, failed: state.failed, cut: state.sockets.len() as u64 }
    }
}

/// Threads possible under `vm.max_map_count`. A thread has two stacks, one for signals, each with a guard mapping; the standard
/// library aborts if the signal stack cannot be mapped.
fn most_threads() -> usize {
    let maps = fs::read_to_string("/proc/sys/vm/max_map_count").ok().and_then(|text| text.trim().parse().ok());
    // Mappings of the rest of the program.
    const OTHERS: usize = 1000;
    maps.map_or(usize::MAX, |maps: usize| maps.saturating_sub(OTHERS) / 4)
}
