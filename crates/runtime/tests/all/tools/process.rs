//! Child processes: their ends, their pipes, and what is left of them.

use crate::on_both_backends;
use brunt_runtime::process;
use brunt_runtime::spawn;
use brunt_runtime::time::timeout;
use brunt_testkit::{LIMIT, is_running, until};
use futures_lite::future::poll_once;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

on_both_backends!(
    a_status_is_waited_for,
    output_of_any_length_is_collected,
    input_and_output_are_piped,
    a_killed_child_has_its_signal,
    a_dropped_child_goes_on_and_leaves_no_zombie,
    a_child_is_killed_with_its_handle_if_so_asked,
    a_program_that_does_not_exist_is_an_error,
    a_pipe_leads_from_one_child_to_another,
);

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null());
    command
}

async fn a_status_is_waited_for() {
    let mut child = process::spawn(shell("read line; exit 7").stdin(Stdio::piped())).unwrap();
    let input = child.stdin.take();
    assert!(child.try_wait().unwrap().is_none() && poll_once(child.wait()).await.is_none());
    drop(input);
    assert_eq!(child.wait().await.unwrap().code(), Some(7));
    // Again, and without waiting.
    assert_eq!(child.wait().await.unwrap().code(), Some(7));
    assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(7));
}

async fn output_of_any_length_is_collected() {
    let script = "head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2; exit 3";
    let child = process::spawn(shell(script).stdout(Stdio::piped()).stderr(Stdio::piped())).unwrap();
    let output = child.wait_with_output().await.unwrap();
    assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(3), 3_000_000, 2_000_000));
}

async fn input_and_output_are_piped() {
    let mut child = process::spawn(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped())).unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let writer = spawn(async move { input.write_all(&vec![3; 1 << 20]).await });
    let (mut len, mut part) = (0, vec![0; 65_536]);
    loop {
        let read = output.read(&mut part).await.unwrap();
        assert!(part[..read].iter().all(|byte| *byte == 3));
        if read == 0 {
            break;
        }
        len += read;
    }
    assert_eq!(len, 1 << 20);
    writer.await.unwrap().unwrap();
    assert!(child.wait().await.unwrap().success());
}

async fn a_killed_child_has_its_signal() {
    let mut child = process::spawn(shell("read line").stdin(Stdio::piped())).unwrap();
    child.kill().unwrap();
    assert_eq!(timeout(LIMIT, child.wait()).await.unwrap().unwrap().signal(), Some(libc::SIGKILL));
    // It has ended: there is no other process to kill.
    child.kill().unwrap();
}

async fn a_dropped_child_goes_on_and_leaves_no_zombie() {
    let mut child = process::spawn(shell("read line").stdin(Stdio::piped())).unwrap();
    let (id, input) = (child.id(), child.stdin.take());
    drop(child);
    assert!(is_running(id));
    drop(input);
    until("it has ended", || !is_running(id));
    // Each child that is started or dropped takes the status of those.
    drop(process::spawn(&mut shell("exit")).unwrap());
    assert!(!Path::new(&format!("/proc/{id}")).exists());
}

/// A child belongs to no runtime; its pipes do.
#[test]
fn a_child_is_waited_for_in_another_runtime() {
    let [one, other] = [(); 2].map(|()| brunt_runtime::Runtime::new().unwrap());
    let mut child = one.block_on(async { process::spawn(shell("read line; exit 3").stdin(Stdio::piped())).unwrap() });
    let input = child.stdin.take();
    assert!(one.block_on(async { poll_once(child.wait()).await }).is_none());
    one.block_on(async { drop(input) });
    drop(one);
    assert_eq!(other.block_on(async { timeout(LIMIT, child.wait()).await }).unwrap().unwrap().code(), Some(3));
}

/// A worker has one core and exact timers; its children have what the program has.
#[test]
fn a_child_of_a_pinned_worker_may_use_every_core() {
    let script = "grep Cpus_allowed: /proc/self/status; cat /proc/self/timerslack_ns";
    let usual = shell(script).output().unwrap().stdout;
    let first = brunt_runtime::group::allowed_cores().unwrap()[0];
    let own = std::thread::spawn(move || {
        brunt_runtime::group::pin_to_core(first).unwrap();
        let runtime = brunt_runtime::Runtime::new().unwrap();
        let output = runtime.block_on(async {
            let child = process::spawn(shell(script).stdout(Stdio::piped())).unwrap();
            child.wait_with_output().await.unwrap().stdout
        });
        assert_eq!(brunt_runtime::group::allowed_cores().unwrap(), [first]);
        output
    });
    assert_eq!(String::from_utf8(own.join().unwrap()), String::from_utf8(usual));
}

#[test]
fn outside_a_runtime_no_child_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let mut command = shell(&format!("touch {}", mark.display()));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| process::spawn(&mut command)));
    assert!(panicked.is_err() && !mark.exists());
}

async fn a_child_is_killed_with_its_handle_if_so_asked() {
    let mut child = process::spawn(shell("read line").stdin(Stdio::piped())).unwrap();
    let (id, _input) = (child.id(), child.stdin.take());
    child.kill_on_drop(true);
    drop(child);
    until("it has been killed", || !is_running(id));
}

async fn a_program_that_does_not_exist_is_an_error() {
    assert_eq!(process::spawn(&mut Command::new("/no/such/program")).unwrap_err().kind(), ErrorKind::NotFound);
}

async fn a_pipe_leads_from_one_child_to_another() {
    let mut first =
        process::spawn(shell("read line; echo $line; echo more").stdin(Stdio::piped()).stdout(Stdio::piped())).unwrap();
    let between = Stdio::try_from(first.stdout.take().unwrap()).unwrap();
    // It waits for its input, as programs do that take theirs for blocking.
    let second = process::spawn(Command::new("cat").stdin(between).stdout(Stdio::piped())).unwrap();
    first.stdin.take().unwrap().write_all(b"a line\n").await.unwrap();
    assert_eq!(second.wait_with_output().await.unwrap().stdout, b"a line\nmore\n");
    assert!(first.wait().await.unwrap().success());
}
