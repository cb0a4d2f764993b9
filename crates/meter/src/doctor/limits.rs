//! Checks of the limits on connections: files, ports, backlogs, memory.

use super::{Facts, Finding, State};
use brunt_results::Count;

const DEFAULT_CONNECTIONS: u64 = 1_000;
/// Upper bound that keeps the arithmetic in range.
const MAX_CONNECTIONS: u64 = 1 << 36;
/// Kernel memory of a loopback connection, both ends, with many source addresses: growth of slabs on Linux 6.18, 10.8 KB with
/// epoll and 11.1 KB with io_uring.
const KERNEL_BYTES: u64 = 11_100;
/// User memory of both ends of a connection.
const USER_BYTES: u64 = 2_000;
/// Memory of a process of brunt without connections.
const PROCESS_BYTES: u64 = 8 << 20;
const OTHER_FILES: u64 = 100;

pub(super) fn examine(facts: &Facts, connections: Option<u64>, ends: u64) -> Vec<Finding> {
    let wanted = connections.unwrap_or(DEFAULT_CONNECTIONS).min(MAX_CONNECTIONS);
    let mut findings = vec![files(facts, wanted), ports(facts, wanted), backlog(facts, wanted)];
    if connections.is_some() {
        findings.extend([system_files(facts, wanted, ends), memory(facts, wanted, ends), tcp_memory(facts, wanted)]);
        findings.push(socket_table(facts, wanted * ends));
        findings.extend(conntrack(facts, wanted));
    }
    findings
}

/// Checks the hard limit, as brunt raises the soft limit itself.
fn files(facts: &Facts, wanted: u64) -> Finding {
    let subject = "open files";
    let Some((_, hard)) = facts.env.open_files else {
        return Finding::unknown(subject, "no limit was read", "connections may be refused");
    };
    let (needed, evidence) = (wanted + OTHER_FILES, format!("{} a process", Count(hard)));
    let consequence = format!(
        "{} connections need {} processes on each side, which brunt starts by itself and other programs do not",
        Count(wanted),
        processes(hard, wanted)
    );
    let remedy = format!("ulimit -Hn {needed} (as root; needs fs.nr_open at least that large)");
    Finding::good(subject, evidence).but_if(hard < needed, State::Warn, consequence, remedy)
}

/// Processes needed if each may open `hard` files.
fn processes(hard: u64, wanted: u64) -> u64 {
    wanted.div_ceil(hard.saturating_sub(OTHER_FILES).max(1))
}

/// Each connection from one source address to one target needs its own port.
fn ports(facts: &Facts, wanted: u64) -> Finding {
    let subject = "local ports";
    let range = facts.env.sysctls.get("net.ipv4.ip_local_port_range");
    let ends = range.and_then(|range| {
        let mut words = range.split_whitespace().map(|word| word.parse::<u64>().ok());
        Some((words.next()??, words.next()??))
    });
    let Some((first, last)) = ends else {
        return Finding::unknown(subject, "no range was read", "many connections may fail with EADDRNOTAVAIL");
    };
    let ports = (last + 1).saturating_sub(first);
    let evidence = format!("{first} to {last}: {} for each source address and target", Count(ports));
    let addresses = wanted.div_ceil(ports.max(1));
    let consequence = format!("{} connections need {addresses} source addresses or listening ports", Count(wanted));
    let remedy = "sysctl -w net.ipv4.ip_local_port_range='1024 65535', and several --listen";
    Finding::good(subject, evidence).but_if(ports < wanted, State::Warn, consequence, remedy)
}

fn backlog(facts: &Facts, wanted: u64) -> Finding {
    let subject = "accept backlog";
    let Some(backlog) = facts.setting("net.core.somaxconn") else {
        return Finding::unknown(subject, "net.core.somaxconn was not read", "bursts of connections may be dropped");
    };
    // Connections opened in one second if opening all takes ten.
    let burst = (wanted / 10).clamp(128, 65_535);
    let consequence = "connections opened in a burst are dropped and retried after a second";
    let remedy = format!("sysctl -w net.core.somaxconn={burst}");
    Finding::good(subject, format!("net.core.somaxconn = {backlog}")).but_if(
        backlog < burst,
        State::Warn,
        consequence,
        remedy,
    )
}

