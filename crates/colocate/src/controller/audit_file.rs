//! The audit log of a run, of bounded length. A disk that is full ends the log, not the run.

use crate::audit::{Header, Log, Record};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct Audit {
    path: PathBuf,
    /// `None` once it has ended.
    log: Option<Log<BufWriter<File>>>,
    records: u64,
    most: u64,
}

impl Audit {
    pub(super) fn create(path: &Path, most: u64, header: &Header) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let file = BufWriter::new(File::create(path).map_err(named)?);
        let log = Log::begin(file, header).map_err(named)?;
        Ok(Self { path: path.to_owned(), log: Some(log), records: 0, most })
    }

    pub(super) fn add(&mut self, record: &Record, warnings: &mut Vec<String>) {
        let Some(log) = &mut self.log else { return };
        self.records += 1;
        let is_second = self.records.is_multiple_of(50);
        let written = log.add(record).and_then(|()| if is_second { log.flush() } else { Ok(()) });
        let path = self.path.display();
        let length = || self.path.metadata().map_or(0, |file| file.len());
        match written {
            Err(error) => warnings.push(format!("{path}: {error}; the audit log ends here")),
            Ok(()) if is_second && length() >= self.most => {
                warnings.push(format!("{path} is as long as it may be (audit): it ends here"));
            }
            Ok(()) => return,
        }
        self.log = None;
    }

    /// That nothing is added any more, as long as it is.
    pub(super) fn fault(&self) -> Option<String> {
        self.log
            .is_none()
            .then(|| format!("{}: the audit log has ended: nothing is added any more", self.path.display()))
    }

    pub(super) fn finish(&mut self) -> Option<String> {
        let flushed = self.log.as_mut().map_or(Ok(()), Log::flush);
        flushed.err().map(|error| format!("{}: {error}", self.path.display()))
    }
}
