//! One message of each kind, as it is on the wire. `BRUNT_GOLDEN=write` rewrites the files: a difference is a change of the
//! protocol.

use brunt_fleet::sync::Estimate;
use brunt_fleet::words::*;
use brunt_testkit::golden;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::fmt::Debug;
use std::path::Path;

const CLOCK: Estimate = Estimate { offset_ns: -999_999_999_999, bound_ns: 61_000, at_ns: 5_000_000_123 };

fn orders() -> Vec<Envelope> {
    let task = Task {
        clock: CLOCK,
        threads: 16,
        first: 4,
        end: 8,
        drain_ns: 1_000_000_000,
        load: json!({ "rate": 20000.5, "target": "tcp://10.0.0.9:7100" }),
    };
    let arm = Arm { clock: CLOCK, start_ns: 12_000_000_000, open_ns: 13_000_000_000, close_ns: 23_000_000_000 };
    let orders = [
        Order::Reserve { owner: "alice".to_owned(), targets: vec!["10.0.0.9:8080".to_owned()] },
        Order::Sync {},
        Order::Task(Box::new(task)),
        Order::Arm(arm),
        Order::Commit { lease_until_ns: 17_000_000_000 },
        Order::Renew { clock: Some(CLOCK), lease_until_ns: 18_000_000_000, next_second: 3 },
        Order::Renew { clock: None, lease_until_ns: 40_000_000_000, next_second: 0 },
        Order::Close { at_ns: 15_300_000_000 },
        Order::Release {},
    ];
    let envelope = |(seq, order)| Envelope {
        version: Version,
        run: "r1".to_owned(),
        epoch: 1_764_522_272,
        seq,
        sent_ns: 10_000_000_000,
        deadline_ns: 10_900_000_000,
        order,
    };
    (1..).zip(orders).map(envelope).collect()
}

fn answers() -> Vec<Reply> {
    let times = Times { received_ns: 1, answered_ns: 2 };
    let end = End {
        seconds: 11,
        first_send_ns: Some(-7),
        why: Some(Why::LeaseOver {}),
        digest: "0123456789abcdef".to_owned(),
    };
    let status = Status {
        state: State::Reporting,
        begun: true,
        seconds: 11,
        first_send_ns: Some(-7),
        why: Some(Why::Failed { error: "10.0.0.9:7100 refuses connections".to_owned() }),
        refused: 2,
        end: Some(end),
    };
    let answers = [
        Answer::Granted {},
        Answer::Busy { owner: "bob".to_owned(), run: "r0".to_owned(), left_ns: 4_000_000_000 },
        Answer::Synced(times),
        Answer::Accepted(Box::new(Status::idle(0))),
        Answer::Renewed { times, status: Box::new(status) },
        Answer::Refused(Refusal::Old {}),
        Answer::Refused(Refusal::Late {}),
        Answer::Refused(Refusal::Unknown {}),
        Answer::Refused(Refusal::State(State::Running)),
    ];
    let reply = |(seq, answer)| {
        let (run, agent) = ("r1".to_owned(), "b".to_owned());
        Reply { version: Version, run, epoch: 1_764_522_272, seq, agent, incarnation: u64::MAX, answer }
    };
    (1..).zip(answers).map(reply).collect()
}

fn events() -> Vec<Notice> {
    let why = [
        None,
        Some(Why::Closed {}),
        Some(Why::Expired {}),
        Some(Why::NotCommitted {}),
        Some(Why::Released {}),
        Some(Why::TakenOver {}),
        Some(Why::NotDrained {}),
    ];
    let end = |why| Event::End(End { seconds: 2, first_send_ns: None, why, digest: "0".to_owned() });
    let events =
        [Event::Connecting { opened: 3 }, Event::Ready {}, Event::Failed { error: "no files left".to_owned() }];
    let notice = |event| {
        let (run, agent) = ("r1".to_owned(), "b".to_owned());
        Notice { version: Version, run, epoch: 2, agent, incarnation: 7, event }
    };
    events.into_iter().chain(why.map(end)).map(notice).collect()
}

fn parts() -> Vec<Part> {
    let table = Table {
        distributions: [("response".to_owned(), vec![0, 255, 7]), ("lag".to_owned(), Vec::new())].into(),
        counters: [("completed".to_owned(), 20_000)].into(),
    };
    let origin = Origin { run: "r1".to_owned(), epoch: 2, agent: "b".to_owned(), incarnation: 7, second: 3 };
    split(&origin, &table.encode(), 40)
}

fn wanted() -> Vec<Wanted> {
    let (run, agent, hash) = ("r1".to_owned(), "b".to_owned(), "0123456789abcdef".repeat(4));
    vec![Wanted { version: Version, run, agent, hash, offset: 262_144 }]
}

fn pieces() -> Vec<Piece> {
    let piece = |(data, error): (&[u8], Option<&str>)| {
        let (run, hash) = ("r1".to_owned(), "0123456789abcdef".repeat(4));
        Piece { version: Version, run, hash, offset: 262_144, data: data.to_vec(), error: error.map(str::to_owned) }
    };
    [(&b"GET /"[..], None), (&[], Some("cannot read calls.txt: Permission denied"))].map(piece).into()
}

/// Compares the text of all messages with a file, and reads it as the same messages, also if a later version has added fields.
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(name: &str, messages: &[T]) {
    let lines: String = messages.iter().map(|message| encode(message).unwrap() + "\n").collect();
    golden(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/golden").join(name), &lines);
    for (line, message) in lines.lines().zip(messages) {
        assert_eq!(decode::<T>(line).as_ref(), Ok(message));
        let mut later: Value = serde_json::from_str(line).unwrap();
        later["later"] = json!({ "unknown": [1, null] });
        for kind in ["order", "answer", "event"] {
            let body = later.get_mut(kind).and_then(Value::as_object_mut).and_then(|kinds| kinds.iter_mut().next());
            if let Some((kind, Value::Object(body))) = body
                && kind != "refused"
            {
                body.insert("later".to_owned(), json!(true));
            }
        }
        assert_eq!(decode::<T>(&later.to_string()).as_ref(), Ok(message));
        let foreign = line.replace(VERSION, "brunt.2");
        assert_eq!(decode::<T>(&foreign), Err(WordsError::Version("brunt.2".to_owned())));
    }
}

#[test]
fn messages_are_as_in_the_golden_files() {
    check("orders.jsonl", &orders());
    check("answers.jsonl", &answers());
    check("events.jsonl", &events());
    check("parts.jsonl", &parts());
    check("wanted.jsonl", &wanted());
    check("pieces.jsonl", &pieces());
}
