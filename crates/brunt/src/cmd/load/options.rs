//! Translates flags into generator options and rejects invalid combinations.
//!
//! Each error is one line that names the flags, their values and the remedy. Typed values are never adjusted; only
//! defaults depend on other flags.

use super::replay;
use super::stages::{self, Stages};
use super::{Args, flags, names, target, usage};
use brunt_inputs::{address, replay::Replay};
use brunt_load::{Arrival, Options, Stage};
use brunt_meter::doctor::{self, Facts};
use brunt_results::stages::{ConnectionRange, Range, RateRange};
use brunt_results::{Cores, Count, Error, Rate, Span, drift};
use brunt_runtime::net::Address;
use brunt_view::format::plural;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Default number of connections, as in wrk.
const CONNECTIONS: u64 = 10;
/// Default measured window, as in wrk.
const DURATION: Duration = Duration::from_secs(10);
/// Time limit of runs that end by request count.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
const MOST_THREADS: u64 = 1024;
const MOST_CONNECTIONS: u64 = 100_000_000;
/// No machine sends or connects faster.
const MOST_RATE: Rate = Rate(10e6);
/// Longest warm-up with --steady.
const STEADY_LIMIT: Duration = Duration::from_secs(60);

/// Builds the options; `allowed` is the process's CPU list as printed by the kernel.
pub(super) fn options(args: &Args, allowed: Option<&str>) -> Result<Options, Error> {
    options_of(args, &args.spec.urls, allowed).map(|(options, _)| options)
}

/// The same for some of the URLs, and notes for the user.
pub(super) fn options_of(args: &Args, urls: &[String], allowed: Option<&str>) -> Result<(Options, Vec<String>), Error> {
    let url = urls.join(" ");
    let urls = urls.iter().map(|url| address::parse(url)).collect::<Result<Vec<_>, _>>()?;
    let threads = threads(args, allowed)?;
    let (fewest, connections) = connections(args, threads.len() as u64)?;
    let requests = args.count()?;
    let replay = replay::of(args)?;
    let (duration, warmup) = times(args, requests, replay.as_ref())?;
    let Stages { rate: stages, connections: connection_stages } = stages::of(args, duration)?;
    let rate = match &replay {
        Some(replay) => Some(replay.rate(duration, warmup)?),
        None if stages.is_empty() => rate(args, threads.len() as f64)?,
        None => rate(args, threads.len() as f64)?.or_else(|| Some(Stage::mean(&stages))),
    };
    if let Some(pid) = args.server_pid.filter(|_| args.no_meter) {
        return usage(format!("--server-pid {pid} and --no-meter: give one of them"));
    }
    if requests == Some(Count(0)) {
        return usage("-n 0: at least 1 request is needed");
    }
    // The default differs from run to run so that repeats draw different arrivals; it is recorded in the result.
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
    let seed = args.spec.seed.unwrap_or_else(clock);
    let (times, recorded) = replay.map(|replay| (replay.times, replay.requests)).unzip();
    let (target, notes) = target::of(args, &urls, recorded, rate.is_some(), seed)?;
    let url = if url.is_empty() { target::hosts(&target) } else { url };
    let hosts = target.addresses().len() as u64;
    // A script gives its names during the load.
    if !args.script.is_given() {
        names::check(&args.fail_if, target.names())?;
    }
    if fewest < hosts {
        return usage(format!("-c {fewest} is less than the {hosts} hosts: each needs a connection; raise -c"));
    }
    let options = Options {
        url,
        target,
        connections: connections as usize,
        connection_stages,
        threads,
        backend: args.spec.backend,
        group: None,
        duration,
        warmup,
        steady: args.spec.steady,
        requests: requests.map(|count| count.0),
        rate,
        stages,
        replay: times,
        arrival: args.spec.arrival.unwrap_or(Arrival::Constant),
        timeout: args.spec.timeout(),
        connect_rate: args.spec.connect_rate.map(|rate| rate.0),
        sources: flags::parsed("--source", args.spec.source.as_ref())?,
        direct: args.spec.direct.clone(),
        seed,
        counts: args.counting.options()?,
        percentiles: args.stored_percentiles(),
    };
    Ok((options, notes))
}

