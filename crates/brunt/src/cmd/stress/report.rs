//! Text of a co-runner's progress and total.

use crate::cmd::stdout;
use brunt_results::Size;
use brunt_stress::{Progress, Total};
use std::io;

/// The line of --progress on stdout: work since the start, and its time.
pub(super) fn progress(done: u64, unit: &str, elapsed_s: f64) -> io::Result<()> {
    stdout::print(&format!("progress {done} {unit} {elapsed_s:.3} s\n"))
}

/// The status line: rate since the line before.
pub(super) fn line(last: Option<&Progress>, now: &Progress) -> String {
    let (before, since) = last.map_or((0, now.elapsed), |last| (last.done, now.elapsed.saturating_sub(last.elapsed)));
    let per_second = (now.done - before) as f64 / since.as_secs_f64().max(1e-9);
    format!("{:>4.0} s  {}", now.elapsed.as_secs_f64(), rate(per_second, now.unit))
}

/// The total, its first line with the exact count.
pub(super) fn text(total: &Total) -> String {
    let mut text = format!("{}: {} {} in {:.3} s\n", total.resource, total.done, total.unit, total.elapsed_s);
    let mut row = |name: &str, value: String| text += &format!("{name:<9}{value}\n");
    row("rate", rate(total.rate_per_s, total.unit));
    if let Some(bytes) = total.received {
        row("received", format!("{bytes} bytes"));
    }
    if let Some(refused) = total.refused.filter(|refused| *refused > 0) {
        row("refused", format!("{refused} processes, by a limit of processes or memory"));
    }
    let cores = total.cores.as_ref().map_or(String::new(), |cores| format!(" on cores {cores}"));
    row("threads", format!("{}{cores}", total.threads));
    if let Some(bytes) = total.size_bytes {
        row("size", Size(bytes).to_string());
    }
    if let Some(share) = total.share {
        row("share", format!("{:.1} % of each thread's time", share * 100.0));
    }
    if let Some(target) = total.target_rate_per_s {
        row("target", rate(target, total.unit));
    }
    row("CPU", total.cpu_s.map_or("-".to_owned(), |seconds| format!("{seconds:.2} s")));
    text
}

/// A rate with three digits and a decimal prefix: `12.3 GB/s`, `812 M operations/s`.
fn rate(per_second: f64, unit: &str) -> String {
    let prefixes = ["", "k", "M", "G", "T"];
    let mut step = 0;
    let mut value = per_second;
    while value >= 999.5 && step + 1 < prefixes.len() {
        (value, step) = (value / 1e3, step + 1);
    }
    let digits = match value {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        _ => 2,
    };
    match (unit, prefixes[step]) {
        ("bytes", prefix) => format!("{value:.digits$} {prefix}B/s"),
        (unit, "") => format!("{value:.digits$} {unit}/s"),
        (unit, prefix) => format!("{value:.digits$} {prefix} {unit}/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_three_digits_and_a_prefix() {
        assert_eq!(rate(12_345_678_901.0, "bytes"), "12.3 GB/s");
        assert_eq!(rate(999.7, "bytes"), "1.00 kB/s");
        assert_eq!(rate(812e6, "operations"), "812 M operations/s");
        assert_eq!(rate(0.25, "processes"), "0.25 processes/s");
    }
}
