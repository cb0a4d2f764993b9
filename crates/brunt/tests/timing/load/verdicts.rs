//! What only the scheduler and the network stack show of a verdict: other programs on the cores of the generator, delayed
//! acknowledgements.

use crate::shared::target::{Target, json, load};
use brunt_testkit::{Running, alone, judge, listener, text, until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

#[test]
fn disturbed_by_another_program_on_the_generators_core() {
    let _alone = alone();
    let target = Target::start();
    let core = first_core();
    let hogs = [hog(&core), hog(&core)];
    let used = |hog: &Running| brunt_meter::process::cpu_of(hog.pid()).unwrap();
    until("both loops share the core", || hogs.iter().all(|hog| used(hog) >= Duration::from_millis(100)));
    let flags = format!("-c 20 -d 1s --warmup 200ms --cores {core} --json - --quiet");
    let output = load(&target.url(), &flags).output().unwrap();
    if json(&output)["generator"]["run_queue_wait_percent"].is_null() {
        println!("skipped: the kernel keeps no account of waiting for a core");
        return;
    }
    let why = json(&output)["verdict"]["why"].to_string();
    // Which of the two sentences depends on where the server may run.
    let is_told = ["of the generator", "was runnable without a core"].iter().all(|words| why.contains(words));
    assert!(is_told, "{}", text(&output));
}

/// The first core that this process may use.
fn first_core() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().split([',', '-']).next().unwrap().to_owned()
}

/// A busy loop on one core, killed at the end of the test.
fn hog(core: &str) -> Running {
    Running::start(Command::new("taskset").args(["-c", core, "sh", "-c", "while :; do :; done"]))
}

/// The URL of a server that writes head and body of a reply apart.
fn in_parts(nodelay: bool) -> String {
    let listener = listener();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            stream.set_nodelay(nodelay).unwrap();
            thread::spawn(move || reply_in_parts(stream));
        }
    });
    url
}

/// Each request comes whole.
fn reply_in_parts(mut stream: TcpStream) {
    let mut request = [0; 4096];
    while stream.read(&mut request).is_ok_and(|length| length > 0) {
        for part in ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "hello"] {
            if stream.write_all(part.as_bytes()).is_err() {
                return;
            }
        }
    }
}

#[test]
fn replies_that_wait_for_delayed_acknowledgements_are_told_from_others() {
    let _alone = alone();
    let is_delayed = |url: &str, flags: &str| {
        let output = load(url, &format!("{flags} --warmup 0s --no-meter --json - --quiet")).output().unwrap();
        let verdict = &json(&output)["verdict"];
        (verdict["kinds"].to_string().contains("delayed-ack"), verdict.to_string())
    };
    judge("head and body apart wait for the acknowledgement, and with TCP_NODELAY they do not", || {
        let [parts, nodelay] = [false, true].map(in_parts);
        for flags in ["-c 1 -n 50", "-c 1 -n 40 -R 40"] {
            let (is_found, verdict) = is_delayed(&parts, flags);
            if !is_found {
                return Err(format!("{flags}: {verdict}"));
            }
            let (is_found, verdict) = is_delayed(&nodelay, flags);
            if is_found {
                return Err(format!("{flags}, nodelay: {verdict}"));
            }
        }
        Ok(())
    });
}
