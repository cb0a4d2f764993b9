//! Output of a job: read from its pipes without waiting, kept in files of bounded size.

use super::progress::Lines;
use crate::queue::{AttemptId, Pattern};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// Least bytes of a file before it is replaced.
const LEAST: u64 = 64 << 10;
/// Read at once.
const CHUNK: usize = 8 << 10;
/// Most chunks read from a pipe in one poll.
const CHUNKS: usize = 32;
/// Size of a pipe: what a job can write between two polls without waiting.
const PIPE: usize = 256 << 10;

/// Where the output of jobs is kept: `JOB-ATTEMPT.out` and `.err`; what is older than half of the size, in `.out.old`.
#[derive(Debug, Clone)]
pub struct Output {
    /// Created when it is needed.
    pub dir: PathBuf,
    /// Most bytes kept of a stream; of more, the last ones. At least 128 KiB are.
    pub bytes: u64,
}

/// One pipe and its file.
#[derive(Debug)]
pub(super) struct Stream {
    /// `None` once its writers have closed it.
    pipe: Option<File>,
    file: Bounded,
    lines: Lines,
}

impl Stream {
    pub(super) fn new(pipe: OwnedFd, output: &Output, id: AttemptId, suffix: &str) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        // A limit of the user may forbid it: the job waits more often then.
        let _ = rustix::pipe::fcntl_setpipe_size(&pipe, PIPE);
        let path = output.dir.join(format!("{id}.{suffix}"));
        let half = (output.bytes / 2).max(LEAST);
        let file = Bounded { path, half, file: None, written: 0, failed: false };
        Ok(Self { pipe: Some(pipe.into()), file, lines: Lines::default() })
    }

    /// Reads what is there, up to a bound; returns the last figure of progress in it. An error of the file is reported once;
    /// the job goes on.
    pub(super) fn read(&mut self, pattern: Option<&Pattern>, warning: &mut Option<String>) -> Option<f64> {
        let mut chunk = [0; CHUNK];
        for _ in 0..CHUNKS {
            let Some(pipe) = &mut self.pipe else { break };
            match pipe.read(&mut chunk) {
                Ok(0) => self.pipe = None,
                Ok(length) => {
                    if let Err(error) = self.file.write(&chunk[..length]) {
                        *warning = Some(error.to_string());
                    }
                    if pattern.is_some() {
                        self.lines.add(&chunk[..length]);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.pipe = None,
            }
        }
        pattern.and_then(|pattern| self.lines.figure(pattern))
    }

    /// Reads the rest when all writers have gone; returns as [`Self::read`].
    pub(super) fn finish(&mut self, pattern: Option<&Pattern>, warning: &mut Option<String>) -> Option<f64> {
        let figure = self.read(pattern, warning);
        self.lines.end();
        pattern.and_then(|pattern| self.lines.figure(pattern)).or(figure)
    }
}

/// A file of which the last part is kept.
#[derive(Debug)]
struct Bounded {
    path: PathBuf,
    /// Most bytes of the file, and of the one before.
    half: u64,
    file: Option<File>,
    written: u64,
    failed: bool,
}

impl Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.failed {
            return Ok(());
        }
        let written = self.try_write(bytes);
        self.failed = written.is_err();
        written.map_err(|error| {
            let lost = "further output of this job is lost";
            io::Error::new(error.kind(), format!("cannot write to {}: {error}; {lost}", self.path.display()))
        })
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = bytes.len() as u64;
        if self.file.is_some() && self.written + length > self.half {
            let mut old = self.path.as_os_str().to_owned();
            old.push(".old");
            fs::rename(&self.path, old)?;
            self.file = None;
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                self.path.parent().map_or(Ok(()), fs::create_dir_all)?;
                self.written = 0;
                self.file.insert(File::create(&self.path)?)
            }
        };
        self.written += length;
        file.write_all(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_the_output_is_kept_within_the_bound() {
        let home = tempfile::tempdir().unwrap();
        let output = Output { dir: home.path().join("made"), bytes: 256 << 10 };
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let mut stream = Stream::new(reader, &output, AttemptId { job: 3, attempt: 1 }, "out").unwrap();
        let mut writer = File::from(writer);
        let pattern: Pattern = r"at (\d+)".parse().unwrap();
        let (mut warning, mut figure) = (None, None);
        for line in 0..100_000 {
            write!(writer, "at {line:6}\r\n").unwrap();
            if line % 1000 == 0 {
                figure = stream.read(Some(&pattern), &mut warning);
                assert_eq!(figure, None, "six columns: blanks stand before the number");
            }
        }
        write!(writer, "at 1\nat 77").unwrap();
        drop(writer);
        let mut read = |last: bool| {
            let read = if last { Stream::finish } else { Stream::read };
            read(&mut stream, Some(&pattern), &mut warning)
        };
        assert_eq!((read(false), read(true), figure), (Some(1.0), Some(77.0), None));
        assert_eq!(warning, None);
        let text = |name: &str| fs::read_to_string(output.dir.join(name)).unwrap();
        let kept = text("3-1.out.old") + &text("3-1.out");
        assert!(kept.len() as u64 <= output.bytes && kept.len() as u64 >= output.bytes / 2 - CHUNK as u64);
        assert!(kept.ends_with("at  99999\r\nat 1\nat 77"), "{}", &kept[kept.len() - 40..]);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_one_warning() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("dir"), "in the way").unwrap();
        let output = Output { dir: home.path().join("dir"), bytes: 0 };
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let mut stream = Stream::new(reader, &output, AttemptId { job: 3, attempt: 1 }, "out").unwrap();
        let mut writer = File::from(writer);
        let mut warnings = Vec::new();
        for _ in 0..3 {
            writer.write_all(b"text\n").unwrap();
            let mut warning = None;
            stream.read(None, &mut warning);
            warnings.extend(warning);
        }
        assert!(warnings.len() == 1 && warnings[0].contains("3-1.out"), "{warnings:?}");
    }
}