/// Load threads of each generator process; several processes if the connections exceed the limit of open files.
pub(super) fn layout(args: &Args, options: &Options) -> Result<Vec<Vec<Option<usize>>>, Error> {
    let connections = Count(options.connections as u64);
    let layout = match brunt_load::processes::layout(options) {
        Ok(layout) if layout.len() == 1 => return Ok(layout),
        layout => layout,
    };
    // This machine holds both ends of local connections.
    let ends = if options.target.addresses().iter().any(is_local) { 2 } else { 1 };
    if let Some(why) = doctor::refusal(&Facts::of_limits(), connections.0, ends) {
        return Err(Error::Failed(format!("-c {connections} exceeds the limits of this machine: {why}")));
    }
    let layout = layout.map_err(|error| Error::Failed(error.to_string()))?;
    let processes = layout.len();
    let alone = |flag: &str, why: &str| {
        usage(format!("{flag}: {why}, and -c {connections} takes {processes} processes; leave {flag} out or lower -c"))
    };
    if options.requests.is_some() {
        return alone("-n", "requests are counted within one process; use -d");
    }
    if args.calibrate {
        return alone("--calibrate", "the calibration is that of one process");
    }
    Ok(layout)
}

fn is_local(address: &Address) -> bool {
    address.tcp().is_none_or(|address| brunt_meter::listener::is_local(address.ip()))
}

/// A note on more threads than cores that they may run on, where these are known.
pub(super) fn too_many_threads(threads: usize, allowed: Option<&str>) -> Option<String> {
    let cores = allowed?.parse::<Cores>().ok()?.count();
    (threads > cores).then(|| {
        format!(
            "-t {threads} on {}: threads that wait for a core send late; -t {cores} is enough",
            plural(cores as u64, "core")
        )
    })
}

fn threads(args: &Args, allowed: Option<&str>) -> Result<Vec<Option<usize>>, Error> {
    match (args.spec.threads, &args.spec.cores) {
        (Some(Count(0)), _) => usage("-t 0: at least 1 thread is needed"),
        (Some(count), _) if count.0 > MOST_THREADS => usage(format!("-t {count}: at most {MOST_THREADS} threads")),
        (Some(count), Some(cores)) if !count.0.is_multiple_of(cores.count() as u64) => usage(format!(
            "-t {count} and --cores {cores}, which names {}: each core gets as many threads; leave -t out for one",
            cores.count()
        )),
        (count, Some(cores)) => {
            let each = count.map_or(1, |count| count.0 as usize / cores.count());
            let allowed: Option<Cores> = allowed.and_then(|list| list.parse().ok());
            match allowed.filter(|allowed| cores.0.iter().any(|core| !allowed.0.contains(core))) {
                Some(allowed) => usage(format!("--cores {cores}: this process may run on {allowed} only")),
                None => Ok(cores.0.iter().copied().map(Some).collect::<Vec<_>>().repeat(each)),
            }
        }
        (Some(count), None) => Ok(vec![None; count.0 as usize]),
        (None, None) => Ok(vec![None]),
    }
}

/// The fewest and the most connections.
fn connections(args: &Args, threads: u64) -> Result<(u64, u64), Error> {
    let of = |range: ConnectionRange, flag| (range.lowest().0, range.highest().0, flag);
    let staged = stages::connections(&args.spec.stages).map(|(range, _)| of(range, "--stages".to_owned()));
    let staged = staged.reduce(|(least, most, flag), (low, high, _)| (least.min(low), most.max(high), flag));
    let (least, most, flag) = match (args.spec.connections, args.spec.connections_per_core) {
        (Some(all), Some(each)) => {
            return usage(format!("-c {all} and --connections-per-core {each}: give one of them"));
        }
        (Some(all), None) => of(all, format!("-c {all}")),
        (None, Some(each)) => {
            let all = Count(each.0.saturating_mul(threads));
            of(Range { from: all, to: all }, format!("--connections-per-core {each}"))
        }
        (None, None) => staged.unwrap_or_else(|| (CONNECTIONS.max(threads), CONNECTIONS.max(threads), String::new())),
    };
    match most {
        _ if least == 0 => usage(format!("{flag}: at least 1 connection is needed")),
        n if n > MOST_CONNECTIONS => usage(format!("{flag}: at most {} connections", Count(MOST_CONNECTIONS))),
        n if n < threads => usage(format!(
            "{flag} is less than the {threads} threads: each thread needs a connection; raise -c or lower -t"
        )),
        n => Ok((least, n)),
    }
}