fn system_files(facts: &Facts, wanted: u64, ends: u64) -> Finding {
    let subject = "files of the system";
    let (name, needed) = ("fs.file-max", (wanted + OTHER_FILES) * ends);
    let Some(value) = facts.sysctls.get(name) else {
        return Finding::unknown(subject, format!("{name} was not read"), "opening may fail with ENFILE");
    };
    let (consequence, remedy) = ("opening fails with ENFILE", format!("sysctl -w {name}={needed}"));
    Finding::good(subject, format!("{name} = {value}")).but_if(*value < needed, State::Bad, consequence, remedy)
}

fn memory(facts: &Facts, wanted: u64, ends: u64) -> Finding {
    let subject = "memory";
    let each = (KERNEL_BYTES + USER_BYTES) * ends / 2;
    let processes = facts.env.open_files.map_or(1, |(_, hard)| processes(hard, wanted)) * ends;
    let needed = wanted * each + processes * PROCESS_BYTES;
    let free = facts.memory_limit_bytes.into_iter().chain(facts.memory_free_bytes).min();
    let Some(free) = free else {
        return Finding::unknown(subject, "free memory was not read", "the kernel may kill the server");
    };
    let of = if ends == 1 { "one end" } else { "both ends" };
    let evidence = format!("{} MiB free, about {} MiB needed for {of}", free >> 20, needed >> 20);
    let most = Count(free / each / 1000 * 1000);
    let consequence = format!("about {most} connections fit; beyond that the kernel kills a process");
    let remedy = "add memory, or ask for fewer";
    Finding::good(subject, evidence).but_if(free < needed, State::Bad, consequence, remedy)
}

/// `tcp_mem` is in pages; above its last value sockets accept no more data, and each message costs a further exchange of
/// packets.
fn tcp_memory(facts: &Facts, wanted: u64) -> Finding {
    let subject = "TCP memory";
    let Some(pages) = facts.setting("net.ipv4.tcp_mem") else {
        return Finding::unknown(subject, "net.ipv4.tcp_mem was not read", "data may be dropped");
    };
    // A connection with data in flight uses at least a page at each end.
    let needed = 2 * wanted;
    let evidence = format!("net.ipv4.tcp_mem allows {} pages", Count(pages));
    let consequence = format!("with data on all {} connections their receive windows are closed", Count(wanted));
    let remedy = format!("sysctl -w net.ipv4.tcp_mem='{} {} {needed}'", needed / 2, needed * 3 / 4);
    Finding::good(subject, evidence).but_if(pages < needed, State::Warn, consequence, remedy)
}

/// The kernel finds the socket of a packet in a hash table of fixed size, whose buckets are lists.
fn socket_table(facts: &Facts, sockets: u64) -> Finding {
    let subject = "socket table";
    // Negative in a network namespace that uses the table of the first one.
    let entries = facts.env.sysctls.get("net.ipv4.tcp_ehash_entries");
    let Some(buckets) = entries.and_then(|entries| entries.parse::<i64>().ok()).filter(|buckets| *buckets != 0) else {
        return Finding::unknown(subject, "net.ipv4.tcp_ehash_entries was not read", "packets may be slow to assign");
    };
    let evidence = format!("net.ipv4.tcp_ehash_entries = {buckets}");
    let buckets = buckets.unsigned_abs();
    let each = sockets.div_ceil(buckets);
    let consequence = format!("a packet is compared with {each} sockets of its bucket, most of them not in the cache");
    let remedy = format!(
        "sysctl -w net.ipv4.tcp_child_ehash_entries={}, then run in a new network namespace (ip netns add)",
        sockets.next_power_of_two()
    );
    Finding::good(subject, evidence).but_if(each > 2, State::Warn, consequence, remedy)
}

