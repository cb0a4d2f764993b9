//! A server under test, its clients, and its data in `/proc`.

use brunt_meter::process::{Snapshot, Tree};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// The words of all server models.
pub fn models() -> impl Iterator<Item = &'static str> + Clone {
    brunt_serve::MODELS.iter().map(|model| model.word)
}

/// Time after which a test counts as hung.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Held by a test while it measures.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Returns true if there are descriptors for this many clients; otherwise runs the named test again in a child with
/// the hard limit.
pub fn with_descriptors(clients: usize, name: &str) -> bool {
    const RAISED: &str = "BRUNT_SERVE_TEST_RAISED";
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let soft: usize = line.split_whitespace().next().unwrap().parse().unwrap_or(usize::MAX);
    if soft > clients + 100 {
        return true;
    }
    assert!(std::env::var_os(RAISED).is_none(), "{soft} descriptors are too few (ulimit -Hn)");
    let run = "ulimit -n $(ulimit -Hn); exec \"$0\" \"$@\"";
    let mut again = Command::new("sh");
    again.args(["-c", run]).arg(std::env::current_exe().unwrap()).args(["--exact", name, "--nocapture"]);
    assert!(again.env(RAISED, "1").status().unwrap().success());
    false
}

/// A free port below the ephemeral range.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 27_500 + (std::process::id() % 400) as u16 * 10;
    let has_v6 = TcpListener::bind("[::]:0").is_ok();
    let mut ports = std::iter::repeat_with(|| first + NEXT.fetch_add(1, Ordering::Relaxed) % 1000).take(1000);
    // Free in both address families, for tests that listen on both.
    let is_free = |host: &str, port: u16| TcpListener::bind((host, port)).is_ok();
    ports.find(|port| is_free("0.0.0.0", *port) && (!has_v6 || is_free("::", *port))).expect("a free port")
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
    shell
}

/// A running server, killed at the end of the test.
pub struct Server {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// Its processes, and their use at its start.
    tree: Mutex<(Tree, Snapshot)>,
    pub addresses: Vec<SocketAddr>,
    /// Unix sockets, as `unix:PATH`.
    #[allow(dead_code, reason = "the tests of the HTTP server share this file, and it serves TCP only")]
    pub unix: Vec<String>,
    /// The text in brackets after the addresses.
    pub backend: String,
}

impl Server {
    /// Starts the server and waits for its announcement.
    #[track_caller]
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let said = line.trim_end().strip_prefix("brunt serve: ").and_then(|said| said.split_once(" on "));
        let Some((addresses, backend)) = said.and_then(|(_, said)| {
            let (addresses, backend) = said.split_once(" (")?;
            Some((addresses.to_owned(), backend.strip_suffix(')')?.to_owned()))
        }) else {
            let _ = child.kill();
            panic!("{command:?} did not say that it listens but {line:?}");
        };
        let (unix, tcp): (Vec<_>, Vec<_>) = addresses.split(", ").partition(|address| address.starts_with("unix:"));
        let addresses = tcp.into_iter().map(|address| address.parse().unwrap()).collect();
        let unix = unix.into_iter().map(str::to_owned).collect();
        let mut tree = Tree::new(&[child.id()]).unwrap();
        let first = tree.sample();
        Self { child, stderr, tree: Mutex::new((tree, first)), addresses, unix, backend }
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
        self.child.id()
    }

    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Sends a signal by name, for example `TERM`.
    pub fn signal(&self, name: &str) {
        // The shell's built-in `kill`; a machine without procps has no such program.
        assert!(Command::new("sh").args(["-c", &format!("kill -{name} {}", self.pid())]).status().unwrap().success());
    }

    /// The next line of stderr.
    #[allow(dead_code, reason = "the tests of the HTTP server share this file, and use it")]
    #[track_caller]
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line
    }

    /// Waits for exit: status, duration, and output since the announcement.
    #[track_caller]
    pub fn end(mut self) -> (ExitStatus, Duration, String) {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if start.elapsed() > PATIENCE => panic!("the server does not end"),
                None => thread::sleep(Duration::from_millis(2)),
            }
        };
        let took = start.elapsed();
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
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

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The first cores that this process may use, as a list for `--cores`; fewer if there are fewer.
#[allow(dead_code, reason = "the tests of the HTTP server share this file, and need one core")]
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

/// Reads once. A read with a timeout is interrupted when the process is stopped and continued, without any signal handler.
#[track_caller]
pub fn read(mut from: impl Read, buffer: &mut [u8]) -> usize {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            result => return result.unwrap(),
        }
    }
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
