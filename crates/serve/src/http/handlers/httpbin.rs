//! The paths of go-httpbin that load tests and proxy tests use. Sizes, numbers and times that clients request are capped.

use super::request_json::{self, argument, pretty};
use crate::http::config::settings::{MAX_CLIENT_BYTES, MAX_CLIENT_DELAY, MAX_CLIENT_LINES, MAX_CLIENT_PIECES};
use crate::http::config::trigger::unit;
use crate::http::handler::{Content, Handler, Request, Response};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use serde_json::json;
use std::{rc::Rc, time::Duration};

const PATHS: &str = "/status/N /delay/TIME /bytes/N /drip /stream/N /sse /anything /ip /headers /unstable /health";

pub(crate) struct Httpbin {
    random: Xoshiro256PlusPlus,
}

/// An error is the reason for a 400.
type Parsed<T> = Result<T, String>;

impl Httpbin {
    pub fn new(seed: u64) -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    fn route(&mut self, request: &Request<'_>) -> Parsed<Response> {
        let path = request.path.strip_prefix('/').unwrap_or_default();
        let (name, rest) = path.split_once('/').unwrap_or((path, ""));
        match (name, rest) {
            ("status", codes) => self.status(codes),
            ("delay", time) => {
                Ok(Response { delay: bounded_time(time)?, ..json_response(&request_json::json(request)) })
            }
            ("bytes", count) => {
                let body = Content::Filled(bounded(count, "bytes", MAX_CLIENT_BYTES)?);
                Ok(Response { body, ..Response::typed(200, "application/octet-stream", b"") })
            }
            ("drip", "") => drip(request),
            ("stream", lines) => stream(request, lines),
            ("sse", "") => sse(request),
            ("anything", _) => Ok(json_response(&request_json::json(request))),
            ("ip", "") => Ok(json_response(&pretty(&json!({ "origin": request.peer.ip().to_string() })))),
            ("headers", "") => Ok(json_response(&pretty(&json!({ "headers": request_json::headers(request) })))),
            ("unstable", "") => self.unstable(request),
            ("health", "") => Ok(Response::text(200, b"OK\n")),
            _ => Ok(Response::text(404, format!("404 Not Found: there are {PATHS}\n").as_bytes())),
        }
    }

    /// `200`, or a weighted choice such as `200:9,503:1`.
    fn status(&mut self, codes: &str) -> Parsed<Response> {
        let mut choices = Vec::new();
        for choice in codes.split(',') {
            let (code, weight) = choice.split_once(':').unwrap_or((choice, "1"));
            let code = code.parse().ok().filter(|code| (200..=599).contains(code));
            let weight = weight.parse().ok().filter(|weight: &f64| (0.0..=1e6).contains(weight));
            let (Some(code), Some(weight)) = (code, weight) else {
                return Err(format!(
                    "'{choice}' is not a status from 200 to 599, or one with a weight such as 503:0.1"
                ));
            };
            choices.push((code, weight));
        }
        let mut at = unit(&mut self.random) * choices.iter().map(|(_, weight)| weight).sum::<f64>();
        let hit = choices.iter().find(|(_, weight)| {
            at -= weight;
            at < 0.0
        });
        let chosen = hit.or(choices.last()).map_or(200, |(code, _): &(u16, f64)| *code);
        Ok(Response::text(chosen, format!("{chosen} {}\n", brunt_wire::http1::reason(chosen)).as_bytes()))
    }

    fn unstable(&mut self, request: &Request<'_>) -> Parsed<Response> {
        let rate = argument(request, "failure_rate").map_or(Ok(0.5), |text| {
            let rate = text.parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
            rate.ok_or_else(|| format!("failure_rate '{text}' is not a number from 0 to 1"))
        })?;
        let fails = unit(&mut self.random) < rate;
        Ok(if fails { Response::text(500, b"500 Internal Server Error\n") } else { Response::text(200, b"200 OK\n") })
    }
}

impl Handler for Httpbin {
    fn respond(&mut self, request: &Request<'_>) -> Response {
        self.route(request).unwrap_or_else(|why| Response::text(400, format!("400 Bad Request: {why}\n").as_bytes()))
    }
}

/// `?numbytes=10&duration=2s&delay=0s&code=200`: bytes spread evenly over the duration.
fn drip(request: &Request<'_>) -> Parsed<Response> {
    let bytes = number_or(request, "numbytes", MAX_CLIENT_BYTES)?;
    let duration = time_or(request, "duration", Duration::from_secs(2))?;
    let delay = time_or(request, "delay", Duration::ZERO)?;
    if duration + delay > MAX_CLIENT_DELAY {
        return Err(format!("duration and delay are longer than {MAX_CLIENT_DELAY:?} together"));
    }
    let code = argument(request, "code").map_or(Ok(200), |text| {
        let code = text.parse().ok().filter(|code| (200..=599).contains(code));
        code.ok_or(format!("code '{text}' is not a status from 200 to 599"))
    })?;
    let count = bytes.min(MAX_CLIENT_PIECES);
    // Pieces have two lengths, so two buffers are enough.
    let (short, long) = (bytes / count.max(1), bytes.div_ceil(count.max(1)));
    let [short_piece, long_piece] = [short, long].map(|length| Rc::<[u8]>::from(vec![b'*'; length as usize]));
    let is_long = |at: u64| bytes * (at + 1) / count - bytes * at / count > short;
    let piece = |at| if is_long(at) { long_piece.clone() } else { short_piece.clone() };
    let body =
        Content::Pieces { pieces: (0..count).map(piece).collect(), every: interval(duration, count), sized: true };
    Ok(Response { body, delay, ..Response::typed(code, "application/octet-stream", b"") })
}

