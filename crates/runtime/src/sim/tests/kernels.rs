//! The world against the real kernel: the same scripts on a simulated world, on io_uring and on epoll. What each call returns
//! must be equal.
//!
//! A script is words, each a step of one end, `c` (it connected) or `s` (it accepted), followed by a pause in which everything
//! arrives: `w9` writes and flushes nine bytes, `r9` reads at most nine, `h` and `i` shut writing and reading down, `x` closes,
//! `z` closes with SO_LINGER 0. A step on a closed end does nothing.
//!
//! Soak: `SIM_SCRIPTS=2000 SIM_SEED=5 cargo test -p brunt-runtime --lib kernels`

use super::super::World;
use crate::net::{Address, Any, Family, Listener, Stream, TcpListener, TcpStream, UdpSocket, UnixStream};
use crate::sim_kernel::random::Random;
use crate::time::{sleep, timeout};
use crate::{BackendKind, JoinSet, Runtime, testing};
use std::collections::BTreeMap;
use std::net::{Shutdown, SocketAddr};
use std::{io, time::Duration};

/// Ample for everything to arrive on a busy machine; all scripts wait at the same time.
const SETTLE: Duration = Duration::from_millis(30);

/// TCP behaviour in which the backends of the runtime differ from each other, as script, kernel and what it returns instead.
/// None of them is one of the world's.
const KNOWN: [(&str, Kernel, &str); 0] = [];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kernel {
    World,
    Uring,
    Epoll,
}

/// Waits until everything has arrived. On a machine that stood still meanwhile, what a turn has begun is finished in the next.
async fn settle() {
    sleep(SETTLE).await;
    for _ in 0..8 {
        crate::yield_now().await;
    }
}

fn result<T: std::fmt::Display>(result: io::Result<T>) -> String {
    match result {
        Ok(value) => value.to_string(),
        Err(error) => format!("{:?}", error.kind()),
    }
}

async fn step<F: Family>(end: &mut Option<Stream<F>>, what: &str) -> Option<String> {
    let (verb, size) = what.split_at(1);
    let size = || size.parse::<usize>().unwrap();
    let stream = end.as_mut()?;
    Some(match verb {
        "w" => {
            let bytes = vec![7; size()];
            let written = async {
                stream.write_all(&bytes).await?;
                stream.flush().await
            };
            match timeout(SETTLE, written).await {
                Ok(written) => result(written.map(|()| bytes.len())),
                Err(_) => "waits".to_owned(),
            }
        }
        "r" => {
            let mut into = vec![0; size()];
            match timeout(SETTLE, stream.read(&mut into)).await {
                Ok(read) => result(read),
                Err(_) => "waits".to_owned(),
            }
        }
        "h" => result(stream.shutdown(Shutdown::Write).await.map(|()| "shut")),
        "i" => result(stream.shutdown(Shutdown::Read).await.map(|()| "shut")),
        "z" => {
            let zero = result(stream.set_linger_zero().map(|()| "reset"));
            *end = None;
            zero
        }
        _ => {
            *end = None;
            "closed".to_owned()
        }
    })
}

async fn play<F: Family>(script: String, client: Stream<F>, server: Stream<F>) -> (String, String) {
    let (mut client, mut server, mut log) = (Some(client), Some(server), String::new());
    for word in script.split(' ') {
        let (who, what) = word.split_at(1);
        let done = if who == "c" { step(&mut client, what).await } else { step(&mut server, what).await };
        if let Some(done) = done {
            log += &format!("{word} {done}, ");
        }
        settle().await;
    }
    (script, log)
}

/// Scripts chosen by hand: each shows a rule.
const CHOSEN: [&str; 22] = [
    "cw10 sr99 sw20 cr99 cx sr9 sw5 sw5 sr9",
    "ch sr9 sw10 cr99 sw10 sx cr99 cr9",
    "cw10 cx sr99 sr9",
    "cw10 sx cr9 cw5 cw5",
    "cw10 sx cw5 cr9 cr9",
    "sw10 cw10 cz sr99 sr9 sw5",
    "sw10 cz sw5 sr9 sr9",
    "cz sr9 sr9 sw5",
    "cz sw5 sw5 sr9",
    "cr9 sz cr9 cw5 cr9",
    "cw10 cz sr5 sr99 sr9",
    "cx sw5 sw5 sr9 sr9",
    "cx sr9 sw5 sw5 sw5 sr9",
    "sr9 cw10 cx sr99 sr9 sr9",
    "ch sx cw5 cr9",
    "ch cw5 cr9 sw5 cr9 sr9",
    "ch sh cr9 sr9 cw1 sw1",
    "ci cr9 sw5 cr9 sw5 cw5 sr9",
    "ci sw5 sr9",
    "sw10 ci cr99 cr9",
    "cw10 sz cr9 ch cw5",
    "sz ch cr9 cr9",
];

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