fn rate(args: &Args, threads: f64) -> Result<Option<f64>, Error> {
    for (flag, rate, times) in [
        ("-R", args.spec.rate.map(RateRange::highest), 1.0),
        ("--stages", stages::highest(&args.spec.stages), 1.0),
        ("--rate-per-core", args.spec.rate_per_core, threads),
        ("--connect-rate", args.spec.connect_rate, 1.0),
    ] {
        if let Some(rate) = rate.filter(|rate| rate.0 * times > MOST_RATE.0) {
            return usage(format!("{flag} {rate}: at most {MOST_RATE} per second"));
        }
    }
    match (args.spec.rate, args.spec.rate_per_core) {
        (Some(all), Some(each)) => usage(format!("--rate {all} and --rate-per-core {each}: give one of them")),
        (None, None) if args.spec.arrival.is_some() && stages::highest(&args.spec.stages).is_none() => {
            usage("--arrival needs a rate: add -R or --rate-per-core, for a closed loop has no schedule")
        }
        (Some(all), None) => Ok(Some((all.from.0 + all.to.0) / 2.0)),
        (None, Some(Rate(each))) => Ok(Some(each * threads)),
        (None, None) => Ok(None),
    }
}

fn times(args: &Args, requests: Option<Count>, replay: Option<&Replay>) -> Result<(Duration, Duration), Error> {
    let recorded = replay.map(|replay| replay::times(replay, args, LONGEST)).transpose()?;
    let duration = match (stages::length(&args.spec.stages), args.spec.duration, requests) {
        _ if recorded.is_some() => recorded.unwrap_or_default().0,
        (Some(length), ..) => length,
        (None, Some(duration), _) => duration.0,
        (None, None, Some(_)) => LONGEST,
        (None, None, None) => DURATION,
    };
    let warmup = match args.spec.warmup {
        _ if recorded.is_some() => recorded.unwrap_or_default().1,
        Some(warmup) => warmup.0,
        None if args.spec.steady => STEADY_LIMIT,
        None => (duration / 5).min(Duration::from_secs(1)),
    };
    let (warmup_flag, least_warmup) =
        if args.spec.steady { ("--steady --warmup", drift::MIN_STEADY) } else { ("--warmup", Duration::ZERO) };
    let ms = Duration::from_millis;
    for (flag, time, least) in
        [("-d", duration, ms(10)), ("-T", args.spec.timeout(), ms(1)), (warmup_flag, warmup, least_warmup)]
    {
        let (time, least, most) = (Span(time), Span(least), Span(LONGEST));
        if time < least {
            return usage(format!("{flag} {time}: it must be at least {least}"));
        }
        if time > most {
            return usage(format!("{flag} {time}: it can be at most {most}"));
        }
    }
    Ok((duration, warmup))
}

#[cfg(test)]
mod tests {
    use super::{super::words::Line, *};
    use brunt_load::Target;
    use brunt_load::http::Http;
    use clap::Parser;

    fn parsed(flags: &str) -> Result<Options, Error> {
        parsed_line(&format!("tcp://127.0.0.1:7100 {flags}"))
    }

    fn parsed_line(line: &str) -> Result<Options, Error> {
        options(&Line::try_parse_from(line.split_whitespace()).unwrap().args, Some("0-3"))
    }

    fn http_of(line: &str) -> Http {
        let Target::Http(http) = parsed_line(line).unwrap().target else { panic!("{line} is not for HTTP") };
        http
    }

