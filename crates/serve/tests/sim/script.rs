//! Scripts: their delays, and the log of their errors.

use crate::clients::Client;
use crate::worlds::{MS, SECOND, US, WAY, address, clock, options, run, until};
use brunt_serve::http::script::{LIMITS, Limits, Script};
use brunt_serve::http::{Plan, Settings};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// CPU time of a call is that of this machine: no limit that a test could reach.
const PATIENT: Limits = Limits { start: Duration::from_secs(60), call: Duration::from_secs(60), ..LIMITS };

fn plan(text: &str, sink: impl Fn(&str) + Send + Sync + 'static) -> Plan {
    Plan::script(Script::compile("test.luau", text, PATIENT, sink).unwrap(), vec![address()], 1)
}

#[test]
fn a_script_says_when_its_response_comes() {
    let text = r#"function on_request(req)
        if req.path == "/slow" then return {body = "slow", delay = 0.2} end
        if req.path == "/chunks" then return {chunks = {"a", "b"}, drip = {every = 0.1}} end
        if req.path == "/drip" then return {body = "abcd", drip = {pieces = 4, every = 0.05}} end
        return "at once\n"
    end"#;
    let asks = async || {
        let mut client = Client::connect().await;
        client.get("/", "\n").await;
        let slow = client.get("/slow", "slow").await;
        let chunks = client.get("/chunks", "0\r\n\r\n").await;
        [slow, chunks, client.get("/drip", "d").await]
    };
    let [slow, chunks, drip] = run(options(plan(text, |_| ()), Settings::default()), asks).0;
    assert_eq!(slow, [(WAY + 200 * MS + US, "slow".to_owned())]);
    let expected = [(WAY, "1\r\na\r\n"), (WAY + 100 * MS + US, "1\r\nb\r\n0\r\n\r\n")];
    assert_eq!(chunks, expected.map(|(at, text)| (at, text.to_owned())));
    let expected = (0..).zip(["a", "b", "c", "d"]).map(|(nth, text)| (WAY + nth * (50 * MS + US), text.to_owned()));
    assert_eq!(drip, expected.collect::<Vec<_>>());
}

/// The log has a line a second, and says how many errors it left out.
#[test]
fn errors_in_quick_succession_are_logged_once_a_second() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&lines);
    let sink = move |line: &str| heard.lock().unwrap().push((clock(), line.to_owned()));
    let asks = async || {
        let mut client = Client::connect().await;
        for nth in 1..=35 {
            until(nth * 100 * MS).await;
            client.get("/", "failed\n").await;
        }
    };
    run(options(plan("function on_request()\n  error('no')\nend", sink), Settings::default()), asks);
    let lines = Arc::try_unwrap(lines).unwrap_or_else(|_| panic!("the script is in use")).into_inner().unwrap();
    let times: Vec<Duration> = lines.iter().map(|(at, _)| *at - lines[0].0).collect();
    assert_eq!(times, [0, 1, 2, 3].map(|nth| nth * SECOND));
    assert_eq!(lines[0].1, "test.luau:2: no (answered with 500)");
    let more = "test.luau:2: no (answered with 500; 9 more errors since the last such line)";
    assert!(lines[1..].iter().all(|(_, line)| line == more), "{lines:?}");
}
