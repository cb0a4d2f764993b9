//! The requests of an access log at its own times, or faster or slower.
//!
//! Times of equal stamps are spread evenly over the log's resolution, which is a second in common log format. Bodies are not in
//! logs. Lines that are no requests are counted.

mod json;
mod line;
mod request;
mod stamp;

use crate::requests::{Recorded, RequestFile};
use crate::usage;
use brunt_results::{Error, named};
use request::Request;
use stamp::Stamp;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::{sync::Arc, time::Duration};

const SECOND_NS: u64 = 1_000_000_000;
/// A longer gap is one between two logs in a file.
const LONGEST_GAP: Duration = Duration::from_secs(3 * 24 * 3600);

/// Methods whose requests have a body.
const WITH_BODY: [&str; 3] = ["POST", "PUT", "PATCH"];

/// Requests with times of their own.
#[derive(Debug)]
pub struct Replay {
    pub requests: RequestFile,
    /// In nanoseconds from the first one's stamp on, in order.
    pub times: Arc<[u64]>,
    pub length: Duration,
    /// Times as fast as the log.
    pub speed: f64,
}

impl Replay {
    /// Gives this body to each request whose method has one; without one it is empty, and a note says so.
    pub fn add_bodies(&mut self, typed: Option<Vec<u8>>) {
        let file = &mut self.requests;
        let has_body = |request: &Recorded| WITH_BODY.contains(&&*request.method);
        let order = file.order.as_deref().unwrap_or_default();
        let count = order.iter().filter(|request| has_body(&file.requests[**request])).count();
        if count > 0 && typed.is_none() {
            let name = &file.name;
            file.notes.push(format!(
                "{name}: {count} requests with POST, PUT or PATCH have an empty body, as a log has none; --body gives one to all"
            ));
        }
        for request in file.requests.iter_mut().filter(|request| has_body(request)) {
            request.body = Some(typed.clone().unwrap_or_default());
        }
    }

    /// Requests a second in this window.
    pub fn rate(&self, duration: Duration, warmup: Duration) -> Result<f64, Error> {
        let before = |end: Duration| self.times.partition_point(|at| u128::from(*at) < end.as_nanos());
        match before(warmup + duration) - before(warmup) {
            0 => usage("--replay: no request of the log is in the window; raise -d, or lower --warmup"),
            count => Ok(count as f64 / duration.as_secs_f64()),
        }
    }
}

/// A line of the log that is a request.
struct Logged {
    stamp: Stamp,
    place: usize,
    /// Number of the request among the different ones.
    request: usize,
}

/// Reads a log, to be replayed `speed` times as fast.
///
/// # Errors
/// The log cannot be read, holds no request, or has a gap of days.
pub fn read(path: &Path, speed: f64) -> Result<Replay, Error> {
    let name = path.display().to_string();
    let failed = |error| Error::Usage(format!("cannot read the log {name}: {error}"));
    let mut requests = RequestFile { name: name.clone(), replay: true, ..RequestFile::default() };
    let (mut logged, mut known) = (Vec::new(), HashMap::new());
    // Lines that are no requests, and the first of them.
    let (mut others, mut first_other) = (0u64, None);
    for (number, text) in
        BufReader::new(named::place(path).and_then(File::open).map_err(failed)?).split(b'\n').enumerate()
    {
        let (text, place) = (text.map_err(failed)?, number + 1);
        match line::parse(text.trim_ascii()) {
            _ if text.trim_ascii().is_empty() => (),
            Some(Request { stamp, method, target }) => {
                let request = *known.entry((method, target)).or_insert_with_key(|(method, url)| {
                    let (method, url) = (method.clone(), url.clone());
                    requests.requests.push(Recorded { place, method, url, ..Recorded::default() });
                    requests.requests.len() - 1
                });
                logged.push(Logged { stamp, place, request });
            }
            None => {
                others += 1;
                first_other.get_or_insert(place);
            }
        }
    }
    let said = first_other.map(|place| format!("{name}: {others} lines are no requests, the first is line {place}"));
    if logged.is_empty() {
        let said = said.unwrap_or_else(|| format!("{name} is empty"));
        return usage(format!(
            "{said}: --replay reads the common and the combined log format, and JSON lines with time, method and path"
        ));
    }
    requests.notes.extend(said.map(|said| format!("{said}; they are left out")));
    logged.sort_by_key(|logged| logged.stamp.ns);
    check_gaps(&requests, &logged)?;
    requests.order = Some(logged.iter().map(|logged| logged.request).collect());
    let (times, length) = schedule(&logged, speed);
    Ok(Replay { requests, times, length, speed })
}

fn check_gaps(requests: &RequestFile, logged: &[Logged]) -> Result<(), Error> {
    for pair in logged.windows(2) {
        let gap = Duration::from_nanos(pair[1].stamp.ns.abs_diff(pair[0].stamp.ns));
        if gap > LONGEST_GAP {
            let (origin, days) = (requests.origin(pair[1].place), gap.as_secs() / 86_400);
            return usage(format!(
                "{origin}{days} days lie between this request and the one before, on line {}: cut the file there",
                pair[0].place
            ));
        }
    }
    Ok(())
}

