//! The access log: a line a request, gathered by each worker and written by a thread of its own. A disk that is too slow
//! costs lines, which are counted, and never holds a worker up.

use brunt_wire::http1::{Head, Version};
use std::{
    fs::OpenOptions,
    io::{self, Write},
    net::SocketAddr,
    path::Path,
    sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    thread::{self, JoinHandle},
};

/// Lines are handed over when there are so many bytes of them, or when a tick has passed.
const FULL: usize = 32 << 10;
/// Portions that may wait for the disk, of all workers together.
const WAITING: usize = 64;

/// An open log.
pub(crate) struct Log {
    sender: SyncSender<Vec<u8>>,
    writer: JoinHandle<()>,
}

impl Log {
    /// Appends to a file, or to standard output for `-`.
    pub fn open(path: &Path) -> io::Result<Self> {
        let out: Box<dyn Write + Send> = if path.as_os_str() == "-" {
            Box::new(io::stdout())
        } else {
            Box::new(OpenOptions::new().create(true).append(true).open(path)?)
        };
        let (sender, portions) = sync_channel(WAITING);
        let writer = thread::Builder::new().name("access-log".to_owned()).spawn(|| write(out, portions))?;
        Ok(Self { sender, writer })
    }

    /// For a worker.
    pub fn lines(&self) -> Lines {
        Lines { sender: self.sender.clone(), lines: Vec::new(), count: 0, date: String::new() }
    }

    /// Waits until everything handed over is written; all [`Lines`] must be gone.
    pub fn close(self) {
        drop(self.sender);
        let _ = self.writer.join();
    }
}

fn write(mut out: Box<dyn Write + Send>, portions: Receiver<Vec<u8>>) {
    let mut failed = false;
    for portion in portions {
        if let Err(error) = out.write_all(&portion).and_then(|()| out.flush())
            && !std::mem::replace(&mut failed, true)
        {
            eprintln!("brunt serve: cannot write the access log: {error}; lines are lost until that is mended");
        }
    }
}

/// One worker's lines.
pub(crate) struct Lines {
    sender: SyncSender<Vec<u8>>,
    lines: Vec<u8>,
    count: u64,
    date: String,
}

impl Lines {
    /// What the lines from now on say about the time: seconds since 1970.
    pub fn set_time(&mut self, unix: u64) {
        self.date = common_date(unix);
    }

    /// A line in the Common Log Format; the length is that of the body as announced. Returns lines lost by this.
    pub fn add(&mut self, peer: SocketAddr, head: &Head<'_>, status: u16, length: Option<u64>) -> u64 {
        let version = if head.version == Version::Http11 { "1.1" } else { "1.0" };
        let length = length.map_or_else(|| "-".to_owned(), |length| length.to_string());
        let (peer, date, method) = (peer.ip(), &self.date, head.method_name);
        // The target holds no control character and no blank; a quote would end the field early.
        let target = head.target().replace('"', "%22");
        let _ = writeln!(self.lines, "{peer} - - [{date}] \"{method} {target} HTTP/{version}\" {status:03} {length}");
        self.count += 1;
        if self.lines.len() >= FULL { self.hand_over() } else { 0 }
    }

    /// Gives what has gathered to the writer. Returns how many lines were lost because it is behind.
    pub fn hand_over(&mut self) -> u64 {
        if self.lines.is_empty() {
            return 0;
        }
        let count = std::mem::take(&mut self.count);
        match self.sender.try_send(std::mem::take(&mut self.lines)) {
            Ok(()) => 0,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => count,
        }
    }
}

/// `22/Nov/2026:02:31:00 +0000`. The calendar of Howard Hinnant's `civil_from_days`: years begin with March.
fn common_date(unix: u64) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (days, seconds) = (unix / 86_400 + 719_468, unix % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let month = (from_march + 2) % 12;
    let (year, day) = (year + era * 400 + u64::from(month < 2), day - (153 * from_march + 2) / 5 + 1);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{day:02}/{}/{year}:{hour:02}:{minute:02}:{second:02} +0000", MONTHS[month as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_that_others_have_worked_out() {
        assert_eq!(common_date(0), "01/Jan/1970:00:00:00 +0000");
        assert_eq!(common_date(784_111_777), "06/Nov/1994:08:49:37 +0000");
        assert_eq!(common_date(951_782_400), "29/Feb/2000:00:00:00 +0000");
        assert_eq!(common_date(4_107_542_400), "01/Mar/2100:00:00:00 +0000");
    }
}
