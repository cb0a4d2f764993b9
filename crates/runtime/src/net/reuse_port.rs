//! Which sockets of a SO_REUSEPORT group get new connections: some at random, instead of one by a hash of the addresses. And
//! how many wait in one.
//!
//! The group's program is classic BPF (socket(7), `SO_ATTACH_REUSEPORT_CBPF`, Linux 4.5), which needs no privilege. It returns
//! a position in the order of listening. Connections that are established already stay where they are.

use std::os::fd::{AsFd, AsRawFd};
use std::{io, mem::size_of};

/// `A = a random number` (`SKF_AD_RANDOM`), `A %= k`, `skip an instruction unless A == k`, `return k`.
const LOAD_RANDOM: (u16, u32) = (0x20, 0xffff_f000 + 56);
const MODULO: u16 = 0x94;
const JUMP_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

/// Directs new connections to the sockets at `positions` of the group that `listener` belongs to, to each with equal chance.
///
/// # Errors
/// There is no position, or there are more than a thousand; the socket is in no group; or the kernel forbids programs.
pub fn direct_to(listener: &impl AsFd, positions: &[u32]) -> io::Result<()> {
    let [.., last] = positions else { return Err(io::ErrorKind::InvalidInput.into()) };
    let instruction = |(code, k): (u16, u32)| libc::sock_filter { code, jt: 0, jf: u8::from(code == JUMP_EQUAL), k };
    let choice = [LOAD_RANDOM, (MODULO, positions.len() as u32)];
    let cases = (0..).zip(positions).flat_map(|(number, position)| [(JUMP_EQUAL, number), (RETURN, *position)]);
    let mut program: Vec<_> = choice.into_iter().chain(cases).chain([(RETURN, *last)]).map(instruction).collect();
    if positions.len() > 1000 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let described = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    set(listener, libc::SO_ATTACH_REUSEPORT_CBPF, &described)
}

/// The queue of a listener, in connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Not accepted yet.
    pub waiting: u32,
    /// Beyond it, the kernel drops attempts.
    pub limit: u32,
}

/// The queue of `listener`.
///
/// # Errors
/// It is no TCP socket.
pub fn queue(listener: &impl AsFd) -> io::Result<Queue> {
    if let Some(simulated) = crate::sys::queue(listener.as_fd()) {
        return simulated.map(|(waiting, limit)| Queue { waiting, limit });
    }
    // SAFETY: numbers only, for which zero is valid.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&info) as libc::socklen_t;
    let (fd, level) = (listener.as_fd().as_raw_fd(), libc::IPPROTO_TCP);
    // SAFETY: the descriptor is open while it is borrowed; the kernel writes at most `length` bytes.
    match unsafe { libc::getsockopt(fd, level, libc::TCP_INFO, (&raw mut info).cast(), &mut length) } {
        // The kernel's tcp_get_info gives these two fields of a listening socket another meaning.
        0 => Ok(Queue { waiting: info.tcpi_unacked, limit: info.tcpi_sacked }),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set<T>(listener: &impl AsFd, option: i32, value: &T) -> io::Result<()> {
    let (fd, length) = (listener.as_fd().as_raw_fd(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the descriptor is open while it is borrowed; the kernel copies `length` bytes, and for a program the
    // instructions it points to, which the caller's vector holds until this returns.
    match unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, option, std::ptr::from_ref(value).cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::{Domain, Socket, Type};
    use std::net::{SocketAddr, TcpListener, TcpStream};

    fn group(count: usize) -> Vec<TcpListener> {
        let mut address: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let listen = || {
            let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None).unwrap();
            socket.set_reuse_port(true).unwrap();
            socket.bind(&address.into()).unwrap();
            socket.listen(64).unwrap();
            let listener = TcpListener::from(socket);
            address = listener.local_addr().unwrap();
            listener
        };
        std::iter::repeat_with(listen).take(count).collect()
    }

    /// Connections that each listener gets of 64.
    fn spread(group: &[TcpListener]) -> Vec<usize> {
        let address = group[0].local_addr().unwrap();
        let clients: Vec<_> = (0..64).map(|_| TcpStream::connect(address).unwrap()).collect();
        let spread = group.iter().map(|listener| std::iter::from_fn(|| listener.accept().ok()).count()).collect();
        drop(clients);
        spread
    }

    #[test]
    fn connections_go_where_they_are_directed() {
        let group = group(4);
        direct_to(&group[0], &[2]).unwrap();
        assert_eq!(spread(&group), [0, 0, 64, 0]);
        direct_to(&group[3], &[1, 3]).unwrap();
        let both = spread(&group);
        assert!(both[0] + both[2] == 0 && both[1] > 8 && both[3] > 8 && both[1] + both[3] == 64, "{both:?}");
    }

    #[test]
    fn connections_that_wait_are_counted() {
        let listener = &group(1)[0];
        let with = |waiting| Queue { waiting, limit: 64 };
        assert_eq!(queue(listener).unwrap(), with(0));
        let address = listener.local_addr().unwrap();
        let _clients: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
        assert_eq!(queue(listener).unwrap(), with(3));
        listener.accept().unwrap();
        assert_eq!(queue(listener).unwrap(), with(2));
        assert!(queue(&std::net::UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }

    #[test]
    fn a_socket_without_a_group_and_no_position_are_errors() {
        let alone = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(direct_to(&alone, &[0]).is_err());
        assert!(direct_to(&group(2)[0], &[]).is_err());
    }
}
