//! UDP: datagrams that are lost, duplicated and reordered by seed.

use super::clock::nanos;
use super::machine::{Event, State};
use super::random::sum;
use super::socket::{self, Name, destination, source};
use crate::slab::Key;
use std::net::SocketAddr;
use std::{io, os::fd::RawFd};

/// The longest datagram over IPv4.
const MOST: usize = 65_507;

fn error(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

impl State {
    pub fn connect_datagrams(&mut self, fd: RawFd, to: SocketAddr) -> io::Result<()> {
        let of = self.by_descriptor(fd).and_then(|socket| self.sockets.get(socket));
        of.ok_or_else(|| error(libc::EBADF))?.remote = Some(Name::Inet(destination(to)));
        Ok(())
    }

    pub fn send_datagram(&mut self, fd: RawFd, bytes: &[u8], to: Option<SocketAddr>, at: u64) -> io::Result<usize> {
        let of = self.by_descriptor(fd).and_then(|socket| self.sockets.get(socket));
        let of = of.ok_or_else(|| error(libc::EBADF))?;
        if of.errno != 0 {
            return Err(error(std::mem::take(&mut of.errno)));
        }
        let to = to.map(destination).or(of.remote_inet()).ok_or_else(|| error(libc::EDESTADDRREQ))?;
        if bytes.len() > MOST {
            return Err(error(libc::EMSGSIZE));
        }
        let (local, number) = (of.local_inet().unwrap_or_else(|| source(to)), of.number);
        let ip = if local.ip().is_unspecified() { source(to).ip() } else { local.ip() };
        let from = SocketAddr::new(ip, local.port());
        self.trace.note(at, "datagram", number, bytes.len() as i64);
        self.trace.note_sum(sum(bytes));
        let (faults, link) = (self.settings.faults, self.links[0].1.to_server);
        let copies = if self.random.happens(faults.duplicated) { 2 } else { 1 };
        for _ in 0..copies {
            if self.random.happens(faults.lost) {
                continue;
            }
            let when = at + nanos(link.latency) + self.jitter(nanos(link.jitter));
            self.schedule(when, Event::Datagram(Box::new((from, to, bytes.into()))));
        }
        Ok(bytes.len())
    }

    fn receiver(&self, to: SocketAddr) -> Option<Key> {
        let any: SocketAddr = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }.parse().expect("an address");
        let any = SocketAddr::new(any.ip(), to.port());
        self.names.datagrams.get(&to).or_else(|| self.names.datagrams.get(&any)).copied()
    }

    pub fn datagram(&mut self, (from, to, bytes): (SocketAddr, SocketAddr, Box<[u8]>), at: u64) {
        let Some(socket) = self.receiver(to) else {
            // An ICMP message, which only a connected socket hears of.
            let link = self.links[0].1.to_client;
            if let Some(sender) = self.receiver(from) {
                self.schedule(at + nanos(link.latency), Event::Unreachable { to: sender });
            }
            return;
        };
        let limit = self.settings.receive_window;
        let Some(of) = self.sockets.get(socket) else { return };
        let other_peer = of.remote_inet().is_some_and(|peer| peer != from);
        if other_peer || of.datagram_bytes + bytes.len() > limit {
            return;
        }
        of.datagram_bytes += bytes.len();
        of.datagrams.push_back((from, bytes));
        self.notify(socket, true, at);
    }

    pub fn unreachable(&mut self, to: Key, at: u64) {
        let connected = |of: &&mut socket::Socket| of.remote.is_some();
        let Some(of) = self.sockets.get(to).filter(connected) else { return };
        of.errno = libc::ECONNREFUSED;
        self.notify_now(to, [true, true], at);
    }

    /// Bytes stored, bytes sent, and the sender.
    pub fn receive_datagram(&mut self, fd: RawFd, into: &mut [u8]) -> io::Result<(usize, usize, SocketAddr)> {
        let of = self.by_descriptor(fd).and_then(|socket| self.sockets.get(socket));
        let of = of.ok_or_else(|| error(libc::EBADF))?;
        if of.errno != 0 {
            return Err(error(std::mem::take(&mut of.errno)));
        }
        let (from, bytes) = of.datagrams.pop_front().ok_or(io::ErrorKind::WouldBlock)?;
        of.datagram_bytes -= bytes.len();
        let len = bytes.len().min(into.len());
        into[..len].copy_from_slice(&bytes[..len]);
        Ok((len, bytes.len(), from))
    }
}
