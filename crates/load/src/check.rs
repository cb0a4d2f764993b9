//! Whether what is asked for can be done at all, before anything is opened.

use crate::{
    engine::coordinator::port_range,
    error::LoadError,
    http::Pipeline,
    local_addrs::LocalAddrs,
    options::{Endpoint, Options, Target},
};
use std::{
    net::{SocketAddr, UdpSocket},
    time::Duration,
};

/// No machine sends more small messages than this; a schedule beyond it would only be a backlog.
const HIGHEST_RATE: f64 = 10_000_000.0;
/// Longest value of the histograms, beyond any useful timeout.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);
/// Time is counted in nanoseconds of 64 bits; this leaves room for sums.
const LONGEST_RUN: Duration = Duration::from_secs(365 * 24 * 3600);
/// Connections carry their number in 32 bits of the stamp.
const MOST_CONNECTIONS: usize = 100_000_000;

/// Of more sources than this the first ones speak for the others: a network can have millions.
const SOURCES_TRIED: u64 = 4096;

/// Refuses options that contradict themselves, naming the value and what would do.
pub fn options(options: &Options) -> Result<(), LoadError> {
    let Options { connections, threads, duration, warmup, timeout, .. } = options;
    let refuse = |text: String| Err(LoadError::Options(text));
    if *connections == 0 || *connections > MOST_CONNECTIONS {
        return refuse(format!(
            "{connections} connections cannot be opened: give -c a number from 1 to {MOST_CONNECTIONS}"
        ));
    }
    if threads.is_empty() {
        return refuse("no load thread was asked for: give -t at least 1".to_owned());
    }
    if threads.len() > *connections {
        return refuse(format!(
            "{} threads cannot share {connections} connections: lower -t or raise -c, each thread needs one",
            threads.len()
        ));
    }
    match &options.target {
        Target::Echo { size: 0, .. } => {
            return refuse("a message of 0 bytes has no reply: give --size at least 1B".to_owned());
        }
        Target::Http(http) => match (http.pipeline(), options.rate) {
            (Pipeline::Batches(requests @ 2..), Some(rate)) => {
                return refuse(format!(
                    "{requests} requests in one write cannot be sent at {rate} per second: each request of an open loop has a time of its own"
                ));
            }
            (Pipeline::Single(depth @ 2..), None) => {
                return refuse(format!(
                    "{depth} requests with times of their own on a connection need a rate: give -R"
                ));
            }
            _ => (),
        },
        Target::Echo { .. } => (),
    }
    if duration.is_zero() || *duration > LONGEST_RUN || *warmup > LONGEST_RUN {
        return refuse(format!(
            "a run of {duration:?} after {warmup:?} of warm-up cannot be made: give -d and --warmup a time up to a year, and -d more than 0s"
        ));
    }
    if *timeout < Duration::from_millis(1) || *timeout > LONGEST_TIMEOUT {
        return refuse(format!("a timeout of {timeout:?} cannot be kept: give --timeout a time from 1ms to 1h"));
    }
    if options.requests == Some(0) {
        return refuse("0 requests make no result: give -n at least 1, or leave it out".to_owned());
    }
    let addresses = options.target.endpoints();
    if addresses.is_empty() || *connections < addresses.len() {
        return refuse(format!(
            "{connections} connections for {} hosts: each connection goes to one host, so raise -c or name fewer hosts",
            addresses.len()
        ));
    }
    if let Some(sources) = &options.sources {
        if let Some(Endpoint::Unix(_)) = addresses.first() {
            return refuse("--source means nothing with unix://: leave it out".to_owned());
        }
        let mut ips = addresses.iter().filter_map(Endpoint::ip);
        if let Some((stranger, address)) = ips.find_map(|to| Some((sources.stranger(to.ip())?, to))) {
            return refuse(format!(
                "nothing connects from {stranger} to {address}: give --source addresses of one kind"
            ));
        }
        for number in 0..sources.count().min(*connections as u64).min(SOURCES_TRIED) {
            let source = sources.nth(number);
            if let Err(error) = UdpSocket::bind(SocketAddr::new(source, 0)) {
                return refuse(format!(
                    "no connection can come from {source} ({error}): give --source addresses that this machine has"
                ));
            }
        }
    }
    if let Some((first, last)) = port_range()
        && let Some(text) = too_few_ports(options, u64::from(last.saturating_sub(first)) + 1)
    {
        return refuse(text);
    }
    for (flag, rate) in [("-R", options.rate), ("--connect-rate", options.connect_rate)] {
        if let Some(rate) = rate
            && !(rate > 0.0 && rate <= HIGHEST_RATE)
        {
            return refuse(format!(
                "a rate of {rate} per second cannot be kept: give {flag} a number above 0 and up to 10M"
            ));
        }
    }
    Ok(())
}

