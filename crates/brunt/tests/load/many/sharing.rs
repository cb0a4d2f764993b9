//! Several processes as one server or load: how they share connections and cores.

use crate::shared::band::{Load, brunt, children, json, number};
use crate::shared::recorder::Recorder;
use crate::shared::server::{Server, cores, free_port, with_descriptors};
use crate::shared::target::Target;
use brunt_testkit::{Role, Signal, text, until};
use std::process::Command;
use std::time::Duration;

#[test]
fn connections_fill_one_process_after_the_other() {
    if !with_descriptors(13_000, Role("many::sharing::connections_fill_one_process_after_the_other")) {
        return;
    }
    let core = cores(1)[0];
    let mut command = Command::new("sh");
    // For 13,333 connections each.
    let flags = format!("--listen 127.0.0.1:{} --connections 40k --cores {core}", free_port());
    let limited = format!("ulimit -n 16000 && exec {} serve echo {flags}", env!("CARGO_BIN_EXE_brunt"));
    command.args(["-c", &limited]);
    let server = Server::start(command);
    let serving = children(server.pid());
    assert_eq!(serving.len(), 3, "{}", server.backend);
    let files = || -> Vec<u64> {
        serving.iter().map(|pid| std::fs::metadata(format!("/proc/{pid}/fd")).unwrap().len()).collect()
    };
    let mut before = files();
    // A worker reads its memory map once it has reported.
    until("the server has settled", || {
        std::thread::sleep(Duration::from_millis(50));
        let now = files();
        std::mem::replace(&mut before, now.clone()) == now
    });
    if before[0] == 0 {
        return println!("this kernel tells no number of open files: connections are distributed by hash");
    }
    let used = || files().iter().zip(&before).filter(|(now, before)| now > before).count();
    let connect = || std::net::TcpStream::connect(server.address()).unwrap();
    let mut open: Vec<_> = (0..9_000).map(|_| connect()).collect();
    let sum = || files().iter().sum::<u64>() - before.iter().sum::<u64>();
    until("the server has accepted all connections", || sum() == 9_000);
    assert_eq!(used(), 1, "{:?}", files());
    // The server looks how full its processes are every 50 ms at least, and the first has room for 13,333.
    while used() == 1 && open.len() < 13_000 {
        open.push(connect());
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(used(), 2, "{} connections: {:?}", open.len(), files());
}

#[test]
fn processes_share_the_named_cores_and_exclusively_bind_the_address() {
    let core = cores(1)[0];
    let port = free_port();
    let listen = format!("serve echo --listen 127.0.0.1:{port} --cores {core}");
    let server = Server::start(brunt(&format!("{listen} --connections 300")));
    // The process that shares the connections out, too.
    let parent = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    assert!(parent.contains(&format!("\nCpus_allowed_list:\t{core}\n")), "{parent}");
    for flags in ["", " --connections 300"] {
        let second = brunt(&format!("{listen}{flags}")).output().unwrap();
        assert_eq!(second.status.code(), Some(1), "{}", text(&second));
        assert!(String::from_utf8_lossy(&second.stderr).contains("another process has it"), "{}", text(&second));
    }
    let flags = "-c 300 -d 1s --warmup 200ms -T 30s --json - --quiet --allow-untrusted";
    let output = Load::start(&format!("tcp://{} {flags} --cores {core}", server.address())).end();
    let result = json(&output);
    // One core, so one sum over all its threads, and many threads on each side that waited for each other.
    assert_eq!(result["generator"]["cores"], serde_json::json!([core]));
    assert_eq!(result["generator"]["thread_cpu_percent"].as_array().unwrap().len(), 1);
    assert!(result["generator"]["run_queue_wait_percent"].is_null(), "{}", result["generator"]);
    assert_eq!(result["server"]["cores"], serde_json::json!([core]));
    assert!(number(&result, "requests.completed") > 0.0, "{}", text(&output));
}

#[test]
fn processes_share_connections_that_change() {
    let server =
        Server::start(brunt(&format!("serve echo --listen 127.0.0.1:{} --connections 400 --grace 10s", free_port())));
    let flags =
        "--stages c=7@500ms,c=7:300@2s,c=300@500ms,c=40@1s --warmup 300ms -T 30s --json - --quiet --allow-untrusted";
    let output = Load::start(&format!("tcp://{} {flags}", server.address())).end();
    let result = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!((number(&result, "connections.opened"), number(&result, "connections.peak")), (300.0, 300.0));
    assert!(result["errors"].as_object().unwrap().values().all(|count| count == 0), "{}", result["errors"]);
    let steps = result["steps"].as_array().unwrap();
    let connections: Vec<f64> = steps.iter().map(|step| step["connections"].as_f64().unwrap()).collect();
    assert_eq!((connections.len(), connections[0], connections[11], connections[12]), (13, 7.0, 300.0, 40.0));
    assert!(steps.iter().all(|step| step["completed"].as_u64() > Some(0)), "{steps:#?}");
    server.signal(Signal::TERM);
    let (_, _, said) = server.end();
    assert!(said.contains("stopped; 300 connections served, 0 failed"), "{said}");
}

#[test]
fn each_process_reads_what_an_http_load_names() {
    let target = Target::start_web();
    let home = brunt_testkit::home();
    let body = home.path().join("body");
    std::fs::write(&body, "content").unwrap();
    let requests = format!("--names a,b -H X-Say:said --body @{} --expect-body POST --pipeline 2", body.display());
    let usual = "-c 300 -d 1s --warmup 200ms -T 30s --json - --quiet --allow-untrusted";
    for more in ["", "-R 2k"] {
        let urls = format!("{} {}", target.http("/a"), target.http("/b"));
        let output = Load::start(&format!("{urls} {requests} {usual} {more}")).end();
        let result = json(&output);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        assert_eq!((number(&result, "connections.peak"), number(&result, "requests.failed")), (300.0, 0.0));
        let parts = result["names"].as_array().unwrap();
        let completed: Vec<f64> = parts.iter().map(|part| number(part, "completed")).collect();
        assert!(completed.len() == 2 && completed.iter().all(|completed| *completed > 0.0), "{completed:?}");
        assert_eq!(completed.iter().sum::<f64>(), number(&result, "requests.completed"));
        // Bodies of "POST /a saidcontent".
        let bytes = number(&result, "responses.body_bytes");
        assert_eq!(bytes, 19.0 * number(&result, "requests.completed"), "{}", result["responses"]);
    }
}

#[test]
fn a_number_of_requests_is_shared_by_processes_and_the_server_gets_exactly_as_many() {
    for (flags, count) in [
        ("-n 1000", 1000),
        // Fewer than there are processes.
        ("-n 1 -d 600", 1),
        ("-n 500 -R 2k", 500),
        ("-n 300 -R 2k --arrival poisson", 300),
    ] {
        let server = Recorder::start();
        let output = Load::start(&format!(
            "{} {flags} -c 300 --warmup 0s -T 30s --json - --quiet --allow-untrusted",
            server.url()
        ))
        .end();
        let result = json(&output);
        assert_eq!(output.status.code(), Some(0), "{flags}: {}", text(&output));
        assert_eq!(number(&result, "connections.opened"), 300.0, "{flags}");
        assert_eq!(server.take().len(), count, "{flags}: {}", text(&output));
        assert_eq!(number(&result, "requests.completed"), count as f64, "{flags}: {}", result["requests"]);
        assert_eq!(number(&result, "requests.unanswered"), 0.0, "{flags}: {}", result["requests"]);
        let (measured, rate) = (number(&result, "load.measured_s"), number(&result, "requests.rate"));
        assert!((rate * measured / count as f64 - 1.0).abs() < 1e-6, "{flags}: {rate} {measured}");
        assert!(
            !flags.contains("-R 2k") || flags.contains("poisson") || measured >= 0.25 - 1e-6,
            "{flags}: {measured}"
        );
    }
}

#[test]
fn handshakes_of_all_processes_are_counted() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args("serve http --listen 127.0.0.1:0 --service hello --tls".split(' '));
    let server = Server::start(command);
    let flags = "-k -c 300 -d 1s --warmup 200ms -T 30s --json - --quiet --allow-untrusted";
    let output = Load::start(&format!("https://{}/ {flags}", server.address())).end();
    let result = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let of = |name: &str| number(&result, &format!("handshakes.{name}"));
    assert_eq!((of("full") + of("resumed"), of("failed"), of("time.count")), (300.0, 0.0, 300.0));
}
