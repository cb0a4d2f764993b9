//! Checks of the options, before anything is opened.

use crate::options::{Options, Target};
use crate::schedule::Arrival;
use crate::{error::LoadError, http::Pipeline, local_addrs::LocalAddrs};
use brunt_results::drift::MIN_STEADY;
use brunt_runtime::net::Address;
use brunt_spec::Direct;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// No machine sends more small messages per second; a schedule beyond it would only be a backlog.
const MAX_RATE: f64 = 10_000_000.0;
/// Longest value of the histograms, beyond any useful timeout.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);
/// Intervals of counts.
const MIN_COUNTS: Duration = Duration::from_millis(10);
const MAX_COUNTS: Duration = Duration::from_secs(1);
/// Times are 64-bit nanoseconds; this leaves room for sums.
const MAX_RUN: Duration = Duration::from_secs(365 * 24 * 3600);
/// An echo message has 32 bits for the number of its connection.
const MAX_CONNECTIONS: usize = 100_000_000;
/// Source addresses that are tried; a network can have millions.
const SOURCES_TRIED: u64 = 4096;

/// Fails with a formatted message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(LoadError::Options(format!($($message)+)));
        }
    };
}

/// Rejects options that contradict each other, are out of range, or name addresses that this machine does not have, naming the value
/// and the remedy.
pub fn options(options: &Options) -> Result<(), LoadError> {
    settings(options)?;
    addresses(options)
}

/// The same of a load that other machines make, which have the addresses.
pub fn settings(options: &Options) -> Result<(), LoadError> {
    let Options { connections, threads, duration, warmup, steady, timeout, requests, .. } = options;
    ensure!(
        (1..=MAX_CONNECTIONS).contains(connections),
        "{connections} connections cannot be opened: give -c a number from 1 to {MAX_CONNECTIONS}"
    );
    ensure!(!threads.is_empty(), "no load thread was asked for: give -t at least 1");
    ensure!(
        threads.len() <= *connections,
        "{} threads cannot share {connections} connections: lower -t or raise -c, each thread needs one",
        threads.len()
    );
    requests_fit(&options.target, options.rate)?;
    redirects_fit(options)?;
    options.direct.check().map_err(LoadError::Options)?;
    connection_stages(options)?;
    open_loop_only(options)?;
    ensure!(
        options.replay.is_none() || options.rate.is_some() && options.arrival == Arrival::Constant,
        "recorded times are an open loop of their own: leave --arrival out"
    );
    ensure!(
        !duration.is_zero() && *duration <= MAX_RUN && *warmup <= MAX_RUN,
        "a run of {duration:?} after {warmup:?} of warm-up cannot be made: give -d and --warmup a time up to a year, and -d more than 0s"
    );
    ensure!(
        !steady || *warmup >= MIN_STEADY,
        "a warm-up of at most {warmup:?} is too short to be judged: give --warmup at least {MIN_STEADY:?}, or leave out --steady"
    );
    ensure!(
        (Duration::from_millis(1)..=MAX_TIMEOUT).contains(timeout),
        "a timeout of {timeout:?} cannot be kept: give --timeout a time from 1ms to 1h"
    );
    ensure!(*requests != Some(0), "0 requests make no result: give -n at least 1, or leave it out");
    ensure!(
        requests.is_none() || !steady || options.rate.is_none(),
        "{} requests at a rate begin after a warm-up of a given length: leave --steady out, and give --warmup if there is to be one",
        requests.unwrap_or_default()
    );
    if let Some(counts) = &options.counts {
        let every = counts.every;
        ensure!(
            (MIN_COUNTS..=MAX_COUNTS).contains(&every),
            "counts every {every:?} cannot be made: give --counts-every a time from 10ms to 1s"
        );
    }
    for (flag, per_second) in [("-R", options.rate), ("--connect-rate", options.connect_rate)] {
        per_second.map_or(Ok(()), |per_second| rate(flag, per_second))?;
    }
    Ok(())
}

pub fn rate(flag: &str, per_second: f64) -> Result<(), LoadError> {
    ensure!(
        per_second > 0.0 && per_second <= MAX_RATE,
        "a rate of {per_second} per second cannot be kept: give {flag} a number above 0 and up to 10M"
    );
    Ok(())
}