fn stream(request: &Request<'_>, lines: &str) -> Parsed<Response> {
    let count = bounded(lines, "lines", MAX_CLIENT_LINES)?;
    let (arguments, headers) = (request_json::arguments(request), request_json::headers(request));
    let origin = request.peer.ip().to_string();
    let line = |id: u64| {
        let line = json!({ "id": id, "args": arguments, "headers": headers, "origin": origin });
        Rc::from(format!("{line}\n").as_bytes())
    };
    let body = Content::Pieces { pieces: (0..count).map(line).collect(), every: Duration::ZERO, sized: false };
    Ok(Response { body, ..Response::typed(200, "application/json", b"") })
}

/// `?count=10&duration=5s&delay=0s`: server-sent events spread evenly over the duration.
fn sse(request: &Request<'_>) -> Parsed<Response> {
    let count = number_or(request, "count", MAX_CLIENT_PIECES)?;
    let duration = time_or(request, "duration", Duration::from_secs(5))?;
    let delay = time_or(request, "delay", Duration::ZERO)?;
    let event = |id: u64| Rc::from(format!("event: ping\nid: {id}\ndata: {{\"id\":{id}}}\n\n").as_bytes());
    let body =
        Content::Pieces { pieces: (0..count).map(event).collect(), every: interval(duration, count), sized: false };
    let mut response = Response { body, delay, ..Response::typed(200, "text/event-stream", b"") };
    response.fields.push(("Cache-Control".to_owned(), b"no-store".to_vec()));
    Ok(response)
}

fn interval(duration: Duration, pieces: u64) -> Duration {
    duration / (pieces.saturating_sub(1).max(1) as u32)
}

/// A number of pieces or bytes; default 10.
fn number_or(request: &Request<'_>, name: &str, most: u64) -> Parsed<u64> {
    argument(request, name).map_or(Ok(10), |text| bounded(&text, name, most))
}

fn json_response(body: &[u8]) -> Response {
    Response::typed(200, "application/json", body)
}

fn time_or(request: &Request<'_>, name: &str, usual: Duration) -> Parsed<Duration> {
    argument(request, name).map_or(Ok(usual), |text| bounded_time(&text).map_err(|why| format!("{name}: {why}")))
}

/// Seconds, or a time with its unit.
fn bounded_time(text: &str) -> Parsed<Duration> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factors = [("", 1.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6)];
    let factor = factors.iter().find(|(word, _)| *word == unit).map(|(_, factor)| factor);
    let (Some(factor), Ok(number)) = (factor, number.parse::<f64>()) else {
        return Err(format!("'{text}' is not a time such as 2, 1.5s or 200ms"));
    };
    let time = Duration::try_from_secs_f64(number * factor).unwrap_or(Duration::MAX);
    if time > MAX_CLIENT_DELAY { Err(format!("{text} is longer than {MAX_CLIENT_DELAY:?}")) } else { Ok(time) }
}

fn bounded(text: &str, what: &str, most: u64) -> Parsed<u64> {
    let number = text.parse().ok().filter(|number| *number <= most && !text.starts_with('+'));
    number.ok_or_else(|| format!("{what}: '{text}' is not a number up to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_capped_and_weights_decide_how_often_a_status_comes() {
        assert_eq!(bounded_time("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(bounded_time("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(bounded_time("10"), Ok(MAX_CLIENT_DELAY));
        for bad in ["10.1", "", "s", "-1", "1h", "1e3", "nan", "inf", "99999999999999999999999"] {
            assert!(bounded_time(bad).is_err(), "{bad}");
        }
        assert_eq!(bounded("16777216", "bytes", MAX_CLIENT_BYTES), Ok(MAX_CLIENT_BYTES));
        for bad in ["16777217", "", "-1", "+1", "1.0", "0x10"] {
            assert!(bounded(bad, "bytes", MAX_CLIENT_BYTES).is_err(), "{bad}");
        }
        let mut httpbin = Httpbin::new(1);
        let mut good = 0;
        for _ in 0..1000 {
            good += u32::from(httpbin.status("200:9,503:1").unwrap().status == 200);
        }
        assert!((850..950).contains(&good), "{good}");
        assert_eq!(httpbin.status("418").unwrap().status, 418);
        for bad in ["", "100", "600", "200:", "200:-1", "200,,", "a", "200:nan"] {
            assert!(httpbin.status(bad).is_err(), "{bad}");
        }
    }
}
