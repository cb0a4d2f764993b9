//! `--once`: sends one request and prints heads, body, time of each step.

mod decoded;

use super::script::Makers;
use super::{Args, http::Flags, options};
use crate::cmd::stdout;
use brunt_inputs::address;
use brunt_load::http::{Expect, Http};
use brunt_load::once::{Exchange, Reply};
use brunt_results::secrets::is_secret;
use brunt_results::verdict::FailureCause;
use brunt_results::{Error, ExitCode, WrongReply};
use brunt_view::format::{bytes, time};
use std::fmt::Write;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Bytes of a body that are shown unless all are asked for.
const SHOWN: usize = 1024;

pub(super) fn run(args: &Args) -> Result<ExitCode, Error> {
    let allowed = brunt_meter::environment::cpus_allowed();
    let (mut options, notes) = options::options_of(args, &args.spec, allowed.as_deref())?;
    args.print_notes(&notes);
    args.server.wait(&options, &AtomicBool::new(false), args.quiet)?;
    let looked_up = Flags(&args.spec).proxy_url().or_else(|| args.spec.urls.first().cloned());
    let lookup = looked_up.map_or(Ok(Duration::ZERO), |url| address::lookup_time(&url))?;
    args.script.install(&args.spec, &mut options, Makers::Here)?;
    let exchanges = brunt_load::once::run(&options).map_err(options::error_of)?;
    let differences = args.spec.urls.iter().filter_map(|url| address::difference(url));
    let differences: String =
        differences.map(|(typed, sent)| format!("{} is sent as {}\n\n", printable(&typed), printable(&sent))).collect();
    stdout::print(&(differences + &pages(&exchanges, lookup, args.verbose, args.spec.direct.location)))?;
    let http = options.target.http();
    exchanges
        .iter()
        .find_map(|exchange| failure(exchange, http))
        .map_or(Ok(ExitCode::Good), |why| Err(Error::Failed(why)))
}

/// The pages of redirects and of the reply to which they lead. The name of their host is looked up once.
fn pages(exchanges: &[Exchange], lookup: Duration, all: bool, follows: bool) -> String {
    let lookups = std::iter::once(Some(lookup)).chain(std::iter::repeat(None));
    let pages = exchanges.iter().zip(lookups).map(|(exchange, lookup)| page(exchange, lookup, all, follows));
    pages.collect::<Vec<_>>().join("\n")
}

/// Formats the exchange, ending in a newline. `lookup` is the time it took to look up the host's name. `all` shows whole
/// bodies. `follows`: redirects are followed, or are errors.
fn page(exchange: &Exchange, lookup: Option<Duration>, all: bool, follows: bool) -> String {
    let mut page = String::new();
    if exchange.replies.iter().any(|reply| !reply.head.is_empty()) {
        // Of several requests in one write, the first.
        let end = exchange.request.windows(4).position(|window| window == b"\r\n\r\n");
        heads(&mut page, '>', &exchange.request[..end.map_or(exchange.request.len(), |at| at + 4)]);
        for reply in &exchange.replies {
            heads(&mut page, '<', &reply.head);
            body(&mut page, reply, all, follows);
        }
        page.push('\n');
    }
    let mut step = |name: &str, at: Option<Duration>, what: &str| {
        let at = at.map_or("-".to_owned(), |at| time(at.as_secs_f64() * 1e6));
        let _ = writeln!(page, "{}", format!("  {name:<11} {at:>9}  {what}").trim_end());
    };
    if lookup.is_some() {
        step("lookup", lookup, "");
    }
    step("connected", exchange.connected, &exchange.address);
    if let Some((at, host)) = &exchange.tunnelled {
        step("tunnel", Some(*at), host);
    }
    if let Some((at, info)) = &exchange.handshake {
        step("TLS", Some(*at), &info.protocol);
    }
    let size = exchange.sent.map_or(String::new(), |_| bytes(exchange.request.len() as f64));
    step("sent", exchange.sent, &size);
    step("first byte", exchange.first_byte, "");
    step(
        "done",
        exchange.done,
        &exchange.replies.iter().map(|reply| received(reply, exchange.done.is_some())).collect::<Vec<_>>().join("; "),
    );
    for rule in exchange.replies.iter().flat_map(|reply| &reply.lenient) {
        let _ = writeln!(page, "  lenient                {rule}");
    }
    page
}

