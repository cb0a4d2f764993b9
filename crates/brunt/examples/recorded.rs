//! Makes a recording of a machine's noise from slices of two equal targets: `recorded SLICES.jsonl... > recorded.txt`, each file a
//! recording of its own. The tests of the comparison replay `crates/slices/tests/recorded.txt`; `docs/reference/truth.md`
//! says how to record.
//!
//! A line a round; a blank line ends a recording. Words of a line: the target of the first slice, `a` or `b`, then for the first
//! and the second slice the rate in replies a millisecond, the CPU time a reply and the p50 in microseconds, all to four digits
//! and 0 without replies, and the share that the machine took of the slice, in percent. Rounds with failed requests or without metered
//! CPU time are left out.

use brunt_slices::Slice;
use brunt_slices::record::read;
use std::io::{ErrorKind, Write, stdout};
use std::path::Path;
use std::{env, process};

const HEADER: &str = "# Slices of two equal targets; `recorded` made it. The target of the first slice; of both: replies/ms, CPU us a \
                      reply, p50 us, % lost.";

fn main() {
    if let Err(message) = run() {
        eprintln!("error: {message}");
        process::exit(2);
    }
}

fn run() -> Result<(), String> {
    let paths: Vec<String> = env::args().skip(1).collect();
    if paths.is_empty() {
        return Err("usage: recorded SLICES.jsonl... > recorded.txt".to_owned());
    }
    let (mut text, mut recordings, mut rounds, mut left_out) = (format!("{HEADER}\n"), 0, 0, 0);
    for path in &paths {
        let slices = read(Path::new(path))?;
        let lines: Vec<Option<String>> =
            slices.chunk_by(|a, b| (a.start, a.round) == (b.start, b.round)).map(line).collect();
        let known: Vec<&str> = lines.iter().flatten().map(String::as_str).collect();
        left_out += lines.len() - known.len();
        if !known.is_empty() {
            (recordings, rounds) = (recordings + 1, rounds + known.len());
            text += &format!("{}\n\n", known.join("\n"));
        }
    }
    match stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(format!("standard output: {error}")),
        _ => {}
    }
    eprintln!("{recordings} recordings, {rounds} rounds, {left_out} left out, {} bytes", text.len());
    Ok(())
}

/// The line of a round; `None` if it cannot be replayed.
fn line(round: &[Slice]) -> Option<String> {
    let [first, second] = round else { return None };
    let name = if first.target < second.target { "a" } else { "b" };
    let of = |slice: &Slice| {
        let lost = slice.lost_us / slice.busy_us as f64 * 100.0;
        let figures = [Some(slice.rate() / 1e3), slice.cpu_us_per_request(), slice.latency.p50_us];
        let [rate, cost, p50] = figures.map(|figure| four_digits(figure.unwrap_or(0.0)));
        let lost = if lost > 0.0 { format!("{lost:.1}") } else { "0".to_owned() };
        let is_whole = slice.failed == 0 && slice.server_cpu_us.is_some();
        is_whole.then(|| format!("{rate} {cost} {p50} {lost}"))
    };
    Some(format!("{name} {} {}", of(first)?, of(second)?))
}

/// With four significant digits.
fn four_digits(value: f64) -> String {
    if value <= 0.0 {
        return "0".to_owned();
    }
    let decimals = 3 - value.log10().floor() as i32;
    format!("{value:.*}", decimals.clamp(0, 9) as usize)
}