/// Scripts by chance, the same on every kernel.
fn scripts() -> Vec<String> {
    let mut random = Random::new(variable("SIM_SEED").unwrap_or(11));
    let mut script = || {
        let mut word = || {
            let end = ["c", "s"][random.below(2) as usize];
            let steps = ["w10", "w300", "r5", "r99", "r999", "w10", "r999", "h", "i", "x", "z"];
            format!("{end}{}", steps[random.below(steps.len() as u64) as usize])
        };
        (0..8).map(|_| word()).collect::<Vec<_>>().join(" ")
    };
    CHOSEN.map(str::to_owned).into_iter().chain((0..variable("SIM_SCRIPTS").unwrap_or(120)).map(|_| script())).collect()
}

async fn pair(address: &Address) -> (Stream<Any>, Stream<Any>) {
    let (socket, address) = address.listen_unused().unwrap();
    let listener = Listener::<Any>::from_std(socket).unwrap();
    let client = Stream::<Any>::connect_from(&address, None).await.unwrap();
    (client, listener.accept().await.unwrap())
}

type Logs = BTreeMap<String, String>;

async fn all(family: &str) -> Logs {
    let address: Address = if family == "tcp" { "127.0.0.1:0" } else { "unix:@any" }.parse().unwrap();
    let (mut set, mut logs) = (JoinSet::new(), Logs::new());
    for script in scripts() {
        let (client, server) = pair(&address).await;
        set.spawn(play(script, client, server));
    }
    while let Some(played) = set.join_next().await {
        logs.extend([played.unwrap()]);
    }
    logs
}

/// An address of this host that no other test uses: a port that was closed stays closed.
fn alone() -> SocketAddr {
    ([127, 9, 8, 7], 0).into()
}

/// What a listener and its clients see, step by step.
async fn listening() -> Vec<String> {
    let mut log = Vec::new();
    let listen = || TcpListener::bind(alone()).unwrap();
    let listener = listen();
    let address = listener.local_addr().unwrap();
    // A client that has gone before it is accepted.
    for linger_zero in [false, true] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"early").await.unwrap();
        client.flush().await.unwrap();
        settle().await;
        if linger_zero {
            client.set_linger_zero().unwrap();
        }
        drop(client);
        settle().await;
        let mut server = listener.accept().await.unwrap();
        let mut into = [0; 99];
        log.push(format!("early {}", result(server.read(&mut into).await)));
        log.push(format!("then {}", result(server.read(&mut into).await)));
    }
    // A client that the runtime has accepted and the program has not.
    let _ = timeout(SETTLE, listener.accept()).await;
    let mut taken = TcpStream::connect(address).await.unwrap();
    settle().await;
    drop(listener);
    settle().await;
    log.push(format!("taken {}", result(taken.read(&mut [0; 9]).await)));
    // A client that is not accepted.
    let listener = listen();
    let address = listener.local_addr().unwrap();
    let mut waiting = TcpStream::connect(address).await.unwrap();
    log.push(format!("bound {:?}", TcpListener::bind(address).unwrap_err().kind()));
    settle().await;
    drop(listener);
    settle().await;
    log.push(format!("never accepted {}", result(waiting.read(&mut [0; 9]).await)));
    log.push(format!("refused {}", result(TcpStream::connect(address).await.map(|_| "connected"))));
    log.push(format!("unix {}", result(UnixStream::connect("\0no such name").await.map(|_| "connected"))));
    let listener = listen();
    log.push(format!("accept {:?}", timeout(SETTLE, listener.accept()).await.map(|_| "accepted")));
    log
}

/// What fits into the buffers, whatever their size: all bytes come, in order, and the end after them.
async fn flowing() -> Vec<String> {
    let mut log = Vec::new();
    for address in ["127.0.0.1:0", "unix:@any"] {
        let (mut client, mut server) = pair(&address.parse().unwrap()).await;
        let bytes: Vec<u8> = (0..8u32 << 20).map(|at| (at ^ (at >> 8)) as u8).collect();
        let sent = timeout(SETTLE, client.write_all(&bytes)).await;
        log.push(format!("without a reader {:?}", sent.map(|_| "sent")));
        let reader = crate::spawn(async move {
            let mut got = Vec::new();
            loop {
                let part = server.recv().await.unwrap();
                if part.is_empty() {
                    return got;
                }
                got.extend_from_slice(&part);
            }
        });
        client.shutdown(Shutdown::Write).await.unwrap();
        let got = reader.await.unwrap();
        log.push(format!("a beginning {}, some {}", bytes.starts_with(&got), got.len() > 10_000));
    }
    log
}

