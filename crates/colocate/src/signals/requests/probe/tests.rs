//! What a probe counts, in given time: sockets are real, and a reply that the service gives comes in the same moment.

use super::super::tests::serve;
use super::*;
use crate::clock::given::Given;
use brunt_testkit::until;

const OBJECTIVE: Objective = Objective { quantile: 0.99, limit_ms: 300.0 };

struct Scene {
    time: Given,
    feed: Feed,
    probe: Probe,
    /// Count and slow ones of each window, and its latency.
    windows: Vec<(u64, u64, f64)>,
}

impl Scene {
    /// A request every 5 ms.
    fn new(url: &str) -> Self {
        let time = Given::begin();
        let probe = Probe::new(Url::parse(url).unwrap(), Some(Duration::from_millis(5)), OBJECTIVE, clock::now());
        Self { feed: Feed::new(None), probe, windows: Vec::new(), time }
    }

    /// Lets everything before this time happen. Requests end at once while they are `answered`.
    fn run(&mut self, end_ms: u64, answered: bool) {
        loop {
            let wake = self.probe.wake() - self.time.at(Duration::ZERO);
            if wake >= Duration::from_millis(end_ms) {
                return;
            }
            self.time.set(wake);
            let now = clock::now();
            self.probe.begin(now, &self.feed);
            self.windows.extend(self.feed.take().map(|(_, window)| (window.count, window.slow, window.latency_ms)));
            self.probe.receive(now, &self.feed);
            if answered {
                until("each request has ended", || {
                    self.probe.receive(now, &self.feed);
                    self.probe.busy.is_empty()
                });
            }
        }
    }

    fn counts(&self) -> Vec<(u64, u64)> {
        self.windows.iter().map(|(count, slow, _)| (*count, *slow)).collect()
    }
}

#[test]
fn replies_are_fast_and_requests_without_one_become_slow_once() {
    let address = serve(|number, request| Some(if number < 50 { request.to_vec() } else { Vec::new() }));
    let mut scene = Scene::new(&format!("tcp://{address}"));
    scene.run(250, true);
    scene.run(1_001, false);
    // Those from 250 ms on become slow 300 ms later, also where they wait for one of 64 connections.
    let slow = [(0, 0), (0, 0), (10, 10), (20, 20), (20, 20), (20, 20), (20, 20)];
    assert_eq!(scene.counts(), [&[(20, 0), (20, 0), (10, 0)], &slow[..]].concat());
    assert_eq!(scene.probe.busy.len(), MOST);
    assert!(scene.windows[..3].iter().all(|(.., latency)| *latency == 0.0), "{:?}", scene.windows);
    assert!(scene.windows[5..].iter().all(|(.., latency)| *latency > OBJECTIVE.limit_ms), "{:?}", scene.windows);
    assert_eq!(scene.feed.warning(), None);
    // Without a reply a request has failed after 2 s; it has counted.
    scene.run(2_301, false);
    assert_eq!(scene.counts()[10..], [(20, 20); 13]);
    assert!(scene.feed.warning().unwrap().contains("no reply within 2s"));
}

#[test]
fn failures_over_http_are_slow_and_the_first_is_named() {
    let address = serve(|number, request| {
        assert!(request.starts_with(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:"));
        let head = if number % 2 == 0 { "200 OK" } else { "503 Busy" };
        Some(format!("HTTP/1.1 {head}\r\nContent-Length: 2\r\n\r\nok").into_bytes())
    });
    let mut scene = Scene::new(&format!("http://{address}/health"));
    scene.run(301, true);
    assert_eq!(scene.counts(), [(20, 10); 3]);
    let warning = scene.feed.warning().unwrap();
    assert!(warning.contains("status 503") && warning.contains(&address.to_string()), "{warning}");
    assert_eq!(scene.feed.warning(), None);
}

#[test]
fn each_request_to_a_closed_port_fails_and_counts() {
    let mut scene = Scene::new("tcp://127.0.0.1:1");
    scene.run(201, true);
    assert_eq!(scene.counts(), [(20, 20); 2]);
    assert!(scene.feed.warning().unwrap().contains("refused"));
}
