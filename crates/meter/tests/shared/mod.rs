//! Child processes of known behaviour: the test program starts itself and follows commands on standard input.
//!
//! The reply to a command is one line: the CPU time it took by the child's own clock, in nanoseconds, or the number that the
//! command is about.
#![allow(dead_code, reason = "each test program uses its part of what they share")]

use brunt_meter::slice::{Lost, LostTime, ServerCpu};
use brunt_testkit::{Role, Running, Signal};
use rustix::time::{ClockId, clock_gettime};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

/// A child that follows commands.
pub struct Actor {
    process: Running,
    pipes: Pipes,
}

impl Actor {
    pub fn start() -> Self {
        let mut process = Running::start(&mut command());
        let pipes = Pipes::of(process.child());
        Self { process, pipes }
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Ends it, without waiting for it: it stays a zombie.
    pub fn kill(&self) {
        self.process.signal(Signal::KILL);
    }

    /// Sends a command without waiting.
    pub fn send(&mut self, command: &str) {
        self.pipes.send(command);
    }

    /// The reply to a command: a number.
    pub fn reply(&mut self) -> u64 {
        self.pipes.reply()
    }

    /// Sends a command and waits for the reply, a count.
    pub fn count(&mut self, command: &str) -> u64 {
        self.send(command);
        self.reply()
    }

    /// Sends a command and waits for the reply, a CPU time.
    pub fn run(&mut self, command: &str) -> Duration {
        Duration::from_nanos(self.count(command))
    }
}

/// A child of an actor. It outlives the actor that quits, ends after the commands that it has got, and at the latest with the
/// process group of the actor that the test started.
struct Descendant {
    child: Child,
    pipes: Pipes,
}

impl Descendant {
    fn start() -> Self {
        let mut child = command().spawn().unwrap();
        let pipes = Pipes::of(&mut child);
        Self { child, pipes }
    }
}

/// Commands to a child and its replies.
struct Pipes {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Pipes {
    /// Waits until the child follows commands.
    fn of(child: &mut Child) -> Self {
        let stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        // The test harness prints its own lines first.
        let mut line = String::new();
        while !line.ends_with("READY\n") {
            line.clear();
            assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "the child did not start");
        }
        Self { stdin, stdout }
    }

    fn send(&mut self, command: &str) {
        writeln!(self.stdin, "{command}").unwrap();
    }

