//! TCP sockets of this network namespace with their byte counts, listed over netlink.
//!
//! sock_diag(7); `inet_diag_req_v2` and `struct tcp_info` of `linux/inet_diag.h` and `linux/tcp.h`. A structure shorter than
//! expected (an older kernel) is an error, never a zero.

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::{ops::ControlFlow, time::Duration};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Socket {
    /// Identifies the socket for its lifetime.
    pub cookie: u64,
    pub local_port: u16,
    /// Id of the control group of version 2 that made it, which is the inode of the group's directory. Linux 5.7 and later
    /// tell it.
    pub group: Option<u64>,
    /// Payload received in order, read by the program or not.
    pub received_bytes: u64,
    pub acked_bytes: u64,
    pub retransmits: u32,
    /// Memory of its buffers as accounted by the kernel: data not yet read, and data not yet acknowledged.
    pub buffer_bytes: u64,
}

/// Message types and flags of netlink(7); `linux/netlink.h` and `linux/sock_diag.h`.
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
pub(crate) const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// The older request: the only one that lists both families in one pass over the table of all connections, which is most of
/// the cost of a list.
const TCPDIAG_GETSOCK: u16 = 18;
const NLM_F_REQUEST_DUMP: u16 = 0x001 | 0x100 | 0x200;
/// Attributes of a reply; a request sets bit `n - 1` for attribute `n`.
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_SKMEMINFO: u16 = 7;
const INET_DIAG_CGROUP_ID: u16 = 21;
/// States (`net/tcp_states.h`) in which a connection is a full socket: ESTABLISHED, FIN_WAIT1, CLOSE_WAIT, LAST_ACK, CLOSING.
const STATES: u32 = 1 << 1 | 1 << 4 | 1 << 8 | 1 << 9 | 1 << 11;
/// The state LISTEN. Listeners have a table of their own, so that a list of them passes over no connections.
const LISTEN: u32 = 1 << 10;
/// Sizes of `struct nlmsghdr` and `struct inet_diag_msg`.
pub(crate) const HEADER: usize = 16;
const MESSAGE: usize = 72;

/// A connection as one of its ends has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    /// What a descriptor of it links to; 0 if no process has it.
    pub inode: u64,
}

/// Calls `each` with every connected TCP socket of this local port, or of all for port 0, over IPv4 and IPv6, until it returns false.
pub(crate) fn of_port(port: u16, each: &mut dyn FnMut(Socket) -> bool) -> Result<(), String> {
    let wanted = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_SKMEMINFO - 1);
    list(wanted, STATES, port, &mut |message| Ok(each(socket(message)?)))
}

/// Calls `each` with every connected TCP socket, over IPv4 and IPv6.
pub(crate) fn ends(each: &mut dyn FnMut(End)) -> Result<(), String> {
    list(0, STATES, 0, &mut |message| {
        each(end(message)?);
        Ok(true)
    })
}

/// Address and inode of every listening TCP socket, over IPv4 and IPv6.
pub(crate) fn listening() -> Result<Vec<(SocketAddr, u64)>, String> {
    let mut all = Vec::new();
    list(0, LISTEN, 0, &mut |message| {
        let End { local, inode, .. } = end(message)?;
        all.push((local, inode));
        Ok(true)
    })?;
    Ok(all)
}

/// What is done with a socket of a list; false ends the list.
type Each<'a> = &'a mut dyn FnMut(&[u8]) -> Result<bool, String>;

fn list(wanted: u8, states: u32, port: u16, each: Each) -> Result<(), String> {
    let mut is_listed = false;
    let both = dump(&request_of_both(wanted, states, port), &mut |message| {
        is_listed = true;
        each(message)
    });
    if both.is_ok() || is_listed {
        return both;
    }
    for family in [libc::AF_INET, libc::AF_INET6] {
        dump(&request(family as u8, wanted, states, port), each)?;
    }
    Ok(())
}

/// Sends a request for a list and reads all of it.
pub(crate) fn dump(request: &[u8], each: Each) -> Result<(), String> {
    read_list(request, each).map_err(|why| format!("the kernel does not list sockets by sock_diag: {why}"))
}