/// Rejects numbers of connections that change where they cannot.
fn connection_stages(options: &Options) -> Result<(), LoadError> {
    let Options { connection_stages: stages, connections, rate, .. } = options;
    let counts = || stages.iter().flat_map(|stage| [stage.from, stage.to]);
    ensure!(
        stages.is_empty() || rate.is_none(),
        "the number of connections changes in a closed loop alone: leave the rate out"
    );
    ensure!(
        counts().all(|count| count >= 1.0 && count <= *connections as f64),
        "stages of connections have from 1 to {connections}, which is their most"
    );
    Ok(())
}

/// Rejects settings of a schedule where there is none.
fn open_loop_only(options: &Options) -> Result<(), LoadError> {
    let Direct { spread, send_tick, .. } = options.direct;
    let given = [
        spread.map(|spread| format!("--spread {}", spread.word())),
        send_tick.map(|tick| format!("--send-tick {tick}")),
    ];
    match given.into_iter().flatten().next().filter(|_| options.rate.is_none()) {
        None => Ok(()),
        Some(given) => Err(LoadError::Options(format!(
            "{given}: each connection of a closed loop sends when it has its reply; give -R, or leave it out"
        ))),
    }
}

/// Rejects the length of a slice.
pub fn slice(lead: Duration, window: Duration) -> Result<(), LoadError> {
    ensure!(
        !window.is_zero() && window <= MAX_RUN && lead <= MAX_RUN,
        "a slice of {window:?} after a lead of {lead:?} cannot be made: give a window of more than 0s, and both up to a year"
    );
    Ok(())
}

/// Where a redirect leads is sent next on its connection, in place of what was to come.
fn redirects_fit(options: &Options) -> Result<(), LoadError> {
    let Direct { location, max_redirs, .. } = options.direct;
    ensure!(
        location || max_redirs.is_none(),
        "--max-redirs limits redirects that are followed: add -L, or leave it out"
    );
    let Some(http) = options.target.http().filter(|_| location) else { return Ok(()) };
    ensure!(!http.is_scripted(), "a script decides itself what follows a reply: leave -L out");
    ensure!(
        http.pipeline() == Pipeline::NONE,
        "the requests of a pipeline are sent before it is known where a redirect leads: leave -L or --pipeline out"
    );
    ensure!(options.replay.is_none(), "a log has the requests to which its redirects led: leave -L out with --replay");
    Ok(())
}

fn requests_fit(target: &Target, rate: Option<f64>) -> Result<(), LoadError> {
    match target {
        Target::Echo { size, reuse, .. } => {
            ensure!(*size > 0, "a message of 0 bytes has no reply: give --size at least 1B");
            ensure!(*reuse != Some(0), "--reuse 0: a connection carries at least 1 request");
        }
        Target::Http(http) => match (http.pipeline(), rate) {
            (Pipeline::Batches(requests), Some(rate)) => ensure!(
                requests < 2,
                "{requests} requests in one write cannot be sent at {rate} per second: each request of an open loop has a time of its own"
            ),
            (Pipeline::Single(depth), None) => {
                ensure!(depth < 2, "{depth} requests with times of their own on a connection need a rate: give -R")
            }
            _ => (),
        },
    }
    Ok(())
}

/// Checks that the hosts can be shared out, and that there are source addresses and ports for all connections.
fn addresses(options: &Options) -> Result<(), LoadError> {
    let (connections, targets) = (options.connections, options.target.addresses());
    ensure!(
        (1..=connections).contains(&targets.len()),
        "{connections} connections for {} hosts: each connection goes to one host, so raise -c or name fewer hosts",
        targets.len()
    );
    if let Some(sources) = &options.sources {
        let protocol = options.target.protocol();
        ensure!(targets[0].tcp().is_some(), "--source means nothing with {protocol}://: leave it out");
        for to in targets.iter().filter_map(Address::tcp) {
            if let Some(from) = sources.of_other_family(to.ip()) {
                let text = format!("nothing connects from {from} to {to}: give --source addresses of one kind");
                return Err(LoadError::Options(text));
            }
        }
        for number in 0..sources.count().min(connections as u64).min(SOURCES_TRIED) {
            let source = sources.nth(number);
            UdpSocket::bind(SocketAddr::new(source, 0)).map_err(|error| {
                LoadError::Options(format!(
                    "no connection can come from {source} ({error}): give --source addresses that this machine has"
                ))
            })?;
        }
    }
    let ports = port_range().map(|(first, last)| u64::from(last.saturating_sub(first)) + 1);
    ports.map_or(Ok(()), |ports| enough_ports(options, ports))
}