    #[test]
    fn defaults_are_those_of_wrk_and_threads_scale_rates_and_connections() {
        let plain = parsed("").unwrap();
        assert_eq!((plain.connections, plain.threads, plain.rate), (10, vec![None], None));
        assert_eq!((plain.duration, plain.timeout), (DURATION, Duration::from_secs(2)));
        assert_eq!(plain.warmup, Duration::from_secs(1));
        assert!(!plain.direct.no_verify && plain.requests.is_none());
        assert_eq!(parsed("-d 2s").unwrap().warmup, Duration::from_millis(400));
        assert_eq!(parsed("-z 2s --warmup 3s").unwrap().warmup, Duration::from_secs(3));
        assert_eq!(parsed("-n 5").unwrap().duration, LONGEST);
        assert_eq!(parsed("-n 5 -d 1s").unwrap().duration, Duration::from_secs(1));
        assert_eq!(parsed("-t 3").unwrap().threads, [None; 3]);
        let pinned = parsed("--cores 1,3 --rate-per-core 2k --connections-per-core 50").unwrap();
        assert_eq!(pinned.threads, [Some(1), Some(3)]);
        assert_eq!((pinned.rate, pinned.connections), (Some(4000.0), 100));
        let several = parsed("--cores 1,3 -t 4 --backend epoll").unwrap();
        assert_eq!(several.threads, [Some(1), Some(3), Some(1), Some(3)]);
        assert_eq!((several.backend, plain.backend), (Some(brunt_load::Backend::Epoll), None));
        assert_eq!(parsed("-t 16").unwrap().connections, 16);
        for letter in ["-R", "-q", "--qps", "--rate"] {
            assert_eq!(parsed(&format!("{letter} 20k")).unwrap().rate, Some(20_000.0), "{letter}");
        }
        assert_eq!(parsed("-R 1k --arrival poisson").unwrap().arrival, brunt_load::Arrival::Poisson);
    }

    #[test]
    fn http_flags_set_up_an_http_load() {
        let http = http_of("http://127.0.0.1:8080/a http://127.0.0.1:8080/b --weight 3,1");
        assert_eq!((http.hosts[0].address.tcp().unwrap().port(), http.hosts.len(), http.reuse), (8080, 1, None));
        assert!(http.expect.statuses.contains(204) && !http.expect.statuses.contains(404));
        let flags = "--no-keepalive -X PUT -H Accept:*/* --body x --expect-status 404 --expect-length 3B --http1.0";
        let http = http_of(&format!("http://127.0.0.1/ {flags}"));
        assert_eq!(
            (http.hosts[0].address.tcp().unwrap().port(), http.reuse, http.expect.length),
            (80, Some(1), Some(3))
        );
        assert!(!http.expect.statuses.contains(204) && http.expect.statuses.contains(404));
    }

    #[test]
    fn urls_are_grouped_by_host_and_tls() {
        let http = http_of("https://127.0.0.1:1/a http://127.0.0.1:1/b https://127.0.0.1:1/c http://127.0.0.1:2/ -k");
        let hosts = http.hosts.iter().map(|host| (host.address.tcp().unwrap().port(), host.weight, host.tls.is_some()));
        assert_eq!(hosts.collect::<Vec<_>>(), [(1, 2, true), (1, 1, false), (2, 1, false)]);
        let urls = "http://127.0.0.1:1/a http://127.0.0.2:2/b http://127.0.0.1:1/c http://127.0.0.1:3/d";
        let http = http_of(&format!("{urls} --weight 1,2,3,4"));
        let hosts: Vec<String> = http.hosts.iter().map(|host| format!("{} {}", host.address, host.weight)).collect();
        assert_eq!(hosts, ["127.0.0.1:1 4", "127.0.0.2:2 2", "127.0.0.1:3 4"]);
    }