    fn reply(&mut self) -> u64 {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim().parse().unwrap_or_else(|_| panic!("the child replied {line:?}"))
    }
}

fn command() -> Command {
    let mut command = Role("shared::role").command("actor");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

fn rusage() -> libc::rusage {
    rusage_of(libc::RUSAGE_SELF)
}

fn rusage_of(whom: libc::c_int) -> libc::rusage {
    // SAFETY: `rusage` consists of integers, for which all zeroes is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a live local, valid for writes; the call retains no pointer.
    assert_eq!(unsafe { libc::getrusage(whom, &mut usage) }, 0);
    usage
}

fn user(usage: &libc::rusage) -> Duration {
    duration(usage.ru_utime)
}

fn system(usage: &libc::rusage) -> Duration {
    duration(usage.ru_stime)
}

fn duration(time: libc::timeval) -> Duration {
    Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000)
}

fn clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Burns CPU of this thread in user mode.
pub fn burn(time: Duration) {
    let begin = clock(ClockId::ThreadCPUTime);
    while clock(ClockId::ThreadCPUTime) - begin < time {
        for i in 0..200_000u64 {
            std::hint::black_box(i);
        }
    }
}

/// Burns CPU of this thread in kernel mode: reads /dev/zero.
fn burn_system(time: Duration) {
    let begin = clock(ClockId::ThreadCPUTime);
    let zero = std::fs::File::open("/dev/zero").unwrap();
    let mut buffer = vec![0; 1 << 20];
    while clock(ClockId::ThreadCPUTime) - begin < time {
        std::io::Read::read_exact(&mut &zero, &mut buffer).unwrap();
    }
}

/// Returns at once in the test run, and never in a child.
// Over 60 lines: one match arm a command.
#[test]
fn role() {
    if brunt_testkit::role().is_none() {
        return;
    }
    println!("READY");
    let mut children: Vec<Descendant> = Vec::new();
    let (mut held, mut lost) = (Vec::new(), None);
    for command in std::io::stdin().lines().map_while(Result::ok) {
        let mut words = command.split(' ');
        let word = words.next().unwrap();
        let number = words.next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        let time = Duration::from_millis(number);
        let before = clock(ClockId::ProcessCPUTime);
        let mut elsewhere = None;
        match word {
            "burn" => burn(time),
            "burn-system" => burn_system(time),
            // Four threads that end one after the other.
            "threads" => (0..4).for_each(|_| thread::spawn(move || burn(time)).join().unwrap()),
            // Two concurrent threads, one of which burns half.
            "uneven" => {
                let half = thread::spawn(move || burn(time / 2));
                burn(time);
                half.join().unwrap();
            }
            // A child process that burns, ends and is waited for.
            "child" => {
                let mut child = Descendant::start();
                child.pipes.send(&format!("burn {number}"));
                child.pipes.reply();
                child.pipes.send("quit");
                child.child.wait().unwrap();
                elsewhere = Some(time);
            }
            // Starts a child that stays, and replies with its pid.
            "keep" => {
                children.push(Descendant::start());
                elsewhere = Some(Duration::from_nanos(u64::from(children.last().unwrap().child.id())));
            }
            // Passes the rest of the line to the last child, without waiting for the reply.
            "forward" => {
                children.last_mut().unwrap().pipes.send(command.strip_prefix("forward ").unwrap());
                elsewhere = Some(Duration::ZERO);
            }
            "reply" => elsewhere = Some(Duration::from_nanos(children.last_mut().unwrap().pipes.reply())),
            // Exits without killing the children.
            "quit" => std::process::exit(0),
            // CPU time, page faults and switches of all threads so far, by getrusage.
            "cpu" => elsewhere = Some(user(&rusage()) + system(&rusage())),
            "cpu-user" => elsewhere = Some(user(&rusage())),
            "cpu-system" => elsewhere = Some(system(&rusage())),
            "faults" => elsewhere = Some(Duration::from_nanos(rusage().ru_minflt as u64)),
            "switches" => elsewhere = Some(Duration::from_nanos(rusage().ru_nvcsw as u64)),
            // CPU time of all threads and of the children that were waited for.
            "cpu-family" => {
                let all = [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN].map(rusage_of);
                elsewhere = Some(all.iter().map(|usage| user(usage) + system(usage)).sum());
            }
            // CPU time of the first thread so far.
            "cpu-thread" => elsewhere = Some(clock(ClockId::ThreadCPUTime)),
            "touch" => _ = std::hint::black_box(vec![1u8; (number as usize) << 12]),
            // Uses 7 of 10 ms, so many times.
            "beat" => (0..number).for_each(|_| {
                burn(Duration::from_millis(7));
                thread::sleep(Duration::from_millis(3));
            }),
            // Error of the metered CPU time of this process, in millionths.
            "meter-itself" => elsewhere = Some(Duration::from_nanos(error_while_running(number as usize))),
            "watch-lost" => lost = Some(LostTime::attach(&[rustix::thread::gettid().as_raw_pid() as u32], &[])),
            // Lost time of this thread since then.
            "lost" => elsewhere = lost.as_mut().map(|lost| lost.read().since(Lost::default(), Some(Duration::ZERO))),
            "sleep" => (0..number).for_each(|_| thread::sleep(Duration::from_millis(1))),
            // Idle children until this process ends.
            "children" => children.extend((0..number).map(|_| Descendant::start())),
            // Holds connections to a local port; replies with their number.
            "connect" => {
                raise_descriptors();
                let many = words.next().unwrap().parse().unwrap();
                held.extend((0..many).map_while(|_| connect(number as u16)));
                elsewhere = Some(Duration::from_nanos(held.len() as u64));
            }
            "count" => {
                for i in 0..number {
                    std::hint::black_box(i);
                }
            }
            "listen" => {
                let listener = reuseport(number as u16);
                std::mem::forget(listener);
                elsewhere = Some(Duration::ZERO);
            }
            _ => panic!("unknown command: {command}"),
        }
        let time = elsewhere.unwrap_or_else(|| clock(ClockId::ProcessCPUTime) - before);
        // The reader may be gone on purpose; a panic would cost CPU time.
        if writeln!(std::io::stdout(), "{}", time.as_nanos()).is_err() {
            break;
        }
    }
    std::process::exit(0);
}

/// Meters this process, a thread of which works now and then, in windows of 20 ms, and compares with the clocks of its threads:
/// the error of the sum or the median of the windows, whichever is larger, in millionths.
fn error_while_running(windows: usize) -> u64 {
    let clock_of = || {
        let mut id: libc::clockid_t = 0;
        // SAFETY: the calling thread is alive; `id` is a live local, valid for writes.
        assert_eq!(unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut id) }, 0);
        id
    };
    let read = |id: libc::clockid_t| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a live local, valid for writes.
        assert_eq!(unsafe { libc::clock_gettime(id, &mut time) }, 0);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        sender.send(clock_of()).unwrap();
        loop {
            burn(Duration::from_millis(7));
            thread::sleep(Duration::from_millis(3));
        }
    });
    let clocks = [clock_of(), receiver.recv().unwrap()];
    let Ok(mut cpu) = ServerCpu::attach_task_clock(std::process::id()) else { return 0 };
    // The clocks of the threads, the meter, and the clocks again.
    let mut all = || {
        let own = || clocks.iter().map(|id| read(*id)).sum::<Duration>().as_secs_f64();
        [own(), cpu.read().unwrap().as_secs_f64(), own()]
    };
    let first = all();
    let mut last = first;
    let mut errors = Vec::new();
    // By how much the meter is outside of what the clocks allow.
    let error = |now: [f64; 3], before: [f64; 3]| {
        let (least, measured, most) = (now[0] - before[2], now[1] - before[1], now[2] - before[0]);
        (least - measured).max(measured - most).max(0.0) / most
    };
    for _ in 0..windows {
        thread::sleep(Duration::from_millis(20));
        let now = all();
        errors.push(error(now, last));
        last = now;
    }
    errors.sort_by(f64::total_cmp);
    (errors[windows / 2].max(error(last, first).abs()) * 1e6) as u64
}

