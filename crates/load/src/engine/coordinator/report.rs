//! The report of a run, from all that its threads have told.

use super::Coordinator;
use crate::measure::{collector::Collector, outages::Outage};
use crate::report::{self, Report};
use crate::{http::Http, observer::Observer, schedule::Schedule};
use brunt_results::result::{self, Connections};
use brunt_spec::Spread;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

impl Coordinator<'_> {
    /// Those that reach into the window.
    fn outages(&self, [open, close]: [u64; 2]) -> Vec<result::Outage> {
        let start = self.shared.start.load(Relaxed);
        let s = |from: u64, until: u64| Duration::from_nanos(until.saturating_sub(from)).as_secs_f64();
        let all = self.shared.outages.take().into_iter();
        let of_window = all.filter(|outage| outage.until_ns > open && outage.from_ns < close);
        let told = of_window.map(|Outage { host, from_ns, until_ns, failed }| {
            let (from, until) = (from_ns.max(start), until_ns.min(close));
            result::Outage {
                at_s: s(start, from),
                down_s: s(from, until),
                of_window_s: s(from.max(open), until),
                address: self.shared.hosts.addresses[host].to_string(),
                failed,
                is_over: until_ns < close,
                back_as: None,
            }
        });
        told.collect()
    }

    /// The report of the run. `unsent` are the threads' schedules as far as they were taken.
    pub fn report(&mut self, mut collector: Collector, unsent: &[Schedule], observer: &mut dyn Observer) -> Report {
        let Self { shared, .. } = *self;
        let (open, close) = (shared.open.load(Relaxed), shared.close.load(Relaxed));
        while let Some((second, response)) = collector.next_second(true) {
            observer.recorded(&second, &response);
            collector.keep(second);
        }
        let (steps, mut parts) = (shared.options.steps(), std::mem::take(&mut self.parts));
        let totals = collector.finish(unsent, [open, close], |since_open_ns, waited_ns, count| {
            parts.never_sent(&steps, since_open_ns, waited_ns, count);
        });
        let measured = Duration::from_nanos(close.saturating_sub(open));
        let mut result = report::result(&shared.options, measured, &totals);
        result.load.warmup_s =
            Duration::from_nanos(open.min(close).saturating_sub(shared.start.load(Relaxed))).as_secs_f64();
        result.interrupted = self.interrupted || self.lost.is_some();
        report::add_parts(&mut result, &shared.options, parts);
        let first = shared.first_failures.told();
        (result.first_wrong_reply, result.first_connect_error) = (first.reply, first.connect);
        let (opened, peak) = shared.connecting.counts();
        let completed = result.requests.completed;
        // Connections that are open for a part of the window get fewer replies, and those that take requests at random get as many
        // as chance gives them.
        let is_random = shared.options.rate.is_some() && shared.options.direct.spread() == Spread::Random;
        let is_even = shared.options.connection_stages.is_empty() && !is_random;
        result.connections = Connections {
            opened,
            peak,
            connect_rate_per_s: self.connect_rate,
            served_percent: self.served.percent().filter(|_| is_even),
            jain_index: self.served.jain().filter(|_| is_even),
            // Of a target that closes after so many, no connection has brought more, and some were closed again.
            closed_after: result
                .connections
                .closed_after
                .filter(|replies| completed <= replies * opened && result.errors.closed > peak),
            kept_open: result.connections.kept_open,
            outages: Some(self.outages([open, close])),
        };
        let http = shared.options.target.http();
        result.handshakes = http.is_some_and(Http::uses_tls).then(|| shared.handshakes().take());
        Report {
            result,
            hlog: totals.hlog,
            seconds: totals.seconds,
            backend: self.backend,
            fallback: self.fallback.clone(),
            saturated: totals.saturated,
            lost: self.lost.clone(),
        }
    }
}
