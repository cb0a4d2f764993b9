//! `--counts`: counts of requests in short intervals, for a controller that reads them while the load goes on.

use super::usage;
use brunt_load::Counting;
use brunt_results::{Error, Slo, Span, counts::Counts};
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

const EVERY: Span = Span(Duration::from_millis(100));
const LEAST: Span = Span(Duration::from_millis(10));
const MOST: Span = Span(Duration::from_secs(1));

#[derive(Debug, clap::Args)]
pub(super) struct CountsFlags {
    /// Write counts of requests to a file or named pipe while the load goes on, one JSON object a line
    #[arg(long, value_name = "FILE", requires = "slo", help_heading = HEADING)]
    pub(super) counts: Option<PathBuf>,
    /// Interval of the counts [default: 100ms]
    #[arg(long, value_name = "TIME", requires = "counts", help_heading = HEADING)]
    counts_every: Option<Span>,
    /// Which requests the counts call slow, and which percentile they give, for example 'p99<6ms'
    #[arg(long, value_name = "OBJECTIVE", requires = "counts", help_heading = HEADING)]
    slo: Option<Slo>,
}

const HEADING: &str = "Counts";

impl CountsFlags {
    pub(super) fn options(&self) -> Result<Option<Counting>, Error> {
        let (Some(_), Some(slo)) = (&self.counts, &self.slo) else { return Ok(None) };
        let every = self.counts_every.unwrap_or(EVERY);
        if !(LEAST..=MOST).contains(&every) {
            return usage(format!("--counts-every {every}: it must be from {LEAST} to {MOST}"));
        }
        let (quantile, limit) = slo.quantile().map_err(|why| Error::Usage(format!("--slo: {why}")))?;
        Ok(Some(Counting { every: every.0, limit: limit.0, quantile }))
    }

    pub(super) fn create(&self) -> Result<Option<CountsFile>, Error> {
        Ok(self.counts.as_deref().map(CountsFile::create).transpose()?)
    }
}

/// Never blocks: a line that a pipe has no room for is lost.
#[derive(Debug)]
pub(super) struct CountsFile {
    file: File,
    path: PathBuf,
    lost: u64,
}

impl CountsFile {
    fn create(path: &Path) -> io::Result<Self> {
        let is_pipe = fs::metadata(path).is_ok_and(|is| is.file_type().is_fifo());
        let mut options = OpenOptions::new();
        match is_pipe {
            // Open for reading too, a pipe needs no reader to be opened.
            true => options.read(true).write(true).custom_flags(OFlags::NONBLOCK.bits() as i32),
            false => options.write(true).create(true).truncate(true),
        };
        let file = options.open(path).map_err(|error| named(path, error))?;
        Ok(Self { file, path: path.to_owned(), lost: 0 })
    }

    pub(super) fn write(&mut self, counts: &Counts) -> io::Result<()> {
        // A pipe takes a line of this length as a whole or not at all.
        match self.file.write_all(counts.line().as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.lost += 1,
            written => written.map_err(|error| named(&self.path, error))?,
        }
        Ok(())
    }

    /// Says how many lines were lost, if any were.
    pub(super) fn lost(&self) -> Option<String> {
        let path = self.path.display();
        (self.lost > 0).then(|| format!("{} lines of --counts were lost: nothing reads the pipe {path}", self.lost))
    }
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write to {}: {error}", path.display()))
}
