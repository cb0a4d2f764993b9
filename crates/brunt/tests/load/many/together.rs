//! Results of several processes are merged exactly, to the last request.

use crate::shared::band::{Load, brunt, children, json, number};
use crate::shared::server::{Server, free_port};
use brunt_testkit::{Signal, text};

#[test]
fn all_processes_count_to_one_result_and_the_server_counts_the_same() {
    for model in ["uring", "epoll", "tokio", "epoll-one", "thread"] {
        let server = Server::start(brunt(&format!(
            "serve echo --listen 127.0.0.1:{} --connections 300 --model {model} --grace 10s",
            free_port()
        )));
        let serving = children(server.pid());
        assert!(serving.len() >= 3, "{} processes: {}", serving.len(), server.backend);
        let said = format!("; {} processes for {} connections each", serving.len(), 300usize.div_ceil(serving.len()));
        assert!(server.backend.ends_with(&said), "{}", server.backend);

        // With a generous timeout and a low rate every request is answered.
        let flags = "-c 300 -R 1k --spread turns -d 1500ms --warmup 200ms -T 30s --json - --quiet --allow-untrusted";
        let output = Load::start(&format!("tcp://{} {flags}", server.address())).end();
        let result = json(&output);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        assert_eq!((number(&result, "connections.opened"), number(&result, "connections.peak")), (300.0, 300.0));
        assert!(number(&result, "connections.connect_rate_per_s") > 0.0);
        // Five requests are due on each connection, and the one idle longest gets the next.
        assert_eq!(number(&result, "connections.served_percent"), 100.0);
        assert!(number(&result, "connections.jain_index") > 0.9, "{}", text(&output));
        for kind in ["connect", "timeout", "reset", "protocol", "status"] {
            assert_eq!(number(&result, &format!("errors.{kind}")), 0.0, "{model}: {}", text(&output));
        }
        // With constant gaps an exact number of requests is due in the window, whichever process sends them; each is
        // answered in the window or in flight at its end. A request due before the window may be answered in it.
        let all = number(&result, "requests.completed") + number(&result, "requests.unanswered");
        assert!((1500.0..=1500.0 + 200.0).contains(&all), "{all}: {}", text(&output));
        assert_eq!(number(&result, "latency.response.count"), 1500.0, "{}", text(&output));
        // Unpinned, so every thread is listed.
        let threads = result["generator"]["thread_cpu_percent"].as_array().unwrap().len();
        assert!(threads >= 2, "{}", result["generator"]);
        // All processes of the server are metered.
        assert_eq!(number(&result, "server.pid"), f64::from(server.pid()));
        assert!(number(&result, "server.threads") >= serving.len() as f64 + 1.0, "{}", result["server"]);

        server.signal(Signal::TERM);
        let (status, _, said) = server.end();
        assert_eq!(status.code(), Some(0), "{said}");
        assert!(
            said.contains("stopped; 300 connections served, 0 failed, 0 closed at the end of the grace period"),
            "{model}: {said}"
        );
    }
}

#[test]
fn the_window_begins_at_the_same_time_in_all_processes_if_a_rule_ends_the_warm_up() {
    let server = Server::start(brunt(&format!("serve echo --listen 127.0.0.1:{} --connections 300", free_port())));
    let flags = "-c 300 -R 500 -d 1s --steady --warmup 30s -T 30s --json - --quiet --allow-untrusted";
    let output = Load::start(&format!("tcp://{} {flags}", server.address())).end();
    let result = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let warmup = number(&result, "load.warmup_s");
    assert!((8.0..=30.0).contains(&warmup) && warmup.fract() == 0.0, "{warmup}");
    assert_eq!(number(&result, "load.measured_s"), 1.0);
    assert_eq!(number(&result, "latency.response.count"), 500.0, "{}", text(&output));
}
