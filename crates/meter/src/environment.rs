//! Machine, kernel, limits and settings of a trial, for `env.json`. What cannot be read is listed in `absent` with its reason.

use crate::build_id;
use brunt_results::env::Env;
use brunt_results::secrets::{is_secret, without_users};
use fnv::FnvHasher;
use procfs::Current;
use std::fs::{self, File};
use std::io::{self, Read};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{collections::BTreeMap, hash::Hasher};

/// Kernel settings that affect results.
const SYSCTLS: [&str; 12] = [
    "kernel.io_uring_disabled",
    "kernel.perf_event_paranoid",
    "net.core.netdev_max_backlog",
    "net.core.somaxconn",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_ehash_entries",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
    "vm.max_map_count",
];

pub(crate) const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

static SOURCE_HASHES: OnceLock<&str> = OnceLock::new();

/// Sets the source hashes of this program, `CRATE=HASH` with spaces between; before the first environment is read.
pub fn set_source_hashes(words: &'static str) {
    let _ = SOURCE_HASHES.set(words);
}

/// This command line, without the values of headers that hold secrets and without the users of URLs.
pub fn command() -> Vec<String> {
    std::env::args_os().map(|argument| without_secret(&argument.to_string_lossy())).collect()
}

fn without_secret(argument: &str) -> String {
    let header = argument.trim_start_matches("--header=").trim_start_matches("-H").trim_start();
    match header.split_once(':') {
        Some((name, value)) if is_secret(name) => format!("{} [hidden]", &argument[..argument.len() - value.len()]),
        _ => without_users(argument),
    }
}

/// Reads the current environment. Figures of the load and of the target, and `regime`, are left to the caller.
pub fn collect() -> Env {
    let mut absent = BTreeMap::new();
    let mut sysctls = BTreeMap::new();
    for name in SYSCTLS {
        if let Some(value) = read(&mut absent, name, &format!("/proc/sys/{}", name.replace('.', "/"))) {
            sysctls.insert(name.to_owned(), value.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    Env {
        brunt: env!("CARGO_PKG_VERSION").to_owned(),
        binary_hash: keep(&mut absent, "binary_hash", binary_hash()),
        source_hashes: keep(&mut absent, "source_hashes", source_hashes()),
        command: command(),
        started_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        kernel: Some(kernel()),
        cpu: keep(&mut absent, "cpu", cpu_model()),
        cpus_allowed: keep(&mut absent, "cpus_allowed", cpus_allowed().ok_or("not in /proc/self/status")),
        cpus_online: keep(&mut absent, "cpus_online", cpus_online()),
        memory_bytes: keep(&mut absent, "memory_bytes", procfs::Meminfo::current().map(|info| info.mem_total)),
        governor: read(&mut absent, "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        smt: read(&mut absent, "smt", "/sys/devices/system/cpu/smt/control"),
        clock_source: read(&mut absent, "clock_source", CLOCK_SOURCE),
        open_files: Some(open_files()),
        sysctls,
        steal_percent: None,
        server_cpu_source: None,
        idle: None,
        backend: None,
        regime: None,
        absent,
    }
}

/// Files that this process may have open, and to what it may raise that; `u64::MAX` stands for no limit.
pub fn open_files() -> (u64, u64) {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX))
}

/// Processors that this process may run on, as a list of ranges.
pub fn cpus_allowed() -> Option<String> {
    crate::proc::status_line("/proc/self/status", "Cpus_allowed_list")
}

fn keep<T, E: std::fmt::Display>(absent: &mut BTreeMap<String, String>, name: &str, value: Result<T, E>) -> Option<T> {
    value.map_err(|why| absent.insert(name.to_owned(), why.to_string())).ok()
}

fn read(absent: &mut BTreeMap<String, String>, name: &str, path: &str) -> Option<String> {
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("{path} does not exist here"),
        _ => format!("{path}: {error}"),
    });
    keep(absent, name, text).map(|text| text.trim().to_owned())
}