fn read_list(request: &[u8], each: Each) -> Result<(), String> {
    let text = |errno: Errno| errno.to_string();
    let link = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG));
    let link = link.map_err(text)?;
    // The kernel replies at once; the timeout guards against a filtered reply.
    set_socket_timeout(&link, Timeout::Recv, Some(Duration::from_secs(2))).map_err(text)?;
    send(&link, request, SendFlags::empty()).map_err(text)?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let (length, _) = match recv(&link, &mut buffer[..], RecvFlags::empty()) {
            Err(Errno::INTR) => continue,
            other => other.map_err(text)?,
        };
        if parse(&buffer[..length], each)?.is_break() {
            return Ok(());
        }
    }
}

fn request(family: u8, wanted: u8, states: u32, port: u16) -> Vec<u8> {
    let mut request = list_request(SOCK_DIAG_BY_FAMILY, HEADER + 56);
    request.extend([family, libc::IPPROTO_TCP as u8, wanted, 0]);
    request.extend(states.to_ne_bytes());
    request.extend(port.to_be_bytes());
    // The rest of inet_diag_sockid: any peer, any address, any cookie.
    request.resize(HEADER + 56, 0);
    request
}

/// `struct inet_diag_req`, whose family the kernel does not read.
fn request_of_both(wanted: u8, states: u32, port: u16) -> Vec<u8> {
    let mut request = list_request(TCPDIAG_GETSOCK, HEADER + 60);
    request.extend([0, 0, 0, wanted]);
    request.extend(port.to_be_bytes());
    request.resize(HEADER + 52, 0);
    request.extend(states.to_ne_bytes());
    request.resize(HEADER + 60, 0);
    request
}

