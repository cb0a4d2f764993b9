//! The server of a result: its CPU, what a request cost it, its network, and the kernel's work.

use super::{Facts, Rows, per_second};
use crate::format::{amount, bytes, or_dash, percent, plural, time};
use crate::told;
use brunt_results::result::{MemoryLimit, Server, ServerMachine, Throttled};
use brunt_results::{Cores, RunResult};

/// CPU in percent of a core, if it is known.
pub(crate) fn cpu(server: &Server) -> Option<String> {
    let [user, system] = [server.cpu_user_percent, server.cpu_system_percent].map(|mode| or_dash(mode, percent));
    Some(format!("CPU {} (user {user}, system {system})", percent(server.cpu_percent()?)))
}

/// Adds the rows of the server.
pub(super) fn rows(rows: &mut Rows, facts: &Facts) {
    let server = &facts.result.server;
    let Some(pid) = server.pid else {
        let why = facts.no_server.unwrap_or("the reason is in env.json");
        return rows.row("server", &format!("not metered: {why}"));
    };
    let reason = |figure: &str| facts.env.absent.get(&format!("server.{figure}"));
    let why = || reason("cpu_user_percent").map_or("no reason is known", String::as_str);
    let cpu = match (cpu(server), server.rss_bytes) {
        (Some(cpu), _) => cpu,
        // The window is too short for CPU time alone.
        (None, Some(_)) => format!("no CPU time ({})", why()),
        (None, None) => return rows.row("server", &format!("pid {pid}: not metered: {}", why())),
    };
    let busiest = server.busiest_thread_percent.map_or(String::new(), |busiest| {
        format!(", busiest of {} {}", plural(server.threads.unwrap_or(0), "thread"), percent(busiest))
    });
    let placed = server.placed.as_ref().map_or(String::new(), |placed| {
        let [cores, before] = [&placed.cores, &placed.before].map(|cores| Cores(cores.clone()));
        let cores = cores.words();
        format!(", moved to {cores} for the load (before: {before})")
    });
    let place = server.machine.as_ref().map_or(String::new(), |machine| format!(" on {}", machine.name));
    rows.row("server", &format!("pid {pid}{place}: {cpu}{busiest}{placed}{}", told::all(facts.result, "server")));
    rows.row("cost", &cost(server));
    server.machine.iter().for_each(|machine| rows.row("machine", &machine_of(machine)));
    if let Some(quota) = &server.throttled {
        rows.row("quota", &throttled(quota));
    }
    if let Some(limit) = &server.memory_limit {
        rows.row("memory", &memory(limit));
    }
    service(rows, server);
    // Usually all counters share one reason; print it once.
    let counters = ["instructions_user_per_request", "instructions_kernel_per_request", "cycles_per_request"];
    let is_said = |why: &&String| server.cpu_user_percent.is_none() && reason("cpu_user_percent") == Some(why);
    let reasons: Vec<&String> =
        counters.iter().filter_map(|figure| reason(figure)).filter(|why| !is_said(why)).collect();
    for (_, why) in reasons.iter().enumerate().filter(|(index, why)| !reasons[..*index].contains(why)) {
        rows.row("", &format!("no counters: {why}"));
    }
    for (name, line) in [("network", network(facts.result)), ("kernel", kernel(facts.result))] {
        if let Some(line) = line {
            rows.row(name, &line);
        }
    }
}

/// The machine of the server, if it is another one.
fn machine_of(machine: &ServerMachine) -> String {
    let ServerMachine { agent, name, delay_us, host } = machine;
    let [cpu, steal] = [host.cpu_percent, host.steal_percent].map(|share| or_dash(share, percent));
    let delay = time(*delay_us);
    format!(
        "{name}: CPU {cpu}, steal {steal}; metered by agent {agent}, whose window begins and ends up to {delay} later"
    )
}

/// The quota under which the server runs.
fn throttled(quota: &Throttled) -> String {
    let Throttled { group, quota_cores, periods, throttled_periods, throttled_s } = quota;
    let stopped = match throttled_periods {
        0 => "never used up".to_owned(),
        _ => format!(
            "used up in {throttled_periods} of {periods} periods ({}), stopped for {}",
            percent(quota.percent()),
            time(throttled_s * 1e6)
        ),
    };
    format!("{quota_cores:.2} cores of {group}, {stopped}")
}

