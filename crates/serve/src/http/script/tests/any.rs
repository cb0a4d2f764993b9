//! Any values that a script returns make a response that `wire` can write.

use super::Bench;
use crate::http::handler::{Content, Response};
use brunt_wire::http1::{self, DateHeader, RequestMeta};
use proptest::prelude::*;
use std::{cell::Cell, time::Duration};

/// Luau expressions that are, or resemble, valid return values.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("nil".to_owned()),
        Just("true".to_owned()),
        Just("print".to_owned()),
        Just("json.null".to_owned()),
        Just("req".to_owned()),
        Just("req.headers".to_owned()),
        any::<f64>().prop_map(|number| format!("({number:?})").replace("NaN", "0/0").replace("inf", "1/0")),
        (0u16..1000).prop_map(|number| number.to_string()),
        (0.0..4000.0f64).prop_map(|number| format!("{number:?}")),
        prop::sample::select(vec!["reset", "stall", "garbage", "Content-Length", "x-a", "a\\r\\nb", "\\0", ""])
            .prop_map(|text| format!("\"{text}\"")),
        proptest::collection::vec(any::<u8>(), 0..20)
            .prop_map(|bytes| format!("\"{}\"", bytes.iter().map(|byte| format!("\\{byte:03}")).collect::<String>())),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        let key = prop_oneof![
            8 => prop::sample::select(vec![
                "status", "headers", "body", "delay", "drip", "chunks", "fault", "pieces", "bytes", "every", "truncate",
                "['X-B']", "['Set-Cookie']", "[1]",
            ])
            .prop_map(str::to_owned),
            1 => inner.clone().prop_map(|key| format!("[({key}) or 1]")),
        ];
        prop_oneof![
            proptest::collection::vec((key, inner.clone()), 0..6).prop_map(|pairs| {
                let pairs: Vec<_> = pairs.into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
                format!("{{{}}}", pairs.join(", "))
            }),
            proptest::collection::vec(inner, 0..4).prop_map(|list| format!("{{{}}}", list.join(", "))),
        ]
    })
}

/// Writes the response as the server does.
fn send(answer: &Response) -> Result<(), String> {
    if !(200..=599).contains(&answer.status) || answer.delay > Duration::from_secs(3600) {
        return Err(format!("{answer:?}"));
    }
    let (mut out, date) = (Vec::new(), DateHeader::bare());
    let response = http1::Response::new(&mut out, RequestMeta::UNPARSED, &date, answer.status);
    let mut response = response.map_err(|refused| refused.to_string())?;
    for (name, value) in &answer.fields {
        response = response.field(name, value).map_err(|refused| format!("{name}: {refused}"))?;
    }
    let _ = response.body(b"");
    match &answer.body {
        // An empty piece would end a chunked body.
        Content::Pieces { pieces, every, .. } => {
            let good = pieces.iter().all(|piece| !piece.is_empty()) && *every <= Duration::from_secs(3600);
            good.then_some(()).ok_or_else(|| format!("{answer:?}"))
        }
        _ => Ok(()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_response_of_a_script_can_be_sent(values in proptest::collection::vec(expression(), 0..4)) {
        let text = format!("function on_request(req) return {} end", values.join(", "));
        let mut bench = Bench::new(&text);
        let answer = bench.get();
        let sent = send(&answer);
        prop_assert!(sent.is_ok(), "{text}: {sent:?}");
        // Every error is logged.
        prop_assert_eq!(bench.script.errors() > 0, !bench.said.lock().unwrap().is_empty());
    }
}

#[test]
fn the_generator_makes_valid_responses_too() {
    // Otherwise the property above would test errors only.
    let good = Cell::new(0);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let run = runner.run(&expression(), |value| {
        let mut bench = Bench::new(&format!("function on_request(req) return {value} end"));
        bench.get();
        good.set(good.get() + u32::from(bench.script.errors() == 0));
        Ok(())
    });
    assert!(run.is_ok() && good.get() > 20, "{run:?}, {good:?}");
}
