//! What it costs to make a request with a placeholder, head and values: nanoseconds a request, the median of many rounds and
//! the best one. No socket is involved.
//! `cargo run --release -p brunt-load --example placeholder_cost`

use brunt_load::http::{Filled, Filler, Pipeline, RequestTarget, Template};
use brunt_load::schedule::Share;
use std::{hint::black_box, sync::Arc, time::Instant};

const CALLS: u32 = 20_000;
const ROUNDS: usize = 201;

fn main() -> Result<(), String> {
    let lines = std::env::temp_dir().join(format!("placeholder_cost.{}", std::process::id()));
    let words: String = (0..1000).map(|number| format!("name{number}\n")).collect();
    std::fs::write(&lines, words).map_err(|error| format!("{}: {error}", lines.display()))?;
    println!("{:28} {:>8} {:>8}  ns a request", "", "median", "best");
    let line = format!("/?item={{line:{}}}", lines.display());
    let get = |target: &str| row(target, None);
    for target in ["/?item={seq}", "/?item={rand:1..1000000}", "/?item={uuid}"] {
        println!("{target:28} {}", get(target)?);
    }
    println!("{:28} {}", "/?item={line:FILE}", get(&line)?);
    let body = r#"{"id": {seq}, "key": "{uuid}"}"#;
    println!("{:28} {}", "a body with two", row("/", Some(body))?);
    std::fs::remove_file(&lines).map_err(|error| format!("{}: {error}", lines.display()))
}

fn row(target: &str, body: Option<&str>) -> Result<String, String> {
    let template = Template {
        method: if body.is_some() { "POST" } else { "GET" }.to_owned(),
        fields: vec![("User-Agent".to_owned(), "brunt".to_owned())],
        body: body.map(|text| text.as_bytes().to_vec()),
        http10: false,
    };
    let target = RequestTarget {
        host: "localhost:8080".to_owned(),
        target: target.to_owned(),
        weight: 1,
        name: 0,
        authorization: None,
    };
    let all = Filled::new(&template, &[target], Pipeline::NONE, None, 7)?.ok_or("no placeholder")?;
    let mut filler = Filler::new(&Arc::new(all), Share { thread: 0, threads: 1, connections: 1, group: 1 });
    let mut out = Vec::new();
    let mut round = || {
        let start = Instant::now();
        for _ in 0..CALLS {
            out.clear();
            filler.append(false, &mut out);
            black_box(&out);
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
    rounds.sort_by(f64::total_cmp);
    Ok(format!("{:8.1} {:8.1}", rounds[ROUNDS / 2], rounds[0]))
}