/// The lines of heads behind `mark`, without secrets.
fn heads(page: &mut String, mark: char, message: &[u8]) {
    for line in String::from_utf8_lossy(message).lines() {
        let secret = line.split_once(':').filter(|(name, _)| is_secret(name));
        let shown = secret.map_or_else(|| printable(line), |(name, _)| format!("{name}: [hidden]"));
        let _ = writeln!(page, "{}", format!("{mark} {shown}").trim_end());
    }
}

fn body(page: &mut String, reply: &Reply, all: bool, follows: bool) {
    let (whole, about) = decoded::body(reply);
    let redirect = redirect(reply).filter(|_| !follows);
    for about in redirect.into_iter().chain(about) {
        let _ = writeln!(page, "({})", printable(&about));
    }
    let shown = if all { &whole[..] } else { &whole[..whole.len().min(SHOWN)] };
    for line in String::from_utf8_lossy(shown).lines() {
        let _ = writeln!(page, "{}", printable(line));
    }
    if shown.len() < whole.len() {
        let _ = writeln!(page, "... {} more, which -v shows", bytes((whole.len() - shown.len()) as f64));
    }
}

/// What a load does with a redirect.
fn redirect(reply: &Reply) -> Option<String> {
    let status = reply.status.filter(|status| (300..400).contains(status) && *status != 304)?;
    let place = reply.field("location").filter(|place| !place.is_empty())?;
    Some(format!(
        "{status} is a redirect to {place}: -L follows it on the same host and port, else load where it leads"
    ))
}

/// Control characters escaped: they could change the terminal.
fn printable(line: &str) -> String {
    let escaped = |c: char| if c.is_control() && c != '\t' { c.escape_debug().to_string() } else { c.to_string() };
    line.chars().map(escaped).collect()
}

/// `is_whole`: all replies were complete, so that the end of the connection is the target's.
fn received(reply: &Reply, is_whole: bool) -> String {
    let status = reply.status.map_or(String::new(), |status| format!("status {status}, "));
    let closes = if reply.keeps || !is_whole { "" } else { ", then the target closes the connection" };
    format!("{status}{} of body{closes}", bytes(reply.body.len() as f64))
}

/// Why the exchange is not what the load expects, if so; one line. `http`: the target, if it is one of HTTP.
pub(super) fn failure(exchange: &Exchange, http: Option<&Http>) -> Option<String> {
    let uses_tls = http.map(Http::uses_tls);
    let wrong = exchange.replies.iter().find(|reply| !reply.is_expected);
    let unexpected = wrong.map(|reply| match (http, reply.status) {
        (Some(http), Some(status)) => unexpected(&http.expect, status, reply.body.len() as u64),
        _ => "the reply is not what was sent".to_owned(),
    });
    // The request is empty if the target was not reached.
    let is_shaking_hands = uses_tls == Some(true) && exchange.sent.is_none() && !exchange.request.is_empty();
    let with_remedy = |error: &String| match cause(exchange, error).filter(|_| uses_tls == Some(false)) {
        Some(cause) => format!("{error}; {}", cause.remedy()),
        None if is_shaking_hands && exchange.is_late() => {
            format!("{error} to a TLS handshake: where the port speaks none, use http://")
        }
        None => error.clone(),
    };
    exchange.error.as_ref().map(with_remedy).or(unexpected)
}

/// Which of the flags a reply of this status and length does not meet.
fn unexpected(expect: &Expect, status: u16, length: u64) -> String {
    let (of_body, statuses) = (bytes(length as f64), &expect.statuses);
    match (expect.length, &expect.body) {
        _ if !statuses.contains(status) => {
            format!("status {status} with {of_body} of body: {statuses} is expected (--expect-status)")
        }
        (Some(wanted), _) if wanted != length => {
            format!("a body of {length} B: one of {wanted} B is expected (--expect-length)")
        }
        (_, Some(text)) => {
            let text = printable(&String::from_utf8_lossy(text));
            format!("a body of {of_body} without '{text}' in it, which --expect-body wants")
        }
        _ => format!("status {status} with {of_body} of body: a load counts it as failed"),
    }
}

