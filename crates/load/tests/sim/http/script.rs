//! Requests made during the load, by a source as scripts are.

use crate::web::*;
use crate::worlds::{MS, Run, WAY, address, exact, fails, times, values};
use brunt_load::http::{Batch, Expect, Flow, Http, Requests, Script, Source};
use brunt_load::{LoadError, Options};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Replies that a source got.
type Shown = Arc<Mutex<Vec<(u16, Vec<(String, Vec<u8>)>, Vec<u8>)>>>;

/// A source that numbers its requests in their targets.
#[derive(Default)]
struct Counting {
    made: u64,
    batch: u32,
    fails_at: Option<u64>,
    stops_at: Option<usize>,
    delay: Option<Duration>,
    shown: Option<Shown>,
}

impl Source for Counting {
    fn next(&mut self, out: &mut Vec<u8>) -> Result<Batch, String> {
        let mut batch = Batch::default();
        for _ in 0..self.batch {
            if self.fails_at == Some(self.made) {
                return Err("script.lua:7: no more ideas".to_owned());
            }
            out.extend_from_slice(format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", self.made).as_bytes());
            batch.push("GET")?;
            self.made += 1;
        }
        Ok(batch)
    }

    fn wants_responses(&self) -> bool {
        self.shown.is_some()
    }

    fn response(&mut self, status: u16, fields: &[(&str, &[u8])], body: &[u8]) -> Flow {
        let mut shown = self.shown.as_ref().unwrap().lock().unwrap();
        let fields = fields.iter().map(|(name, value)| (name.to_string(), value.to_vec())).collect();
        shown.push((status, fields, body.to_vec()));
        if self.stops_at == Some(shown.len()) { Flow::Stop } else { Flow::Continue }
    }

    fn delay(&mut self) -> Option<Duration> {
        self.delay
    }
}

fn script(make: impl Fn() -> Counting + Send + Sync + 'static) -> Http {
    let script = Script::new(move |_| Ok(Box::new(make())));
    Http::on(address(), Requests::Script(script), None, Expect::default())
}

/// A source of so many requests, behind which it fails.
pub fn failing_after(requests: u64) -> Http {
    script(move || Counting { batch: 1, fails_at: Some(requests), ..Counting::default() })
}

#[test]
fn requests_come_from_the_source_in_order() {
    for batch in [1, 8] {
        let options = some(100, script(move || Counting { batch, ..Counting::default() }));
        let (result, seen) = on_web(&options, |_| say(ok("hello")));
        assert_good(&result, 100);
        let log = seen.log.borrow();
        let mut numbers: Vec<u64> = log.iter().map(|request| request.target()[1..].parse().unwrap()).collect();
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|two| two[0] < two[1]), "a request was sent twice: {numbers:?}");
        // The hundredth reply ends the run; some of the replies behind it may be seen too.
        let held = options.connections as u64 * u64::from(batch);
        assert!(numbers.len() >= 100 && *numbers.last().unwrap() < 100 + 2 * held, "{numbers:?}");
    }
}

#[test]
fn a_source_gets_complete_replies() {
    let shown = Shown::default();
    let given = Arc::clone(&shown);
    let http = script(move || Counting { batch: 1, shown: Some(Arc::clone(&given)), ..Counting::default() });
    let (result, _) = on_web(&Options { connections: 1, ..some(3, http) }, |request| match request.target() {
        "/0" => say("HTTP/1.1 404 No\r\nX-A: 1\r\nx-a:  2 \r\nContent-Length: 2\r\n\r\nno"),
        "/1" => say("HTTP/1.1 200 OK\r\nX-B: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
        _ => say("HTTP/1.1 200 OK\r\nX-C: 1\r\n\r\nto the end").close(),
    });
    assert_eq!((result.requests.completed, result.errors.status), (2, 1));
    let shown = shown.lock().unwrap();
    let field = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    assert_eq!(
        shown[0],
        (404, vec![field("X-A", "1"), field("x-a", "2"), field("Content-Length", "2")], b"no".to_vec())
    );
    assert_eq!(shown[1], (200, vec![field("X-B", "1"), field("Transfer-Encoding", "chunked")], b"hello".to_vec()));
    assert_eq!(shown[2], (200, vec![field("X-C", "1")], b"to the end".to_vec()));
}

#[test]
fn a_source_can_end_the_run_with_a_result() {
    let http =
        script(|| Counting { batch: 1, stops_at: Some(50), shown: Some(Shown::default()), ..Counting::default() });
    let options = Options { duration: Duration::from_secs(600), connections: 1, ..second(http) };
    let (result, _) = on_web(&options, |_| say(ok("hello")));
    // The reply that ends the window is at its end, not in it.
    assert_eq!(result.requests.completed, 50);
    assert!(result.load.measured_s < 0.002, "{}", result.load.measured_s);
}

#[test]
fn a_delay_is_part_of_no_requests_time() {
    let http = script(|| Counting { batch: 1, delay: Some(20 * MS), ..Counting::default() });
    let (Run { report, responses }, seen) = told_on_web(&second(http), |_| say(ok("hello")));
    // Two connections, and 20 ms and a little for each request.
    assert_good(&report.result, 2 * 50);
    assert_eq!(values(&responses), values(&times(100, WAY)));
    assert_eq!(seen.connections.get(), 2);
}

#[test]
fn an_error_of_a_source_ends_the_run() {
    let error = |http: Http, rate: Option<f64>| {
        let options = Options { duration: Duration::from_secs(20), rate, ..second(http) };
        match fails(&exact(1), &options, web(0, Default::default(), |_| say(ok("hello")))) {
            LoadError::Script(why) => why,
            other => panic!("{other}"),
        }
    };
    assert_eq!(error(failing_after(30), None), "script.lua:7: no more ideas");
    assert!(error(script(Counting::default), None).contains("no request"));
    let many = || Counting { batch: 2, ..Counting::default() };
    assert!(error(script(many), Some(100.0)).contains("2 requests at once under -R"));
    let unmade = Script::new(|thread| Err(format!("thread {thread}: no such file")));
    let http = Http::on(address(), Requests::Script(unmade), None, Expect::default());
    assert_eq!(error(http, None), "thread 0: no such file");
}