/// What datagrams return.
async fn datagrams() -> Vec<String> {
    let mut log = Vec::new();
    let bind = || UdpSocket::bind(alone()).unwrap();
    let (one, other) = (bind(), bind());
    let to = other.local_addr().unwrap();
    let mut into = [0; 5];
    log.push(format!("sent {}", result(one.send_to(b"datagram", to).await)));
    log.push(format!("empty {}", result(one.send_to(b"", to).await)));
    log.push(format!("unconnected {}", result(one.send(b"x").await)));
    log.push(format!("long {}", result(one.send_to(&[0; 66_000], to).await)));
    settle().await;
    for _ in 0..2 {
        let got = other.recv_from(&mut into).await.unwrap();
        log.push(format!("{} of {} from it: {}", got.len, got.sent_len, got.from == one.local_addr().unwrap()));
    }
    log.push(format!("nothing {:?}", timeout(SETTLE, other.recv_from(&mut into)).await.map(|_| "something")));
    other.connect(bind().local_addr().unwrap()).unwrap();
    one.send_to(b"from another", to).await.unwrap();
    settle().await;
    log.push(format!("not its peer {:?}", timeout(SETTLE, other.recv(&mut into)).await.map(|_| "something")));
    for word in ["refused later", "refused now", "refused later"] {
        log.push(format!("{word} {}", result(other.send(b"x").await)));
        settle().await;
    }
    log.push(format!("pending {}", result(other.recv(&mut into).await)));
    log.push(format!("taken {}", result(UdpSocket::bind(to).map(|_| "bound"))));
    log
}

/// The kernels of this machine. Each thread has at most one world.
fn kernels() -> impl Iterator<Item = (Kernel, Option<World>, Runtime)> {
    [Kernel::World, Kernel::Uring, Kernel::Epoll].into_iter().filter_map(|kernel| {
        let world = (kernel == Kernel::World).then(|| World::new(1));
        let backend = if kernel == Kernel::Epoll { BackendKind::Epoll } else { BackendKind::Uring };
        testing::runtime(backend).map(|runtime| (kernel, world, runtime))
    })
}

fn compare(family: &str) {
    testing::allow_files();
    let logs: BTreeMap<Kernel, Logs> = kernels()
        .map(|(kernel, _world, runtime)| {
            let logs = runtime.block_on(all(family));
            drop(runtime);
            (kernel, logs)
        })
        .collect();
    let mut different = Vec::new();
    let world = &logs[&Kernel::World];
    for (kernel, logs) in &logs {
        for (script, log) in logs {
            let known = KNOWN.iter().any(|(of, on, what)| of == script && on == kernel && what == log);
            if log != &world[script] && !known {
                different.push(format!("{script}\n  {:?}: {}\n  {kernel:?}: {log}", Kernel::World, world[script]));
            }
        }
    }
    assert!(different.is_empty(), "{} differences\n{}", different.len(), different.join("\n"));
}

#[test]
fn tcp_scripts_return_the_same_on_every_kernel() {
    compare("tcp");
}

#[test]
fn unix_scripts_return_the_same_on_every_kernel() {
    compare("unix");
}

#[test]
fn listeners_return_the_same_on_every_kernel() {
    let logs: Vec<_> = kernels().map(|(kernel, _world, runtime)| (kernel, runtime.block_on(listening()))).collect();
    for (kernel, log) in &logs {
        assert_eq!(log, &logs[0].1, "{kernel:?}");
    }
}

#[test]
fn datagrams_return_the_same_on_every_kernel() {
    let logs: Vec<_> = kernels().map(|(kernel, _world, runtime)| (kernel, runtime.block_on(datagrams()))).collect();
    for (kernel, log) in &logs {
        assert_eq!(log, &logs[0].1, "{kernel:?}");
    }
}

#[test]
fn streams_flow_the_same_on_every_kernel() {
    let logs: Vec<_> = kernels().map(|(kernel, _world, runtime)| (kernel, runtime.block_on(flowing()))).collect();
    for (kernel, log) in &logs {
        assert_eq!(log, &logs[0].1, "{kernel:?}");
    }
}