/// What is known of why a request over HTTP without TLS got no reply, as the load judges it.
fn cause(exchange: &Exchange, error: &str) -> Option<FailureCause> {
    match exchange.first_byte {
        _ if !exchange.replies.is_empty() => None,
        Some(_) => WrongReply::cause(error),
        None => (exchange.sent.is_some() && !exchange.is_late()).then_some(FailureCause::HungUp),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange() -> Exchange {
        let us = |us| Some(Duration::from_micros(us));
        let reply = Reply {
            status: Some(200),
            head: b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nSet-Cookie: id=7\r\n\r\n".to_vec(),
            body: b"hi\x1b[0m\n".to_vec(),
            lenient: vec!["bare LF (RFC 9112 2.2)"],
            is_expected: true,
            keeps: true,
        };
        Exchange {
            address: "127.0.0.1:80".to_owned(),
            connected: us(80),
            request: b"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic c2VjcmV0\r\n\r\n".to_vec(),
            sent: us(90),
            first_byte: us(1500),
            done: us(1600),
            replies: vec![reply],
            ..Exchange::default()
        }
    }

    #[test]
    fn a_page_in_full() {
        let expected = "\
> GET / HTTP/1.1
> Host: a
> Authorization: [hidden]
>
< HTTP/1.1 100 Continue
<
< HTTP/1.1 200 OK
< Set-Cookie: [hidden]
<
hi\\u{1b}[0m

  lookup           0 ns
  connected     80.0 us  127.0.0.1:80
  sent          90.0 us  58 B
  first byte    1.50 ms
  done          1.60 ms  status 200, 7 B of body
  lenient                bare LF (RFC 9112 2.2)
";
        assert_eq!(page(&exchange(), Some(Duration::ZERO), false, false), expected);
        assert_eq!(failure(&exchange(), None), None);
    }

    #[test]
    fn what_is_missing_is_a_dash_and_long_bodies_are_cut() {
        let mut exchange = exchange();
        exchange.replies[0].body = vec![b'x'; SHOWN + 24];
        (exchange.replies[0].is_expected, exchange.replies[0].keeps, exchange.done) = (false, false, None);
        let shown = page(&exchange, None, false, false);
        assert!(shown.contains("\n... 24 B more, which -v shows\n"), "{shown}");
        assert!(
            shown.contains("  done                -  status 200, 1.02 KiB of body\n") && !shown.contains("closes"),
            "{shown}"
        );
        exchange.done = exchange.first_byte;
        assert!(page(&exchange, None, false, false).contains("1.02 KiB of body, then the target closes"));
        assert!(page(&exchange, None, true, false).contains(&"x".repeat(SHOWN + 24)));
        assert_eq!(failure(&exchange, None).unwrap(), "the reply is not what was sent");
        exchange.error = Some("no complete reply within 2s".to_owned());
        assert_eq!(failure(&exchange, None), exchange.error);
    }

    #[test]
    fn the_flag_that_a_reply_does_not_meet_is_named_with_its_value() {
        let mut expect = Expect { length: Some(3), body: Some(b"a\x1b".to_vec()), ..Expect::default() };
        let first = unexpected(&expect, 404, 9);
        assert_eq!(first, "status 404 with 9 B of body: 200-399 is expected (--expect-status)");
        let second = unexpected(&expect, 200, 9);
        assert_eq!(second, "a body of 9 B: one of 3 B is expected (--expect-length)");
        expect.statuses = "404,5xx".parse().unwrap();
        let third = unexpected(&expect, 200, 3);
        assert_eq!(third, "status 200 with 3 B of body: 404, 500-599 is expected (--expect-status)");
        let fourth = unexpected(&expect, 404, 3);
        assert_eq!(fourth, "a body of 3 B without 'a\\u{1b}' in it, which --expect-body wants");
    }
}