/// `None` unless connection tracking is loaded.
fn conntrack(facts: &Facts, wanted: u64) -> Option<Finding> {
    let name = "net.netfilter.nf_conntrack_max";
    let most = *facts.sysctls.get(name)?;
    // The module may be loaded without a rule that uses it.
    let (state, consequence) = match facts.sysctls.get("net.netfilter.nf_conntrack_count") {
        Some(0) => (State::Warn, "nothing is tracked now; if a rule begins to, packets beyond that are dropped"),
        _ => (State::Bad, "packets of connections beyond that are dropped silently"),
    };
    let remedy = format!("sysctl -w {name}={wanted}");
    let finding = Finding::good("connection tracking", format!("{name} = {most}"));
    Some(finding.but_if(most < wanted, state, consequence, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        let mut facts = Facts { memory_free_bytes: Some(20 << 30), ..Facts::default() };
        facts.env.open_files = Some((1024, 20_000));
        let settings = [
            ("net.ipv4.ip_local_port_range", "32768 60999"),
            ("net.core.somaxconn", "4096"),
            ("net.ipv4.tcp_mem", "100 200 3000000"),
            ("net.ipv4.tcp_ehash_entries", "-1048576"),
        ];
        facts.env.sysctls = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        facts.sysctls = [("fs.file-max".to_owned(), 9_000_000)].into();
        facts
    }

    fn set(facts: &mut Facts, name: &str, value: u64) {
        facts.sysctls.insert(name.to_owned(), value);
    }

    #[test]
    fn each_limit_too_low_for_the_connections_is_reported_and_refused_with_a_remedy() {
        assert!(examine(&facts(), None, 2).iter().all(|finding| finding.state == State::Good));
        let findings = examine(&facts(), Some(1_000_000), 2);
        let bad = findings.iter().filter(|finding| finding.state != State::Good).map(|finding| &*finding.subject);
        assert_eq!(bad.collect::<Vec<_>>(), ["open files", "local ports", "accept backlog"]);
        assert!(findings[0].consequence.contains("51 processes"), "{}", findings[0].consequence);
        assert!(findings[1].consequence.contains("36 source addresses"), "{}", findings[1].consequence);
        let worst = |change: &dyn Fn(&mut Facts), subject: &str| {
            let mut facts = facts();
            change(&mut facts);
            examine(&facts, Some(1_000_000), 2).into_iter().find(|finding| finding.subject == subject).unwrap().state
        };
        assert_eq!(worst(&|f| set(f, "fs.file-max", 1_048_576), "files of the system"), State::Bad);
        assert_eq!(worst(&|f| f.memory_free_bytes = Some(4 << 30), "memory"), State::Bad);
        assert_eq!(worst(&|f| f.memory_limit_bytes = Some(1 << 30), "memory"), State::Bad);
        assert_eq!(worst(&|f| f.env.sysctls.clear(), "TCP memory"), State::Unknown);
        let few =
            |f: &mut Facts| _ = f.env.sysctls.insert("net.ipv4.tcp_ehash_entries".to_owned(), "262144".to_owned());
        assert_eq!(worst(&few, "socket table"), State::Warn);
        let track = |f: &mut Facts| set(f, "net.netfilter.nf_conntrack_max", 262_144);
        assert_eq!(worst(&track, "connection tracking"), State::Bad);
        let idle = |f: &mut Facts| {
            track(f);
            set(f, "net.netfilter.nf_conntrack_count", 0);
        };
        assert_eq!(worst(&idle, "connection tracking"), State::Warn);
        let refusal = crate::doctor::refusal;
        assert_eq!(refusal(&facts(), 1_000_000, 2), None);
        let mut small = facts();
        small.memory_free_bytes = Some(8 << 30);
        assert_eq!(refusal(&small, 1_000_000, 1), None);
        let line = refusal(&small, 1_000_000, 2).unwrap();
        assert!(line.starts_with("memory: 8192 MiB free, about ") && line.contains("for both ends"), "{line}");
        set(&mut small, "fs.file-max", 100_000);
        let files =
            "files of the system: fs.file-max = 100000: opening fails with ENFILE; sysctl -w fs.file-max=2000200";
        assert_eq!(refusal(&small, 1_000_000, 2).unwrap(), files);
        assert!(refusal(&facts(), u64::MAX, 2).is_some());
    }
}
