//! The access log: one line per request in the Common Log Format, buffered per worker and written by a thread of its own.
//! A slow disk loses lines, which are counted; it never blocks a worker.

use brunt_wire::http1::{Head, Version};
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::{fs::OpenOptions, net::SocketAddr, path::Path};
use time::OffsetDateTime;

/// Bytes after which a buffer is handed to the writer; otherwise once a tick.
const FLUSH_SIZE: usize = 32 << 10;
/// Buffers that may wait for the disk, over all workers.
const MAX_QUEUED: usize = 64;

pub(crate) struct AccessLog {
    sender: SyncSender<Vec<u8>>,
    writer: JoinHandle<()>,
}

impl AccessLog {
    /// Appends to a file, or to standard output for `-`.
    pub fn open(path: &Path) -> io::Result<Self> {
        let out: Box<dyn Write + Send> = if path.as_os_str() == "-" {
            Box::new(io::stdout())
        } else {
            Box::new(OpenOptions::new().create(true).append(true).open(path)?)
        };
        let (sender, buffers) = sync_channel(MAX_QUEUED);
        let writer = thread::Builder::new().name("access-log".to_owned()).spawn(|| write(out, buffers))?;
        Ok(Self { sender, writer })
    }

    pub fn buffer(&self) -> LogBuffer {
        LogBuffer { sender: self.sender.clone(), lines: Vec::new(), count: 0, date: String::new() }
    }

    /// Waits until everything is written. All [`LogBuffer`]s must have been dropped.
    pub fn close(self) {
        drop(self.sender);
        let _ = self.writer.join();
    }
}

fn write(mut out: Box<dyn Write + Send>, buffers: Receiver<Vec<u8>>) {
    let mut failed = false;
    for buffer in buffers {
        if let Err(error) = out.write_all(&buffer).and_then(|()| out.flush())
            && !std::mem::replace(&mut failed, true)
        {
            eprintln!("brunt serve: cannot write the access log: {error}; lines are lost until this is fixed");
        }
    }
}

pub(crate) struct LogBuffer {
    sender: SyncSender<Vec<u8>>,
    lines: Vec<u8>,
    count: u64,
    date: String,
}

impl LogBuffer {
    /// Sets the time of the following lines, in seconds since 1970.
    pub fn set_time(&mut self, unix: u64) {
        self.date = common_date(unix);
    }

    /// Appends a line; `length` is the announced length of the body. Returns the number of lines lost.
    pub fn add(&mut self, peer: SocketAddr, head: &Head<'_>, status: u16, length: Option<u64>) -> u64 {
        let version = if head.version == Version::Http11 { "1.1" } else { "1.0" };
        let length = length.map_or_else(|| "-".to_owned(), |length| length.to_string());
        let (peer, date, method) = (peer.ip(), &self.date, head.method_name);
        // The target holds no control characters or spaces; a quote would end the field early.
        let target = head.target().replace('"', "%22");
        let _ = writeln!(self.lines, "{peer} - - [{date}] \"{method} {target} HTTP/{version}\" {status:03} {length}");
        self.count += 1;
        if self.lines.len() >= FLUSH_SIZE { self.flush() } else { 0 }
    }

    /// Hands the lines to the writer. Returns the number of lines lost because it is behind.
    pub fn flush(&mut self) -> u64 {
        if self.lines.is_empty() {
            return 0;
        }
        let count = std::mem::take(&mut self.count);
        let sent = self.sender.try_send(std::mem::take(&mut self.lines));
        if sent.is_ok() { 0 } else { count }
    }
}

/// The date in the Common Log Format: `22/Nov/2026:02:31:00 +0000`.
fn common_date(unix: u64) -> String {
    let at = i64::try_from(unix).ok().and_then(|unix| OffsetDateTime::from_unix_timestamp(unix).ok());
    let at = at.unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (month, year) = (&at.month().to_string()[..3], at.year());
    format!("{:02}/{month}/{year}:{:02}:{:02}:{:02} +0000", at.day(), at.hour(), at.minute(), at.second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_match_known_values() {
        assert_eq!(common_date(0), "01/Jan/1970:00:00:00 +0000");
        assert_eq!(common_date(784_111_777), "06/Nov/1994:08:49:37 +0000");
        assert_eq!(common_date(951_782_400), "29/Feb/2000:00:00:00 +0000");
        assert_eq!(common_date(4_107_542_400), "01/Mar/2100:00:00:00 +0000");
    }
}