/// When each request is due, from the first stamp on, and how long all take. The last one has the time of a mean gap, at most
/// a second, for its reply.
fn schedule(logged: &[Logged], speed: f64) -> (Arc<[u64]>, Duration) {
    let (Some(first), Some(last)) = (logged.first(), logged.last()) else { return (Arc::new([]), Duration::ZERO) };
    let resolution = logged.iter().map(|logged| logged.stamp.resolution_ns).min().unwrap_or(1);
    let span = last.stamp.ns.abs_diff(first.stamp.ns);
    let scaled = |ns: f64| ns / speed;
    let mut times = Vec::with_capacity(logged.len());
    for same in logged.chunk_by(|a, b| a.stamp.ns == b.stamp.ns) {
        let since = same[0].stamp.ns.abs_diff(first.stamp.ns) as f64;
        let share = resolution as f64 / same.len() as f64;
        times.extend((0..same.len()).map(|number| scaled(since + share * number as f64) as u64));
    }
    let mean_gap = span / logged.len().saturating_sub(1).max(1) as u64;
    let length = span + mean_gap.min(SECOND_NS).max(resolution);
    (times.into(), Duration::from_nanos(scaled(length as f64) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The replay of a log with these lines, or the error.
    fn replayed(lines: &str, speed: f64) -> Result<Replay, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lines).unwrap();
        let name = file.path().display().to_string();
        read(file.path(), speed).map_err(|error| error.to_string().replace(&name, "FILE"))
    }

    fn common(second: u64, request: &str) -> String {
        format!("127.0.0.1 - - [10/Oct/2026:13:55:{second:02} +0000] \"{request}\" 200 5\n")
    }

    fn ms(replay: &Replay) -> Vec<u64> {
        replay.times.iter().map(|ns| ns / 1_000_000).collect()
    }

    #[test]
    fn requests_of_a_second_are_spread_over_it() {
        let log: String = [3, 3, 3, 3, 5].map(|second| common(second, "GET /x HTTP/1.1")).concat();
        let replay = replayed(&log, 1.0).unwrap();
        assert_eq!((ms(&replay), replay.length), (vec![0, 250, 500, 750, 2000], Duration::from_secs(3)));
        let replay = replayed(&log, 2.0).unwrap();
        assert_eq!((ms(&replay), replay.length), (vec![0, 125, 250, 375, 1000], Duration::from_millis(1500)));
        assert_eq!(replay.requests.requests.len(), 1);
        assert_eq!(replay.rate(Duration::from_millis(500), Duration::ZERO).unwrap(), 8.0);
        assert!(replay.rate(Duration::from_millis(100), Duration::from_millis(500)).is_err());
    }

    #[test]
    fn finer_times_are_kept_and_lines_are_sorted() {
        let line =
            |time: &str, path: &str| format!("{{\"time\": \"{time}\", \"method\": \"GET\", \"path\": \"{path}\"}}\n");
        let log = [line("2026-01-01T00:00:01.500Z", "/b"), line("2026-01-01T00:00:01.250Z", "/a")].concat();
        let replay = replayed(&log, 1.0).unwrap();
        let order = replay.requests.order.as_ref().unwrap();
        let paths: Vec<&str> = order.iter().map(|request| &replay.requests.requests[*request].url[..]).collect();
        assert_eq!((paths, ms(&replay)), (vec!["/a", "/b"], vec![0, 250]));
        assert_eq!(replay.length, Duration::from_millis(500));
    }

    #[test]
    fn lines_that_are_no_requests_are_counted_and_gaps_are_errors() {
        let log =
            [common(1, "GET / HTTP/1.1"), common(1, "-"), common(1, "\\x16\\x03\\x01"), "x\n\n".to_owned()].concat();
        let replay = replayed(&log, 1.0).unwrap();
        assert_eq!((replay.times.len(), &replay.requests.notes[0][..]).0, 1);
        let note = &replay.requests.notes[0];
        assert!(note.contains("3 lines are no requests, the first is line 2"), "{note}");
        let later = common(1, "GET / HTTP/1.1").replace("10/Oct", "20/Oct");
        let error = replayed(&(common(1, "GET / HTTP/1.1") + &later), 1.0).unwrap_err();
        assert!(error.starts_with("FILE:2: 10 days") && error.contains("cut the file"), "{error}");
        assert!(replayed("a\nb\n", 1.0).unwrap_err().contains("FILE: 2 lines are no requests"));
        assert!(replayed("", 1.0).unwrap_err().contains("FILE is empty"));
    }

    proptest! {
        #[test]
        fn each_second_has_its_requests(seconds in proptest::collection::vec(0u64..60, 1..200), speed in 0.1f64..20.0) {
            let log: String = seconds.iter().map(|second| common(*second, "GET / HTTP/1.1")).collect();
            let replay = replayed(&log, speed).unwrap();
            let first = *seconds.iter().min().unwrap();
            prop_assert!(replay.times.is_sorted());
            prop_assert!(Duration::from_nanos(*replay.times.last().unwrap()) < replay.length);
            for second in 0..60 {
                let logged = seconds.iter().filter(|at| **at == first + second).count();
                // A nanosecond of rounding belongs to the second behind it.
                let at = |ns: &u64| ((*ns as f64 + 1.5) * speed / 1e9) as u64;
                prop_assert_eq!(replay.times.iter().filter(|ns| at(ns) == second).count(), logged);
            }
        }
    }
}