/// Raises the limit on open files to the hard limit.
pub fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

fn connect(port: u16) -> Option<std::net::TcpStream> {
    let stream = std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
    // Without TIME_WAIT, which would take ports from other tests for a minute.
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).ok()?;
    Some(stream)
}

/// A listening socket that shares its port.
pub fn reuseport(port: u16) -> socket2::Socket {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_reuse_port(true).unwrap();
    // Also beside connections of an earlier listener that have just ended.
    socket.set_reuse_address(true).unwrap();
    let address: std::net::SocketAddr = ([127, 0, 0, 1], port).into();
    socket.bind(&address.into()).unwrap();
    socket.listen(8).unwrap();
    socket
}

/// What the kernel rounds off of the two times of getrusage.
const ROUNDED: Duration = Duration::from_micros(2);

/// The actor's own account of what a meter measures: its last reading before and the first after the window, and the two within.
///
/// A process that reads its own clock brings its account up to date. So what another one reads between two such readings lies
/// between them, however slow the machine is, and a window between the inner and the outer difference.
#[derive(Debug)]
pub struct Bracket {
    outer: [Duration; 2],
    inner: [Duration; 2],
}

impl Bracket {
    /// Does `open`, `work` and `close` in turn; the actor is asked for the account named `word` around `open` and `close`.
    pub fn around<W, T>(
        actor: &mut Actor,
        word: &str,
        open: impl FnOnce() -> W,
        work: impl FnOnce(&mut Actor),
        close: impl FnOnce(W) -> T,
    ) -> (T, Self) {
        let outer_first = actor.run(word);
        let window = open();
        let inner_first = actor.run(word);
        work(actor);
        let inner_last = actor.run(word);
        let closed = close(window);
        let outer_last = actor.run(word);
        (closed, Self { outer: [outer_first, outer_last], inner: [inner_first, inner_last] })
    }

    /// What was used at least.
    pub fn least(&self) -> Duration {
        self.inner[1] - self.inner[0]
    }

    /// What was used at most.
    pub fn most(&self) -> Duration {
        self.outer[1] - self.outer[0]
    }

    /// Asserts that a measured time lies between both, as far as the meter's account is that fine.
    #[track_caller]
    pub fn assert_holds(&self, what: &str, measured: Duration, rounding: Duration) {
        let rounding = rounding + ROUNDED;
        let range = self.least().saturating_sub(rounding)..=self.most() + rounding;
        println!("{what}: {measured:?} in {range:?}");
        assert!(range.contains(&measured), "{what}: {measured:?} is not in {range:?}");
    }
}