/// The memory limit under which the server runs.
fn memory(limit: &MemoryLimit) -> String {
    let MemoryLimit { group, used_bytes, high_events, max_events, killed, .. } = limit;
    let limits = [("", limit.max_bytes), ("high ", limit.high_bytes)];
    let limits = limits.into_iter().filter_map(|(word, limit)| Some(format!("{word}{}", bytes(limit? as f64))));
    let used = used_bytes.map_or(String::new(), |used| format!(", {} used", bytes(used as f64)));
    let events =
        [(*max_events, "reached"), (*high_events, "waited for memory"), (*killed, "killed for want of memory")];
    let events = events.into_iter().filter(|(count, _)| *count > 0);
    let events = events.map(|(count, what)| format!(", {what} {}", plural(count, "time"))).collect::<String>();
    format!("limit {} of {group}{used}{events}", limits.collect::<Vec<_>>().join(", "))
}

/// What stands behind the server, and the sum.
fn service(rows: &mut Rows, server: &Server) {
    for one in &server.upstreams {
        let cost = or_dash(one.cpu_us_per_request, time);
        let others = match one.other_connections {
            0 => String::new(),
            others => format!(", {others} of others, for which it works too"),
        };
        rows.row(
            "upstream",
            &format!(
                "{} (pid {}{}): {cost} CPU/request, CPU {}, RSS {}; {}{others}",
                one.name,
                one.pid,
                one.addresses.iter().map(|address| format!(", {address}")).collect::<String>(),
                percent(one.cpu_percent),
                bytes(one.rss_bytes as f64),
                plural(one.connections, "connection"),
            ),
        );
    }
    if !server.upstreams.is_empty() {
        rows.row("service", &format!("{} CPU/request, of all these", or_dash(server.service_us_per_request(), time)));
    }
    for why in &server.unseen_upstreams {
        rows.row("", &format!("not metered, but the server is connected to it: {why}"));
    }
}

fn cost(server: &Server) -> String {
    let all = server.cpu_percent().filter(|all| *all > 0.0);
    let mut text = format!("{} CPU/request", or_dash(server.cpu_us_per_request, time));
    if let (Some(us), Some(all), Some(user)) = (server.cpu_us_per_request, all, server.cpu_user_percent) {
        let user_us = us * user / all;
        text += &format!(" (user {}, system {})", time(user_us), time(us - user_us));
    }
    let counts = [
        (server.instructions_user_per_request, "user instructions"),
        (server.instructions_kernel_per_request, "kernel instructions"),
        (server.cycles_per_request, "cycles"),
    ];
    let counts = counts.iter().filter_map(|(count, what)| Some(format!(", {} {what}", amount((*count)?))));
    text + &counts.collect::<String>()
}

/// Bytes and segments of the server's connections, as counted by the kernel.
fn network(result: &RunResult) -> Option<String> {
    let server = &result.server;
    let received = per_second(result, server.network_received_bytes?);
    let sent = per_second(result, server.network_sent_bytes?);
    let retransmitted = plural(server.retransmitted_segments?, "segment");
    Some(format!("{received} to the server, {sent} from it, {retransmitted} sent again"))
}

/// Kernel activity on behalf of the server and on the host.
fn kernel(result: &RunResult) -> Option<String> {
    let server = &result.server;
    let switches = server.voluntary_switches.zip(server.involuntary_switches);
    let switches = switches.filter(|_| result.requests.completed > 0).map(|(voluntary, involuntary)| {
        let each = (voluntary + involuntary) as f64 / result.requests.completed as f64;
        format!("{} context switches/request ({involuntary} of all involuntary)", amount(each))
    });
    let faults = server.minor_faults.zip(server.major_faults);
    let faults = faults.map(|(minor, major)| format!("{} ({major} from a disk)", plural(minor + major, "page fault")));
    let softirq = result.host.cores.as_ref().map(|cores| {
        let all = cores.iter().map(|core| core.softirq_percent).sum();
        format!("softirq {} of a core on the whole machine", percent(all))
    });
    let zero_windows = result.host.zero_windows.filter(|times| *times > 0);
    let zero_windows = zero_windows.map(|times| format!("{} without room to receive", plural(times, "socket")));
    let parts: Vec<String> = [switches, faults, zero_windows, softirq].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
