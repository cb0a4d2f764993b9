//! `--wait`: until the target answers, before anything is looked up or measured.

use super::{once, options};
use brunt_load::{Options, Target, http::Http};
use brunt_results::{Error, Span};
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Pauses between attempts: doubled after each.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LAST_PAUSE: Duration = Duration::from_millis(200);

/// Sends the first request of the load to each host until all are answered as the load expects.
///
/// # Errors
/// The time is over, or `stop` is set; what the last attempt lacked is named.
pub(super) fn until_answered(options: &Options, limit: Span, stop: &AtomicBool, quiet: bool) -> Result<(), Error> {
    let (began, hosts) = (Instant::now(), each_host(options));
    let say = |line: &str| {
        if !quiet {
            let _ = writeln!(io::stderr(), "{line}");
        }
    };
    let mut pause = FIRST_PAUSE;
    for host in &hosts {
        let (mut is_said, mut known) = (false, None);
        loop {
            let left = limit.0.saturating_sub(began.elapsed());
            let Some(why) = attempt(host, left)? else { break };
            // An attempt that the end has cut short says less than the one before.
            let why = known.take().filter(|_| left < options.timeout).unwrap_or(why);
            if stop.load(Ordering::SeqCst) {
                return Err(Error::Failed(format!("interrupted while --wait {limit} waited: {why}")));
            }
            let left = limit.0.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(Error::Failed(format!("--wait {limit} is over: {why}")));
            }
            if !std::mem::replace(&mut is_said, true) {
                say(&format!("waiting until {} answers: {why}", options.url));
            }
            thread::sleep(pause.min(left));
            pause = (pause * 2).min(LAST_PAUSE);
            known = Some(why);
        }
        if is_said {
            say(&format!("it answered after {:.1} s", began.elapsed().as_secs_f64()));
        }
    }
    Ok(())
}

/// The load on each of its hosts alone, of one thread that is not pinned.
fn each_host(options: &Options) -> Vec<Options> {
    let alone = |target: Target| Options { target, threads: vec![None], connections: 1, ..options.clone() };
    match &options.target {
        Target::Http(http) => {
            let hosts = http.hosts.iter().map(|host| Target::Http(Http { hosts: vec![host.clone()], ..http.clone() }));
            hosts.map(alone).collect()
        }
        echo => vec![alone(echo.clone())],
    }
}

/// Sends a request; returns why it was not answered as the load expects, if it was not.
fn attempt(options: &Options, left: Duration) -> Result<Option<String>, Error> {
    let timeout = options.timeout.min(left.max(Duration::from_millis(1)));
    let options = Options { timeout, ..options.clone() };
    let exchanges = brunt_load::once::run(&options).map_err(options::error_of)?;
    Ok(exchanges.iter().find_map(|exchange| once::failure(exchange, options.target.http())))
}
