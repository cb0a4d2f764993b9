//! `ceiling.json`: how fast the generator is by itself, under a certain load on a certain machine, as it was measured
//! against a target that does nothing. A file of the state directory, kept from run to run.
//!
//! Two brunts that write at the same moment may lose one of their two entries, never the file.

use crate::{RunResult, directory::Directory, env::Env, result::Responses};
use serde::{Deserialize, Serialize};
use std::{io, path::PathBuf};

/// Name and version of the format.
const SCHEMA: &str = "brunt.ceiling/1";
const FILE: &str = "ceiling.json";
/// Entries that are kept; the oldest go first.
const MOST: usize = 200;

/// On what a ceiling depends. Another machine, build or load has another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalibrationKey {
    /// Name of the protocol, as `tcp` or `http`.
    #[serde(default)]
    pub protocol: String,
    /// As in `env.json`.
    pub binary_hash: Option<String>,
    /// As in `env.json`.
    pub kernel: Option<String>,
    /// As in `env.json`.
    pub cpu: Option<String>,
    /// As in `env.json`.
    pub cpus_online: Option<u64>,
    /// Load threads.
    pub threads: usize,
    /// Cores of the generator; empty if it was not pinned.
    pub cores: Vec<usize>,
    /// Cores of the target, as far as they are known.
    pub target_cores: Vec<usize>,
    /// Connections.
    pub connections: u64,
    /// Bytes of a message; over HTTP, of the longest of the writes that hold a batch of requests.
    pub request_bytes: Option<u64>,
    /// Whether replies are compared with what was sent; over HTTP, whether words are looked for in bodies.
    pub verified: bool,
    /// What else there is to say of a load over HTTP.
    #[serde(default)]
    pub http: Option<HttpKey>,
}

/// What a load over HTTP makes the generator do for each request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpKey {
    /// Bytes of the body of a reply, to two digits: see [`HttpKey::mean_body_bytes`].
    pub body_bytes: u64,
    /// Requests in one write.
    pub pipeline: u32,
    /// Requests on a connection.
    pub reuse: Option<u64>,
}

impl HttpKey {
    /// The mean length of the bodies in bytes, rounded to two digits, so that a target whose replies differ is the same in
    /// its next run; `None` if there was no reply.
    pub fn mean_body_bytes(responses: &Responses) -> Option<u64> {
        let mean = responses.body_bytes?.checked_div(responses.statuses.values().sum())?;
        let unit = 10u64.pow(mean.checked_ilog10().unwrap_or(0).saturating_sub(1));
        Some((mean + unit / 2) / unit * unit)
    }
}

impl CalibrationKey {
    /// Those of a run that has ended; what is HTTP's own is still to be filled in.
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

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry {
    #[serde(rename = "circumstances")]
    key: CalibrationKey,
    /// Requests per second.
    rate: f64,
    /// When, in seconds since 1970-01-01 UTC.
    measured_unix_s: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct File {
    schema: String,
    entries: Vec<Entry>,
}

/// The ceilings of one state directory.
#[derive(Debug)]
pub struct Calibrations {
    path: PathBuf,
}

impl Calibrations {
    /// Those of this directory, which need not exist.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// The rate that was measured under the same circumstances, in requests per second.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn get(&self, key: &CalibrationKey) -> io::Result<Option<f64>> {
        let entries = self.entries()?;
        Ok(entries.iter().find(|entry| entry.key == *key).map(|entry| entry.rate))
    }

    /// The rates that hold for this build of brunt on this machine, of whatever loads, in requests per second.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn rates(&self, env: &Env) -> io::Result<Vec<f64>> {
        let (binary, machine) = (&env.binary_hash, (&env.kernel, &env.cpu, env.cpus_online));
        let mut entries = self.entries()?;
        entries.retain(|Entry { key: of, .. }| {
            of.binary_hash == *binary && (&of.kernel, &of.cpu, of.cpus_online) == machine
        });
        Ok(entries.iter().map(|entry| entry.rate).collect())
    }

    /// Creates the directory if need be and proves that it can be written.
    ///
    /// # Errors
    /// It cannot; the path is named.
    pub fn check_writable(&self) -> io::Result<()> {
        Directory::create(&self.path).map(drop)
    }