/// The header of a request of this length for a list.
pub(crate) fn list_request(kind: u16, length: usize) -> Vec<u8> {
    let mut request = Vec::with_capacity(length);
    request.extend((length as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(NLM_F_REQUEST_DUMP.to_ne_bytes());
    // Sequence number and sender.
    request.extend([0; 8]);
    request
}

/// Breaks at the end of the list, or if `each` returns false.
fn parse(mut bytes: &[u8], each: Each) -> Result<ControlFlow<()>, String> {
    while bytes.len() >= HEADER {
        let length = u32_at(bytes, 0)? as usize;
        let message = bytes.get(HEADER..length).ok_or("a message is cut off")?;
        match u16_at(bytes, 4)? {
            NLMSG_DONE => return Ok(ControlFlow::Break(())),
            NLMSG_ERROR => return Err(Errno::from_raw_os_error(-(u32_at(message, 0)? as i32)).to_string()),
            SOCK_DIAG_BY_FAMILY | TCPDIAG_GETSOCK if !each(message)? => return Ok(ControlFlow::Break(())),
            _ => (),
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(ControlFlow::Continue(()))
}

/// The attributes behind a structure of this length: kind and value of each.
pub(crate) fn attributes(message: &[u8], length: usize) -> impl Iterator<Item = Result<(u16, &[u8]), String>> {
    let mut rest = message.get(length..).unwrap_or_default();
    let mut next = move || {
        let length = usize::from(u16_at(rest, 0)?);
        let attribute = (u16_at(rest, 2)?, rest.get(4..length).ok_or("an attribute is cut off")?);
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Ok((attribute, rest.len() >= 4))
    };
    let mut more = message.len() >= length + 4;
    std::iter::from_fn(move || {
        more.then(|| {
            let next = next();
            more = next.as_ref().is_ok_and(|(_, more)| *more);
            next.map(|(attribute, _)| attribute)
        })
    })
}

fn end(message: &[u8]) -> Result<End, String> {
    // inet_diag_msg: family, 3 bytes, then inet_diag_sockid: two ports and two addresses of 16 bytes.
    let is_v4 = message.first() == Some(&(libc::AF_INET as u8));
    let address = |at: usize| -> Result<IpAddr, String> {
        let v4 = || bytes_at::<4>(message, at).map(IpAddr::from);
        let v6 = || bytes_at::<16>(message, at).map(|bytes| Ipv6Addr::from(bytes).to_canonical());
        if is_v4 { v4() } else { v6() }
    };
    let port = |at: usize| bytes_at(message, at).map(u16::from_be_bytes);
    Ok(End {
        local: SocketAddr::new(address(8)?, port(4)?),
        remote: SocketAddr::new(address(24)?, port(6)?),
        inode: u32_at(message, MESSAGE - 4)?.into(),
    })
}

fn socket(message: &[u8]) -> Result<Socket, String> {
    // inet_diag_msg: 4 bytes, then inet_diag_sockid of 48, which ends in the cookie.
    let cookie = u64_at(message, 44)?;
    let (mut info, mut memory, mut group) = (None, None, None);
    for attribute in attributes(message, MESSAGE) {
        let (kind, value) = attribute?;
        match kind {
            INET_DIAG_INFO => info = Some(value),
            INET_DIAG_SKMEMINFO => memory = Some(value),
            INET_DIAG_CGROUP_ID => group = Some(u64_at(value, 0)?),
            _ => (),
        }
    }
    let info = info.ok_or("it has no tcp_info of a socket")?;
    let memory = memory.ok_or("it has no memory of a socket")?;
    Ok(Socket {
        cookie,
        local_port: u16::from_be_bytes(bytes_at(message, 4)?),
        group,
        // Linux 4.1 and later have these.
        received_bytes: u64_at(info, 128)?,
        acked_bytes: u64_at(info, 120)?,
        retransmits: u32_at(info, 100)?,
        // SK_MEMINFO_RMEM_ALLOC and SK_MEMINFO_WMEM_QUEUED.
        buffer_bytes: u64::from(u32_at(memory, 0)?) + u64::from(u32_at(memory, 20)?),
    })
}

pub(crate) fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], String> {
    let field = bytes.get(at..at + N).and_then(|field| field.try_into().ok());
    field.ok_or_else(|| format!("{} bytes where more than {at} are expected", bytes.len()))
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, String> {
    bytes_at(bytes, at).map(u16::from_ne_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Result<u32, String> {
    bytes_at(bytes, at).map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, String> {
    bytes_at(bytes, at).map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn byte_counts_of_a_socket_are_read() {
        for host in ["127.0.0.1", "::1"] {
            let Ok(listener) = TcpListener::bind((host, 0)) else {
                println!("skipped: no {host} here");
                continue;
            };
            let port = listener.local_addr().unwrap().port();
            let mut far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut near, _) = listener.accept().unwrap();
            far.write_all(&[1; 3000]).unwrap();
            near.read_exact(&mut [0; 2000]).unwrap();
            near.write_all(&[2; 500]).unwrap();
            far.read_exact(&mut [0; 500]).unwrap();
            let begin = std::time::Instant::now();
            let socket = loop {
                let mut sockets = Vec::new();
                let listed = of_port(port, &mut |socket| {
                    sockets.push(socket);
                    true
                });
                if let Err(why) = listed {
                    println!("skipped: {why}");
                    return;
                }
                let [socket] = sockets[..] else { panic!("{sockets:?}") };
                // Acknowledgements may be delayed.
                if socket.acked_bytes == 500 || begin.elapsed() > brunt_testkit::LIMIT {
                    break socket;
                }
                std::thread::sleep(Duration::from_millis(5));
            };
            assert_eq!(socket.local_port, port);
            assert_eq!((socket.received_bytes, socket.acked_bytes, socket.retransmits), (3000, 500, 0), "{host}");
            assert!(socket.buffer_bytes >= 1000 && socket.cookie != 0, "{socket:?}");
        }
    }

    #[test]
    fn truncated_replies_are_errors() {
        let mut message = vec![0u8; MESSAGE];
        for (kind, value) in [(INET_DIAG_INFO, vec![7u8; 144]), (INET_DIAG_SKMEMINFO, vec![1; 36])] {
            message.extend((4 + value.len() as u16).to_ne_bytes());
            message.extend(kind.to_ne_bytes());
            message.extend(value);
        }
        let mut whole = ((HEADER + message.len()) as u32).to_ne_bytes().to_vec();
        whole.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        whole.extend([0; 10]);
        whole.extend(message);
        let mut seen = 0;
        let mut count = |message: &[u8]| {
            socket(message)?;
            seen += 1;
            Ok(true)
        };
        assert_eq!(parse(&whole, &mut count), Ok(ControlFlow::Continue(())));
        for length in HEADER..whole.len() {
            assert!(parse(&whole[..length], &mut count).is_err(), "{length}");
            // With a header of matching length.
            let mut shorter = whole[..length].to_vec();
            shorter[..4].copy_from_slice(&(length as u32).to_ne_bytes());
            assert!(parse(&shorter, &mut count).is_err(), "{length}");
        }
        assert_eq!(seen, 1);
        // A length of 0 must not loop.
        assert!(parse(&[0; HEADER], &mut |_| Ok(true)).is_err());
    }
}
