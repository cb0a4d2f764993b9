//! `ceiling.json`: the generator's highest rates against a null target, by load and machine. A file of the state directory.
//!
//! Two processes that write at the same time may lose one of their entries, never the file.

use crate::{RunResult, directory::Directory, env::Env, result::Responses};
use serde::{Deserialize, Serialize};
use std::{io, path::PathBuf};

const SCHEMA: &str = "brunt.ceiling/1";
const FILE: &str = "ceiling.json";
/// Most entries in the file; the oldest are dropped.
const MAX_ENTRIES: usize = 200;

/// What a ceiling depends on: machine, build and load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalibrationKey {
    /// Name of the protocol, as `tcp` or `http`.
    #[serde(default)]
    pub protocol: String,
    /// This and the next three are as in `env.json`.
    pub binary_hash: Option<String>,
    pub kernel: Option<String>,
    pub cpu: Option<String>,
    pub cpus_online: Option<u64>,
    pub threads: usize,
    /// Cores of the generator; empty if not pinned.
    pub cores: Vec<usize>,
    /// Cores of the target, as far as known.
    pub target_cores: Vec<usize>,
    pub connections: u64,
    /// Bytes of a message; over HTTP, of the longest write of a batch of requests.
    pub request_bytes: Option<u64>,
    /// Whether replies are compared with requests; over HTTP, whether bodies are searched.
    pub verified: bool,
    #[serde(default)]
    pub http: Option<HttpKey>,
}

/// The part of the key that applies to HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpKey {
    /// Bytes of the body of a reply, to two digits: see [`HttpKey::mean_body_bytes`].
    pub body_bytes: u64,
    /// Requests per write.
    pub pipeline: u32,
    /// Requests per connection.
    pub reuse: Option<u64>,
}

impl HttpKey {
    /// Mean length of the bodies in bytes, rounded to two digits so that replies of varying length give the same key in the
    /// next run; `None` without replies.
    pub fn mean_body_bytes(responses: &Responses) -> Option<u64> {
        let mean = responses.body_bytes?.checked_div(responses.statuses.values().sum())?;
        let unit = 10u64.pow(mean.checked_ilog10().unwrap_or(0).saturating_sub(1));
        Some((mean + unit / 2) / unit * unit)
    }
}

