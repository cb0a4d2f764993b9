//! The options of the generator for a command line: those of its description, and what the other flags add.

use super::beside::Beside;
use super::resolve::resolve;
use super::{Args, names, usage};
use brunt_load::{LoadError, Options};
use brunt_meter::doctor::{self, Facts};
use brunt_results::{Cores, Count, Error};
use brunt_runtime::net::Address;
use brunt_spec::LoadSpec;
use brunt_view::format::plural;

/// Builds the options; `allowed` is the process's CPU list as printed by the kernel.
pub(super) fn options(args: &Args, allowed: Option<&str>) -> Result<Options, Error> {
    options_of(args, &args.spec, allowed).map(|(options, _)| options)
}

/// The same for another description than that of the flags, and notes for the user.
pub(super) fn options_of(args: &Args, spec: &LoadSpec, allowed: Option<&str>) -> Result<(Options, Vec<String>), Error> {
    args.server.check()?;
    let script = args.script.is_given();
    let (options, notes) = resolve(spec, Beside { allowed, compare: args.comparison.compare, script })?;
    // A script gives its names during the load.
    if !script {
        names::check(&args.fail_if.concat(), options.target.names())?;
    }
    let options = Options { counts: args.counting.options()?, percentiles: args.stored_percentiles(), ..options };
    Ok((options, notes))
}

/// Options that contradict each other are wrong usage, also where only the engine knows.
pub(super) fn error_of(error: LoadError) -> Error {
    match error {
        LoadError::Options(why) => Error::Usage(why),
        other => Error::Failed(other.to_string()),
    }
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
    if args.calibrate {
        return usage(format!(
            "--calibrate: the calibration is that of one process, and -c {connections} takes {processes} processes; leave \
             --calibrate out or lower -c"
        ));
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

#[cfg(test)]
mod tests {
    use super::super::resolve::{DURATION, LONGEST};
    use super::{super::words::Line, *};
    use brunt_load::Target;
    use brunt_load::http::Http;
    use clap::Parser;
    use std::time::Duration;

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
        assert_eq!(parsed("-d 1m2s").unwrap().duration, Duration::from_secs(62));
        let five = parsed("-n 5").unwrap();
        assert_eq!((five.duration, five.warmup), (LONGEST, Duration::ZERO));
        assert_eq!(parsed("-n 5 --warmup 2s").unwrap().warmup, Duration::from_secs(2));
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