/// What to say when so many ports of each source address are not enough for the connections.
fn too_few_ports(options: &Options, ports: u64) -> Option<String> {
    let connections = options.connections as u64;
    let addresses: Vec<SocketAddr> = options.target.endpoints().iter().filter_map(Endpoint::ip).collect();
    let sources = options.sources.as_ref().map_or(1, LocalAddrs::count);
    let room = ports.saturating_mul(sources).saturating_mul(addresses.len() as u64);
    if addresses.is_empty() {
        return None;
    }
    let needed = connections.div_ceil(ports * addresses.len() as u64);
    let hint =
        if addresses.iter().all(|to| to.ip().is_loopback() && to.is_ipv4()) { ", such as 127.0.0.0/8" } else { "" };
    (connections > room).then(|| {
        format!(
            "{connections} connections need {needed} source addresses of {ports} ports each, and there {} {sources}: give --source more of them{hint}, widen net.ipv4.ip_local_port_range, or lower -c",
            if sources == 1 { "is" } else { "are" }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Arrival;

    fn at(address: &str) -> Endpoint {
        address.parse::<SocketAddr>().unwrap().into()
    }

    fn good() -> Options {
        Options {
            url: "tcp://127.0.0.1:7100".to_owned(),
            target: Target::Echo { endpoint: at("127.0.0.1:7100"), size: 64 },
            connections: 4,
            threads: vec![None, None],
            duration: Duration::from_secs(1),
            warmup: Duration::ZERO,
            requests: None,
            rate: None,
            arrival: Arrival::Constant,
            timeout: Duration::from_secs(1),
            connect_rate: None,
            sources: None,
            verify: true,
            seed: 1,
        }
    }

    #[test]
    fn each_impossible_value_is_named_with_what_would_do() {
        let good = good();
        assert!(options(&good).is_ok());
        type Change = fn(&mut Options);
        let changes: [(&str, Change); 12] = [
            ("-c", |o| o.connections = 0),
            ("-t", |o| o.threads.clear()),
            ("5 threads", |o| o.threads = vec![None; 5]),
            ("--size", |o| o.target = Target::Echo { endpoint: at("127.0.0.1:1"), size: 0 }),
            ("-d", |o| o.duration = Duration::ZERO),
            ("--timeout", |o| o.timeout = Duration::from_micros(1)),
            ("-n", |o| o.requests = Some(0)),
            ("-R", |o| o.rate = Some(f64::NAN)),
            ("20000000", |o| o.rate = Some(2e7)),
            ("--connect-rate", |o| o.connect_rate = Some(0.0)),
            // For documentation alone (RFC 5737): no machine has it.
            ("from 192.0.2.1 (", |o| o.sources = Some("127.0.0.1,192.0.2.1".parse().unwrap())),
            ("from ::1 to 127.0.0.1:7100", |o| o.sources = Some("::1".parse().unwrap())),
        ];
        for (named, change) in changes {
            let mut bad = good.clone();
            change(&mut bad);
            let error = options(&bad).unwrap_err().to_string();
            assert!(error.contains(named) && !error.contains('\n'), "{error}");
        }
    }
    #[test]
    fn ports_are_counted_by_source_and_target() {
        let mut options = good();
        (options.connections, options.sources) = (28_232, None);
        assert_eq!(too_few_ports(&options, 28_232), None);
        options.connections = 1_000_000;
        let text = too_few_ports(&options, 28_232).unwrap();
        assert!(text.starts_with("1000000 connections need 36 source addresses of 28232 ports"), "{text}");
        assert!(text.contains("there is 1: give --source more of them, such as 127.0.0.0/8"), "{text}");
        options.sources = Some("127.0.0.1-127.0.0.35".parse().unwrap());
        assert!(too_few_ports(&options, 28_232).unwrap().contains("there are 35"));
        options.sources = Some("127.0.0.0/8".parse().unwrap());
        assert_eq!(too_few_ports(&options, 28_232), None);
    }
}
