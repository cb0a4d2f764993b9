//! What coordinator and agents send each other of a load: its description, and seconds.

use crate::cmd::load::SentScript;
use brunt_fleet::words::{File, Table};
use brunt_load::Counting;
use brunt_spec::LoadSpec;
use flate2::Compression;
use flate2::read::{DeflateDecoder, DeflateEncoder};
use serde::{Deserialize, Serialize};
use std::io::Read as _;

/// Name of the one distribution of a second: the reports of the load threads, compressed.
const REPORTS: &str = "reports";
/// Bytes of a second, uncompressed, above which it is no second of brunt.
const LARGEST: u64 = 1 << 30;

/// The description of a load as it is sent to agents.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::cmd) struct Shipped {
    /// The whole load; threads and cores are those of each agent.
    pub spec: LoadSpec,
    pub counts: Option<Counting>,
    /// Files that it names, which agents fetch; none of those of secrets.
    #[serde(default)]
    pub files: Vec<File>,
    /// The script that makes the requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<SentScript>,
}

impl Shipped {
    /// A second as a message.
    pub(super) fn table(second: &[u8]) -> Table {
        let mut bytes = Vec::new();
        // Reading from memory does not fail.
        let _ = DeflateEncoder::new(second, Compression::fast()).read_to_end(&mut bytes);
        Table { distributions: [(REPORTS.to_owned(), bytes)].into(), ..Table::default() }
    }

    /// The second of a message.
    pub fn second(table: &Table) -> Result<Vec<u8>, String> {
        let bytes = table.distributions.get(REPORTS).ok_or("a second without reports")?;
        let mut second = Vec::new();
        let read = DeflateDecoder::new(&bytes[..]).take(LARGEST).read_to_end(&mut second);
        read.map(|_| second).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_as_they_were_sent() {
        let second = b"reports of a second ".repeat(1000);
        let table = Shipped::table(&second);
        assert!(table.encode().len() < 1000, "{}", table.encode().len());
        assert_eq!(Shipped::second(&table), Ok(second));
        assert!(Shipped::second(&Table::default()).is_err());
        let broken = Table { distributions: [(REPORTS.to_owned(), vec![0xff; 9])].into(), ..Table::default() };
        assert!(Shipped::second(&broken).is_err());
    }

    #[test]
    fn changed_descriptions_and_seconds_are_read_or_refused() {
        let spec = LoadSpec { urls: vec!["http://127.0.0.1:9/".to_owned()], ..LoadSpec::default() };
        let file = File { path: "a".into(), bytes: 7, hash: "0".repeat(64) };
        let text = serde_json::to_string(&Shipped { spec, counts: None, files: vec![file], script: None }).unwrap();
        let second = Shipped::table(&b"reports of a second ".repeat(20)).encode();
        let (mut random, mut read) = (brunt_testkit::Random::new(7), [0, 0]);
        for _ in 0..5000 {
            let text = brunt_testkit::changed(text.as_bytes(), &mut random);
            read[0] += u32::from(serde_json::from_slice::<Shipped>(&text).is_ok());
            let table = Table::decode(&brunt_testkit::changed(&second, &mut random));
            read[1] += u32::from(table.is_ok_and(|table| Shipped::second(&table).is_ok()));
        }
        assert!(read.iter().all(|read| (1..5000).contains(read)), "{read:?}");
    }
}