impl CalibrationKey {
    /// The key of a finished run, without the part for HTTP.
    pub fn of(result: &RunResult, env: &Env, protocol: &str, verified: bool) -> Self {
        Self {
            protocol: protocol.to_owned(),
            binary_hash: env.binary_hash.clone(),
            kernel: env.kernel.clone(),
            cpu: env.cpu.clone(),
            cpus_online: env.cpus_online,
            threads: result.generator.thread_cpu_percent.len(),
            cores: result.generator.cores.clone(),
            target_cores: result.server.cores.clone().unwrap_or_default(),
            connections: result.load.connections,
            request_bytes: result.load.request_bytes,
            verified,
            http: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry {
    #[serde(rename = "circumstances")]
    key: CalibrationKey,
    /// Requests per second.
    rate: f64,
    measured_unix_s: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct File {
    schema: String,
    entries: Vec<Entry>,
}

/// The calibrations in this state directory, which need not exist.
#[derive(Debug)]
pub struct Calibrations(pub PathBuf);

impl Calibrations {
    /// The ceiling measured with this key, in requests per second.
    pub fn get(&self, key: &CalibrationKey) -> io::Result<Option<f64>> {
        let entries = self.entries()?;
        Ok(entries.iter().find(|entry| entry.key == *key).map(|entry| entry.rate))
    }

    /// The ceilings of all loads for this build on this machine, in requests per second.
    pub fn rates(&self, env: &Env) -> io::Result<Vec<f64>> {
        let (binary, machine) = (&env.binary_hash, (&env.kernel, &env.cpu, env.cpus_online));
        let mut entries = self.entries()?;
        entries.retain(|Entry { key: of, .. }| {
            of.binary_hash == *binary && (&of.kernel, &of.cpu, of.cpus_online) == machine
        });
        Ok(entries.iter().map(|entry| entry.rate).collect())
    }

    pub fn check_writable(&self) -> io::Result<()> {
        Directory::create(&self.0).map(drop)
    }

    /// Stores a ceiling, replacing an older one with the same key. A damaged file is replaced.
    pub fn store(&self, key: CalibrationKey, rate: f64, measured_unix_s: u64) -> io::Result<()> {
        let mut entries = self.entries().unwrap_or_default();
        entries.retain(|entry| entry.key != key);
        entries.push(Entry { key, rate, measured_unix_s });
        let surplus = entries.len().saturating_sub(MAX_ENTRIES);
        entries.drain(..surplus);
        let file = File { schema: SCHEMA.to_owned(), entries };
        Directory::create(&self.0)?.write_json(FILE, &file)
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        match Directory::open(&self.0).read_json::<File>(FILE) {
            Ok(mut file) if file.schema == SCHEMA => {
                // Entries of older versions name no protocol; there were two.
                for key in file.entries.iter_mut().map(|entry| &mut entry.key).filter(|key| key.protocol.is_empty()) {
                    key.protocol = if key.http.is_some() { "http" } else { "tcp" }.to_owned();
                }
                Ok(file.entries)
            }
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Err(error),
            // There is no file, or one of another version, whose ceilings are not comparable.
            _ => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTTP: HttpKey = HttpKey { body_bytes: 13, pipeline: 1, reuse: None };

    fn key(connections: u64) -> CalibrationKey {
        let mut result = RunResult::new("brunt");
        result.load.connections = connections;
        result.server.cores = Some(vec![1]);
        CalibrationKey::of(&result, &Env::default(), "tcp", true)
    }

    #[test]
    fn a_ceiling_is_found_by_its_own_key_only_which_rounds_body_lengths() {
        let home = tempfile::tempdir().unwrap();
        let ceilings = Calibrations(home.path().join("not/yet"));
        assert_eq!(ceilings.get(&key(8)).unwrap(), None);
        ceilings.check_writable().unwrap();
        ceilings.store(key(8), 1000.0, 1).unwrap();
        ceilings.store(key(8), 2000.0, 2).unwrap();
        ceilings.store(key(9), 3000.0, 3).unwrap();
        assert_eq!(ceilings.get(&key(8)).unwrap(), Some(2000.0));
        let redis = CalibrationKey { protocol: "redis".to_owned(), ..key(8) };
        let over_http = CalibrationKey { http: Some(HTTP), ..key(8) };
        for other in [CalibrationKey { verified: false, ..key(8) }, redis, over_http.clone()] {
            assert_eq!(ceilings.get(&other).unwrap(), None, "{other:?}");
        }
        ceilings.store(over_http.clone(), 4000.0, 3).unwrap();
        assert_eq!(ceilings.get(&over_http).unwrap(), Some(4000.0));
        assert_eq!(ceilings.get(&key(8)).unwrap(), Some(2000.0));
        assert_eq!(ceilings.rates(&Env::default()).unwrap(), [2000.0, 3000.0, 4000.0]);
        let other = Env { binary_hash: Some("another".to_owned()), ..Env::default() };
        assert_eq!(ceilings.rates(&other).unwrap(), [0.0; 0]);
        for connections in 100..100 + MAX_ENTRIES as u64 {
            ceilings.store(key(connections), 1.0, 4).unwrap();
        }
        assert_eq!(ceilings.get(&key(9)).unwrap(), None);
        assert_eq!(ceilings.entries().unwrap().len(), MAX_ENTRIES);
        let of = |bytes: u64, replies: u64| {
            let statuses = [("200".to_owned(), replies)].into();
            HttpKey::mean_body_bytes(&Responses::of(statuses, Some(bytes)))
        };
        assert_eq!(of(0, 0), None);
        for (mean, rounded) in
            [(0, 0), (9, 9), (13, 13), (99, 99), (104, 100), (105, 110), (996, 1000), (12_345, 12_000)]
        {
            assert_eq!(of(mean * 7, 7), Some(rounded), "{mean}");
        }
    }

    #[test]
    fn damaged_files_are_replaced_and_files_without_protocols_are_read() {
        let home = tempfile::tempdir().unwrap();
        let ceilings = Calibrations(home.path().to_owned());
        let file = home.path().join(FILE);
        std::fs::write(&file, "{").unwrap();
        assert!(ceilings.get(&key(8)).unwrap_err().to_string().contains(FILE));
        ceilings.store(key(8), 5.0, 1).unwrap();
        assert_eq!(ceilings.get(&key(8)).unwrap(), Some(5.0));
        std::fs::write(&file, r#"{"schema": "brunt.ceiling/0", "entries": []}"#).unwrap();
        assert_eq!(ceilings.get(&key(8)).unwrap(), None);
        // A key without a protocol is for TCP or HTTP.
        let over_http = CalibrationKey { protocol: "http".to_owned(), http: Some(HTTP), ..key(9) };
        for (rate, key) in [(1.0, key(8)), (2.0, over_http.clone())] {
            ceilings.store(CalibrationKey { protocol: String::new(), ..key }, rate, 1).unwrap();
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let old = text.replace("\"protocol\": \"\",", "").replace("\"protocol\": \"tcp\",", "");
        std::fs::write(&file, old).unwrap();
        assert_eq!((ceilings.get(&key(8)).unwrap(), ceilings.get(&over_http).unwrap()), (Some(1.0), Some(2.0)));
    }
}
