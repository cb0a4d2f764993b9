//! A server under test, its clients, and its data in `/proc`.

use brunt_meter::process::{Snapshot, Tree};
pub use brunt_testkit::{LIMIT as PATIENCE, Signal, free_port};
use brunt_testkit::{Role, Running, role, text, uninterrupted, until};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The words of all server models.
pub fn models() -> impl Iterator<Item = &'static str> + Clone {
    brunt_serve::MODELS.iter().map(|model| model.word)
}

/// Returns true if there are descriptors for this many clients; otherwise runs this test in a process of its own with the hard
/// limit.
pub fn with_descriptors(clients: usize, test: Role) -> bool {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let soft: usize = line.split_whitespace().next().unwrap().parse().unwrap_or(usize::MAX);
    if soft > clients + 100 {
        return true;
    }
    assert!(role().is_none(), "{soft} descriptors are too few (ulimit -Hn)");
    let mut again = limited("hard", &test.command("with the hard limit"));
    let output = Running::start(again.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped())).output();
    let told = text(&output);
    println!("{told}");
    assert!(output.status.success() && told.contains("1 passed"), "{}: {told}", test.0);
    false
}

/// `brunt serve echo FLAGS`, flags separated by blanks.
pub fn serve(flags: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["serve", "echo"]).args(flags.split_whitespace());
    command
}

/// The same with another limit of open files.
pub fn serve_limited(descriptors: &str, flags: &str) -> Command {
    limited(descriptors, &serve(flags))
}

/// Runs the command under a limit of open files: a number, or `hard` for the maximum.
pub fn limited(descriptors: &str, command: &Command) -> Command {
    let limit = if descriptors == "hard" { "$(ulimit -Hn)" } else { descriptors };
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -n {limit}; exec \"$0\" \"$@\"")]);
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        shell.env(name, value.expect("a variable that is set"));
    }
    shell
}

/// A running server, killed at the end of the test.
pub struct Server {
    running: Running,
    /// Its processes, and their use at its start.
    tree: Mutex<(Tree, Snapshot)>,
    pub addresses: Vec<SocketAddr>,
    /// Unix sockets, as `unix:PATH`.
    pub unix: Vec<String>,
    /// The text in brackets after the addresses.
    pub backend: String,
}

impl Server {
    /// Starts the server and waits for its announcement.
    #[track_caller]
    pub fn start(mut command: Command) -> Self {
        let mut running = Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()));
        let line = running.line().unwrap_or_default();
        let said = line.strip_prefix("brunt serve: ").and_then(|said| said.split_once(" on "));
        let Some((addresses, backend)) = said.and_then(|(_, said)| {
            let (addresses, backend) = said.split_once(" (")?;
            Some((addresses.to_owned(), backend.strip_suffix(')')?.to_owned()))
        }) else {
            panic!("{command:?} did not say that it listens but {line:?}");
        };
        let (unix, tcp): (Vec<_>, Vec<_>) = addresses.split(", ").partition(|address| address.starts_with("unix:"));
        let addresses = tcp.into_iter().map(|address| address.parse().unwrap()).collect();
        let unix = unix.into_iter().map(str::to_owned).collect();
        let mut tree = Tree::new(&[running.pid()]).unwrap();
        let first = tree.sample();
        Self { running, tree: Mutex::new((tree, first)), addresses, unix, backend }
    }

    /// Starts this model on a free port of 127.0.0.1.
    #[track_caller]
    pub fn of_model(model: &str, flags: &str) -> Self {
        Self::start(serve(&format!("--listen 127.0.0.1:{} --model {model} {flags}", free_port())))
    }

    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    pub fn is_alive(&self) -> bool {
        !self.running.is_over()
    }

    /// Sends a signal to its first process alone.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    /// The next line of stderr.
    #[track_caller]
    pub fn line(&mut self) -> String {
        self.running.line().unwrap_or_default()
    }

    /// Waits for exit: status, duration, and output since the announcement. Processes that the first one leaves are not ended.
    #[track_caller]
    pub fn end(mut self) -> (ExitStatus, Duration, String) {
        let start = Instant::now();
        until("the server ends", || self.running.is_over());
        let took = start.elapsed();
        let status = self.running.child().wait().unwrap();
        let lines = std::iter::from_fn(|| self.running.line());
        let said = lines.map(|line| line + "\n").collect();
        (status, took, said)
    }

    /// The process and its children.
    pub fn family(&self) -> Vec<u32> {
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.pid())).unwrap();
        let children = children.split_whitespace().map(|child| child.parse().unwrap());
        std::iter::once(self.pid()).chain(children).collect()
    }

    /// CPU time of its processes since their start was announced, user and system. From the clocks of the processes: ticks of
    /// `/proc/PID/stat` are samples, and miss most of a process that runs for less than a tick at a time.
    pub fn cpu_time(&self) -> Duration {
        let (tree, first) = &mut *self.tree.lock().unwrap();
        tree.sample().since(first).total()
    }

    /// Waits until it uses hardly any CPU time, three times in a row. A loop that polls without work uses all of it.
    #[track_caller]
    pub fn until_rested(&self, what: &str) {
        let (time, mut rested) = (Duration::from_millis(60), 0);
        until(&format!("{what}: the server rests"), || {
            let before = self.cpu_time();
            std::thread::sleep(time);
            let used = self.cpu_time().saturating_sub(before);
            rested = if used <= time / 20 { rested + 1 } else { 0 };
            rested == 3
        });
    }

    /// Open descriptors of its processes.
    pub fn descriptors(&self) -> usize {
        self.family().into_iter().map(|pid| std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()).sum()
    }

    /// Context switches of each worker, voluntary and involuntary.
    pub fn switches_of_workers(&self) -> Vec<u64> {
        let tasks = self.family().into_iter().flat_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).unwrap());
        let paths = tasks.map(|task| task.unwrap().path());
        let workers = paths.filter(|path| std::fs::read_to_string(path.join("comm")).unwrap().starts_with("worker-"));
        let switches = workers.map(|path| {
            let status = std::fs::read_to_string(path.join("status")).unwrap();
            let lines = status.lines().filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
            lines.map(|(_, count)| count.trim().parse::<u64>().unwrap()).sum()
        });
        switches.collect()
    }

    /// Resident anonymous memory in bytes. Excludes program text, which the server may drop at any time.
    pub fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
    }
}

/// The first cores that this process may use, as a list for `--cores`; fewer if there are fewer.
pub fn cores(most: usize) -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().parse::<brunt_results::Cores>().unwrap().0.into_iter().take(most).collect()
}

/// A client with timeouts.
#[track_caller]
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Reads once.
#[track_caller]
pub fn read(mut from: impl Read, buffer: &mut [u8]) -> usize {
    uninterrupted(|| from.read(buffer)).unwrap()
}

/// Sends one message and reads its echo.
#[track_caller]
pub fn ask(stream: &mut TcpStream, message: &[u8]) {
    stream.write_all(message).unwrap();
    let mut answer = vec![0; message.len()];
    stream.read_exact(&mut answer).unwrap();
    assert!(answer == message, "other bytes came back");
}

/// Bytes whose order reveals missing or swapped data.
pub fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// Time until ten clients that ask at once have their replies.
pub fn ten_at_once(server: &Server) -> Duration {
    let mut clients: Vec<_> = (0..10).map(|_| connect(server.address())).collect();
    let start = Instant::now();
    clients.iter_mut().for_each(|client| client.write_all(b"x").unwrap());
    clients.iter_mut().for_each(|client| client.read_exact(&mut [0]).unwrap());
    start.elapsed()
}