    /// Keeps a rate, in the place of an older one under the same circumstances. A damaged file is begun anew.
    ///
    /// # Errors
    /// The file cannot be written; it is named.
    pub fn store(&self, key: CalibrationKey, rate: f64, measured_unix_s: u64) -> io::Result<()> {
        let mut entries = self.entries().unwrap_or_default();
        entries.retain(|entry| entry.key != key);
        entries.push(Entry { key, rate, measured_unix_s });
        let surplus = entries.len().saturating_sub(MOST);
        entries.drain(..surplus);
        let file = File { schema: SCHEMA.to_owned(), entries };
        Directory::create(&self.path)?.write_json(FILE, &file)
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        match Directory::open(&self.path).read_json::<File>(FILE) {
            Ok(mut file) if file.schema == SCHEMA => {
                // Entries of older versions name no protocol; there were two.
                for key in file.entries.iter_mut().map(|entry| &mut entry.key).filter(|key| key.protocol.is_empty()) {
                    key.protocol = if key.http.is_some() { "http" } else { "tcp" }.to_owned();
                }
                Ok(file.entries)
            }
            // Another version of brunt measures in its own way.
            Ok(_) => Ok(Vec::new()),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circumstances(connections: u64) -> CalibrationKey {
        let mut result = RunResult::new("brunt");
        result.load.connections = connections;
        result.server.cores = Some(vec![1]);
        CalibrationKey::of(&result, &Env::default(), "tcp", true)
    }

    #[test]
    fn a_ceiling_is_found_under_its_own_circumstances_alone() {
        let home = tempfile::tempdir().unwrap();
        let ceilings = Calibrations::at(home.path().join("not/yet"));
        assert_eq!(ceilings.get(&circumstances(8)).unwrap(), None);
        ceilings.check_writable().unwrap();
        ceilings.store(circumstances(8), 1000.0, 1).unwrap();
        ceilings.store(circumstances(8), 2000.0, 2).unwrap();
        ceilings.store(circumstances(9), 3000.0, 3).unwrap();
        assert_eq!(ceilings.get(&circumstances(8)).unwrap(), Some(2000.0));
        assert_eq!(ceilings.get(&CalibrationKey { verified: false, ..circumstances(8) }).unwrap(), None);
        let over_http =
            CalibrationKey { http: Some(HttpKey { body_bytes: 13, pipeline: 1, reuse: None }), ..circumstances(8) };
        assert_eq!(ceilings.get(&over_http).unwrap(), None);
        ceilings.store(over_http.clone(), 4000.0, 3).unwrap();
        assert_eq!(ceilings.get(&over_http).unwrap(), Some(4000.0));
        assert_eq!(ceilings.get(&circumstances(8)).unwrap(), Some(2000.0));
        assert_eq!(ceilings.rates(&Env::default()).unwrap(), [2000.0, 3000.0, 4000.0]);
        let other = Env { binary_hash: Some("another".to_owned()), ..Env::default() };
        assert_eq!(ceilings.rates(&other).unwrap(), [0.0; 0]);
        for connections in 100..100 + MOST as u64 {
            ceilings.store(circumstances(connections), 1.0, 4).unwrap();
        }
        assert_eq!(ceilings.get(&circumstances(9)).unwrap(), None);
        assert_eq!(ceilings.entries().unwrap().len(), MOST);
    }

    #[test]
    fn bodies_of_nearly_the_same_length_are_the_same() {
        let of = |bytes: u64, replies: u64| {
            HttpKey::mean_body_bytes(&Responses {
                statuses: [("200".to_owned(), replies)].into(),
                body_bytes: Some(bytes),
            })
        };
        assert_eq!(of(0, 0), None);
        for (mean, rounded) in
            [(0, 0), (9, 9), (13, 13), (99, 99), (104, 100), (105, 110), (996, 1000), (12_345, 12_000)]
        {
            assert_eq!(of(mean * 7, 7), Some(rounded), "{mean}");
        }
    }

    #[test]
    fn a_damaged_file_is_an_error_to_who_reads_and_replaced_by_who_writes() {
        let home = tempfile::tempdir().unwrap();
        let ceilings = Calibrations::at(home.path().to_owned());
        std::fs::write(home.path().join(FILE), "{").unwrap();
        assert!(ceilings.get(&circumstances(8)).unwrap_err().to_string().contains(FILE));
        ceilings.store(circumstances(8), 5.0, 1).unwrap();
        assert_eq!(ceilings.get(&circumstances(8)).unwrap(), Some(5.0));
        std::fs::write(home.path().join(FILE), r#"{"schema": "brunt.ceiling/0", "entries": []}"#).unwrap();
        assert_eq!(ceilings.get(&circumstances(8)).unwrap(), None);
    }
}