fn kernel() -> String {
    let name = rustix::system::uname();
    let words = [name.sysname(), name.release(), name.version(), name.machine()];
    words.map(|word| word.to_string_lossy().into_owned()).join(" ")
}

fn cpu_model() -> Result<String, String> {
    let text = fs::read_to_string("/proc/cpuinfo").map_err(|error| format!("/proc/cpuinfo: {error}"))?;
    // x86 has `model name`, some Arm boards `Model` or `Hardware`.
    let line = ["model name", "Model", "Hardware", "cpu"]
        .iter()
        .find_map(|key| text.lines().find(|line| line.split(':').next().is_some_and(|k| k.trim() == *key)));
    let model = line.and_then(|line| line.split_once(':')).map(|(_, model)| model.trim().to_owned());
    model.filter(|m| !m.is_empty()).ok_or_else(|| "/proc/cpuinfo names no model".to_owned())
}

fn cpus_online() -> Result<u64, String> {
    let path = "/sys/devices/system/cpu/online";
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let cores: brunt_results::Cores = text.trim().parse().map_err(|error| format!("{path}: {error}"))?;
    Ok(cores.count() as u64)
}

fn source_hashes() -> Result<BTreeMap<String, String>, &'static str> {
    let words = SOURCE_HASHES.get().copied().unwrap_or_default().split(' ').filter_map(|word| word.split_once('='));
    let hashes: BTreeMap<String, String> = words.map(|(name, hash)| (name.to_owned(), hash.to_owned())).collect();
    if hashes.is_empty() { Err("this program was built without them") } else { Ok(hashes) }
}

/// 64-bit FNV-1a hash of what tells builds apart: the build id that the linker gave the running executable, or else its content,
/// of which it may have a hundred megabytes.
///
/// # Errors
/// The executable cannot be read.
pub fn binary_hash() -> io::Result<String> {
    let mut file = File::open("/proc/self/exe")?;
    let mut hash = FnvHasher::default();
    if let Some(id) = build_id::read(&file)? {
        hash.write(&id);
        return Ok(format!("{:016x}", hash.finish()));
    }
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(format!("{:016x}", hash.finish())),
            n => hash.write(&block[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_headers_that_are_secrets_are_hidden() {
        for (argument, shown) in [
            ("Authorization: Basic c2VjcmV0", "Authorization: [hidden]"),
            ("-HCookie:id=7", "-HCookie: [hidden]"),
            ("--header=x-api-key: 1", "--header=x-api-key: [hidden]"),
            ("http://127.0.0.1:80/", "http://127.0.0.1:80/"),
            ("Accept: */*", "Accept: */*"),
            ("http://me:pw@h:1/a@b http://c@d", "http://[hidden]@h:1/a@b http://[hidden]@d"),
            ("--url='tcp://me:p@w@h'", "--url='tcp://[hidden]@h'"),
        ] {
            assert_eq!(without_secret(argument), shown);
        }
    }

    #[test]
    fn the_hash_is_fnv_1a_and_every_field_is_present_or_has_a_reason() {
        // Test vectors of the FNV reference, http://www.isthe.com/chongo/tech/comp/fnv/
        for (text, expected) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            let mut hash = FnvHasher::default();
            hash.write(text.as_bytes());
            assert_eq!(hash.finish(), expected, "{text:?}");
        }
        let env = collect();
        let value = serde_json::to_value(&env).unwrap();
        let fields = value.as_object().unwrap().iter().map(|(name, value)| (&**name, !value.is_null()));
        let fields = fields.filter(|(name, _)| !["steal_percent", "backend"].contains(name));
        let sysctls = SYSCTLS.map(|name| (name, env.sysctls.contains_key(name)));
        for (name, there) in fields.chain(sysctls) {
            assert_ne!(there, env.absent.contains_key(name), "{name}");
        }
        assert!(env.kernel.unwrap().contains("Linux"));
        assert!(env.open_files.unwrap().0 > 0 && env.started_unix_s > 1_700_000_000);
        assert!(!env.command.is_empty());
    }
}
