//! What is printed of a load while it runs: first what it is, then its seconds.

use brunt_load::Options;
use brunt_results::Span;
use brunt_view::{format, progress::Progress};
use std::time::Duration;

/// What makes a load.
#[derive(Debug, Clone, Copy)]
pub(super) enum Makers {
    /// So many processes of this machine.
    Processes(usize),
    /// So many agents of a fleet.
    Agents(usize),
}

/// Announces the load.
pub(super) fn begin(options: &Options, makers: Makers, quiet: bool) -> Progress {
    let is_timed = options.requests.is_none() && !options.steady;
    let total = is_timed.then(|| options.warmup + options.duration);
    Progress::new(&announcement(options, makers), total, options.warmup, quiet)
}

/// Target, connections, rate and length.
fn announcement(options: &Options, makers: Makers) -> String {
    let messages = options.target.request_bytes().map_or(String::new(), |size| format!(" of {size} B"));
    let end = match options.requests {
        Some(requests) => format::plural(requests, "request"),
        None => Span(options.duration).to_string(),
    };
    let rate = match options.rate {
        Some(rate) if options.stages.is_empty() => format!("open loop at {}", format::rate(rate)),
        Some(rate) => format!("open loop at {} on average", format::rate(rate)),
        None => "closed loop".to_owned(),
    };
    let threads = match makers {
        Makers::Processes(1) => format!("on {}", format::plural(options.threads.len() as u64, "thread")),
        Makers::Processes(more) => format!("in {more} processes"),
        Makers::Agents(agents) => format!("on {}", format::plural(agents as u64, "agent")),
    };
    let warmup = match (options.steady, options.warmup) {
        (_, Duration::ZERO) => String::new(),
        (steady, warmup) => format!("{}{} of warm-up, then ", if steady { "at most " } else { "" }, Span(warmup)),
    };
    format!(
        "{}: {}{messages} {threads}, {rate}; {warmup}{end}",
        options.target.addresses().iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        format::connections(options.connections as u64, !options.connection_stages.is_empty()),
    )
}