/// Checks that there are ports for all connections, `ports` for each pair of source and target address.
fn enough_ports(options: &Options, ports: u64) -> Result<(), LoadError> {
    let connections = options.connections as u64;
    let targets: Vec<SocketAddr> = options.target.addresses().iter().filter_map(Address::tcp).collect();
    if targets.is_empty() {
        return Ok(());
    }
    let sources = options.sources.as_ref().map_or(1, LocalAddrs::count);
    let per_source = ports * targets.len() as u64;
    let loopback = targets.iter().all(|to| to.ip().is_loopback() && to.is_ipv4());
    if connections <= per_source.saturating_mul(sources) {
        return Ok(());
    }
    Err(LoadError::Sources(format!(
        "{connections} connections need {} source addresses of {ports} ports each, and there {} {sources}: give --source more of them{}, widen net.ipv4.ip_local_port_range, or lower -c",
        connections.div_ceil(per_source),
        if sources == 1 { "is" } else { "are" },
        if loopback { ", such as 127.0.0.0/8" } else { "" }
    )))
}

/// The range from which the kernel takes local ports.
pub(crate) fn port_range() -> Option<(u16, u16)> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut numbers = text.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    fn echo(size: usize) -> Target {
        Target::Echo { address: "127.0.0.1:7100".parse::<SocketAddr>().unwrap().into(), size, reuse: None }
    }

    pub fn valid() -> Options {
        Options {
            connections: 4,
            threads: vec![None, None],
            ..Options::new("tcp://127.0.0.1:7100".to_owned(), echo(64))
        }
    }

    #[test]
    fn an_error_names_the_value_and_the_remedy() {
        assert!(options(&valid()).is_ok());
        type Change = fn(&mut Options);
        let changes: [(&str, Change); 13] = [
            ("-c", |o| o.connections = 0),
            ("-t", |o| o.threads.clear()),
            ("5 threads", |o| o.threads = vec![None; 5]),
            ("--size", |o| o.target = echo(0)),
            ("-d", |o| o.duration = Duration::ZERO),
            ("--timeout", |o| o.timeout = Duration::from_micros(1)),
            ("-n", |o| o.requests = Some(0)),
            ("--steady", |o| {
                (o.requests, o.rate, o.steady, o.warmup) = (Some(5), Some(1.0), true, MIN_STEADY);
            }),
            ("-R", |o| o.rate = Some(f64::NAN)),
            ("20000000", |o| o.rate = Some(2e7)),
            ("--connect-rate", |o| o.connect_rate = Some(0.0)),
            // Reserved for documentation (RFC 5737): no machine has it.
            ("from 192.0.2.1 (", |o| o.sources = Some("127.0.0.1,192.0.2.1".parse().unwrap())),
            ("from ::1 to 127.0.0.1:7100", |o| o.sources = Some("::1".parse().unwrap())),
        ];
        for (named, change) in changes {
            let mut invalid = valid();
            change(&mut invalid);
            let error = options(&invalid).unwrap_err().to_string();
            assert!(error.contains(named) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn ports_are_counted_by_source_and_target() {
        const MILLION: usize = 1_000_000;
        let one = [
            "1000000 connections need 36 source addresses of 28232 ports",
            "there is 1: give --source more of them, such as 127.0.0.0/8",
        ];
        for (connections, sources, words) in [
            (28_232, None, None),
            (MILLION, None, Some(one)),
            (MILLION, Some("127.0.0.1-127.0.0.35"), Some(["there are 35", ""])),
            (MILLION, Some("127.0.0.0/8"), None),
        ] {
            let sources = sources.map(|text| text.parse().unwrap());
            let error = enough_ports(&Options { connections, sources, ..valid() }, 28_232).err().map(|e| e.to_string());
            assert_eq!(error.is_some(), words.is_some(), "{error:?}");
            let contains = |word| error.as_ref().is_some_and(|error| error.contains(word));
            assert!(words.into_iter().flatten().all(contains), "{error:?}");
        }
    }
}
