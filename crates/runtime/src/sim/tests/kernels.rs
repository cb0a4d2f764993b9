//! The world against the real kernel: the same scripts on a simulated world, on io_uring and on epoll. What each call returns
//! must be equal.
//!
//! A script is words, each a step of one end, `c` (it connected) or `s` (it accepted), followed by a pause in which everything
//! arrives: `w9` writes and flushes nine bytes, `r9` reads at most nine, `h` and `i` shut writing and reading down, `x` closes,
//! `d9` writes nine bytes and closes without a flush, `z` closes with SO_LINGER 0. A step on a closed end does nothing. After a
//! word that ends with `~` the worker of a real kernel does not look: what arrives is seen in the next step only. How many
//! bytes a read returns then, and whether unread ones are still with the kernel, differs: only scripts chosen by hand have it.
//!
//! Soak: `BRUNT_SEEDS=2000 BRUNT_SEED=5 cargo test -p brunt-runtime --lib kernels`

use super::super::{World, is_active};
use super::programs;
use crate::net::{Address, Any, Family, Listener, Stream};
use crate::sim_kernel::random::Random;
use crate::time::{sleep, timeout};
use crate::{BackendKind, JoinSet, Runtime, testing};
use brunt_testkit::number;
use std::collections::BTreeMap;
use std::net::Shutdown;
use std::{io, time::Duration};

/// Ample for everything to arrive on a busy machine; all scripts wait at the same time.
pub const SETTLE: Duration = Duration::from_millis(30);

/// TCP behaviour in which the backends of the runtime differ from each other, as script, kernel and what it returns instead.
/// None of them is one of the world's.
const KNOWN: [(&str, Kernel, &str); 0] = [];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kernel {
    World,
    Uring,
    Epoll,
}

/// Waits until everything has arrived. On a machine that stood still meanwhile, what a turn has begun is finished in the next.
pub async fn settle() {
    sleep(SETTLE).await;
    for _ in 0..8 {
        crate::yield_now().await;
    }
}

pub fn result<T: std::fmt::Display>(result: io::Result<T>) -> String {
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
        "d" => {
            let _ = timeout(SETTLE, stream.write_all(&vec![7; size()])).await;
            *end = None;
            "closed".to_owned()
        }
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
        let (looks, step_of) = (!word.ends_with('~'), word.trim_end_matches('~'));
        let (who, what) = step_of.split_at(1);
        let done = if who == "c" { step(&mut client, what).await } else { step(&mut server, what).await };
        if let Some(done) = done {
            log += &format!("{word} {done}, ");
        }
        if looks || is_active() {
            settle().await;
        } else {
            // Loopback delivers within the system call.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    (script, log)
}

/// The page that says what calls return, with scripts that are compared here too.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/one_meaning.md");

/// A row of the page: what it shows, a script, and what its steps return.
fn row(line: &str) -> Option<[&str; 3]> {
    let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ");
    let (what, script, results) = (cells.next()?, cells.next()?, cells.next()?);
    Some([what, script.strip_prefix('`')?.strip_suffix('`')?, results])
}

/// The results of a log, without the words of its script.
fn results(log: &str) -> String {
    let steps = log.trim_end_matches(", ").split(", ");
    format!(
        "`{}`",
        steps.map(|step| step.split_once(' ').map_or("", |(_, result)| result)).collect::<Vec<_>>().join(", ")
    )
}

/// More scripts chosen by hand.
const CHOSEN: [&str; 33] = [
    "cw10 cz sw5 sr5 sr99 sr9 sw5",
    "sr9 cw10 cz sw5 sr99 sr9",
    "cw10 ch cz sw5 sr99 sr9",
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
    "cw10 sr99 cz~ sw5 sr9 sw5",
    "cw10 sr99 cz~ sr9 sw5 sr9",
    "cw10 sr5 cz~ sw5 sr99 sr9",
    "cw10 sr99 cx~ sw5 sw5 sr9",
    "cw10 sr99 ch~ sw5 cr9 sr9",
    "cd300 sr999 sr9",
    "sw10 cr5 cd300 sr999 sr9 sw5",
    "sw10 cr5 cx sw5 sr9 sr9",
];

/// Scripts by chance, the same on every kernel.
fn scripts() -> Vec<String> {
    let mut random = Random::new(number("BRUNT_SEED").unwrap_or(11));
    let mut script = || {
        let mut word = || {
            let end = ["c", "s"][random.below(2) as usize];
            let steps = ["w10", "w300", "r5", "r99", "r999", "w10", "r999", "h", "i", "x", "z", "d300"];
            format!("{end}{}", steps[random.below(steps.len() as u64) as usize])
        };
        (0..8).map(|_| word()).collect::<Vec<_>>().join(" ")
    };
    let page = std::fs::read_to_string(PAGE).unwrap();
    // Steps of programs have longer words.
    let is_script = |script: &&str| script.split(' ').all(|word| word.starts_with(['c', 's']) && word.len() <= 6);
    let rows = page.lines().filter_map(row).map(|[_, script, _]| script).filter(is_script).map(str::to_owned);
    CHOSEN
        .map(str::to_owned)
        .into_iter()
        .chain(rows)
        .chain((0..number("BRUNT_SEEDS").unwrap_or(120)).map(|_| script()))
        .collect()
}

pub async fn pair(address: &Address) -> (Stream<Any>, Stream<Any>) {
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

/// The kernels of this machine. Each thread has at most one world.
pub fn kernels() -> impl Iterator<Item = (Kernel, Option<World>, Runtime)> {
    [Kernel::World, Kernel::Uring, Kernel::Epoll].into_iter().filter_map(|kernel| {
        let world = (kernel == Kernel::World).then(|| World::new(1));
        let backend = if kernel == Kernel::Epoll { BackendKind::Epoll } else { BackendKind::Uring };
        testing::runtime(backend).map(|runtime| (kernel, world, runtime))
    })
}

/// With `UPDATE_DOCS=1` the page is written.
#[test]
fn the_page_is_true() {
    testing::allow_files();
    let [tcp, unix] = ["tcp", "unix"].map(|family| {
        let _world = World::new(1);
        testing::runtime(BackendKind::Uring).unwrap().block_on(all(family))
    });
    let page = std::fs::read_to_string(PAGE).unwrap();
    let programs: BTreeMap<String, String> = programs::played(Kernel::World).unwrap().0.into_iter().collect();
    let line = |line: &str| {
        let Some([what, script, _]) = row(line) else { return format!("{line}\n") };
        if let Some(results) = programs.get(script) {
            return format!("| {what} | `{script}` | `{results}` |\n");
        }
        let (tcp, unix) = (results(&tcp[script]), results(&unix[script]));
        let both = if tcp == unix { tcp } else { format!("{tcp} / {unix}") };
        format!("| {what} | `{script}` | {both} |\n")
    };
    let truth: String = page.lines().map(line).collect();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, truth).unwrap();
    } else {
        assert_eq!(page, truth, "{PAGE}: write it with UPDATE_DOCS=1");
    }
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