    #[test]
    fn conflicting_flags_are_errors_with_names_and_values() {
        // The texts of an error are separated by |.
        for (line, needles) in [
            ("http://a/ --size 3B", "--size"),
            ("http://a/ --no-verify", "--no-verify"),
            ("tcp://a:1 --pipeline 2", "--pipeline"),
            ("tcp://a:1 tcp://a:1", "one URL"),
            ("tcp://a:1 http://a/", "one URL"),
            ("http://a/ tcp://a:1", "http:// and other protocols"),
            ("http://127.0.0.1:1/ http://127.0.0.1:2/ http://127.0.0.1:3/ -c 2", "the 3 hosts"),
            ("http://a/ --insecure", "--insecure means nothing without https://"),
            ("tcp://a:1 -k", "--insecure means nothing with tcp://"),
            ("unix:///a unix:///b", "one URL"),
            ("unix:///a -k", "--insecure means nothing with unix://"),
            ("http://a/ --vary 0", "--vary 0"),
            ("http://a/ --vary 2M", "--vary 2000000"),
            ("tcp://a:1 --vary 2", "--vary means nothing with tcp://"),
            ("http://a/ --weight 1,2", "2 numbers for 1 URLs"),
            ("http://a/ http://a/x --weight 1,0", "at least 1"),
            ("http://a/ --no-keepalive --reuse 3", "--reuse 3"),
            ("http://a/ --pipeline 4 --reuse 6", "multiple"),
            ("http://a/ --pipeline 4 -R 1k --reuse 3", "never has so many in flight"),
            ("http://a/ --pipeline 0", "--pipeline 0"),
            ("http://a/ -H nocolon", "'nocolon'"),
            ("http://a/ -H Connection:close", "--no-keepalive"),
            ("http://a/ -H Host:a -H host:b", "more than once"),
            ("http://a/ -X CONNECT", "CONNECT"),
            ("http://a/ -X HEAD --expect-length 3B", "HEAD"),
            ("tcp://127.0.0.1:7100 -R 1k --rate-per-core 2k", "--rate 1k|--rate-per-core 2k"),
            ("tcp://127.0.0.1:7100 -c 5 --connections-per-core 2", "-c 5|--connections-per-core 2"),
            ("tcp://127.0.0.1:7100 -t 3 --cores 0-1", "-t 3|--cores 0-1|names 2"),
            ("tcp://127.0.0.1:7100 -t 4 -c 3", "-c 3|4 threads"),
            ("tcp://127.0.0.1:7100 --arrival poisson", "--arrival|-R"),
            ("tcp://127.0.0.1:7100 --no-meter --server-pid 7", "--no-meter|--server-pid 7"),
            ("tcp://127.0.0.1:7100 --cores 0-9", "--cores 0-9|0-3"),
            ("tcp://127.0.0.1:7100 -t 0", "-t 0"),
            ("tcp://127.0.0.1:7100 -c 0", "-c 0"),
            ("tcp://127.0.0.1:7100 -n 0", "-n 0"),
            ("tcp://127.0.0.1:7100 -d 0s", "-d 0s|10ms"),
            ("tcp://127.0.0.1:7100 -d 25h", "-d 25h|24h"),
            ("tcp://127.0.0.1:7100 -T 0s", "-T 0s"),
            ("tcp://127.0.0.1:7100 --size 0", "--size 0B"),
            ("tcp://127.0.0.1:7100 --size 2GiB", "--size 2GiB|1GiB"),
            ("tcp://127.0.0.1:7100 -t 5k", "-t 5k|1024"),
            ("tcp://127.0.0.1:7100 -R 10G", "-R 10G|10M"),
            ("tcp://127.0.0.1:7100 -t 4 --rate-per-core 5M", "--rate-per-core 5M|10M"),
            ("tcp://127.0.0.1:7100 -c 1G", "-c 1G|100M"),
        ] {
            match parsed_line(line) {
                Err(Error::Usage(why)) => {
                    assert!(
                        needles.split('|').all(|needle| why.contains(needle)) && !why.contains('\n'),
                        "{line}: {why}"
                    )
                }
                other => panic!("{line}: {other:?}"),
            }
        }
    }

    #[test]
    fn files_that_cannot_be_read_are_named() {
        for line in ["http://a/ --body @/no/such/file", "https://a/ --cacert /no/such/file"] {
            match parsed_line(line) {
                Err(Error::Failed(why)) => assert!(why.contains("/no/such/file"), "{why}"),
                other => panic!("{line}: {other:?}"),
            }
        }
    }
}
