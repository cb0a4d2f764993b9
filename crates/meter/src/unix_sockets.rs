//! Connected Unix sockets of this network namespace with their peers, listed over netlink: `linux/unix_diag.h`.

use crate::sock_diag::{HEADER, SOCK_DIAG_BY_FAMILY, attributes, bytes_at, dump, list_request, u32_at};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnixSocket {
    pub inode: u64,
    /// As the kernel's tables write it: a path, or an abstract name with '@' for its zero bytes. An accepted socket has that of its
    /// listener.
    pub name: Option<String>,
    pub peer: Option<u64>,
}

const SHOW_NAME_AND_PEER: u32 = 0x1 | 0x4;
const UNIX_DIAG_NAME: u16 = 0;
const UNIX_DIAG_PEER: u16 = 2;
/// The state of a connected socket, `TCP_ESTABLISHED`.
const CONNECTED: u32 = 1 << 1;
/// Size of `struct unix_diag_msg`.
const MESSAGE: usize = 16;

/// Calls `each` with every connected socket.
pub(crate) fn connected(each: &mut dyn FnMut(UnixSocket)) -> Result<(), String> {
    let length = HEADER + 24;
    let mut request = list_request(SOCK_DIAG_BY_FAMILY, length);
    // unix_diag_req: family, protocol, padding, states, inode, what to show, cookie.
    request.extend([libc::AF_UNIX as u8, 0, 0, 0]);
    request.extend(CONNECTED.to_ne_bytes());
    request.extend(0u32.to_ne_bytes());
    request.extend(SHOW_NAME_AND_PEER.to_ne_bytes());
    request.resize(length, 0);
    dump(&request, &mut |message| {
        each(socket(message)?);
        Ok(true)
    })
}

fn socket(message: &[u8]) -> Result<UnixSocket, String> {
    let mut socket = UnixSocket { inode: u32_at(message, 4)?.into(), name: None, peer: None };
    for attribute in attributes(message, MESSAGE) {
        match attribute? {
            (UNIX_DIAG_NAME, name) => socket.name = Some(shown(name)),
            (UNIX_DIAG_PEER, inode) => socket.peer = Some(u32::from_ne_bytes(bytes_at(inode, 0)?).into()),
            _ => (),
        }
    }
    Ok(socket)
}

fn shown(name: &[u8]) -> String {
    match name {
        [0, rest @ ..] => format!("@{}", String::from_utf8_lossy(rest).replace('\0', "@")),
        path => String::from_utf8_lossy(path).trim_end_matches('\0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

    #[test]
    fn clients_and_accepted_sockets_are_pairs_and_the_latter_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let name = format!("brunt-meter-{}", std::process::id());
        for (address, shown) in [
            (SocketAddr::from_pathname(&path).unwrap(), path.to_str().unwrap().to_owned()),
            (SocketAddr::from_abstract_name(&name).unwrap(), format!("@{name}")),
        ] {
            let listener = UnixListener::bind_addr(&address).unwrap();
            let _client = UnixStream::connect_addr(&address).unwrap();
            let _accepted = listener.accept().unwrap();
            let mut all = Vec::new();
            if let Err(why) = connected(&mut |socket| all.push(socket)) {
                println!("skipped: {why}");
                return;
            }
            let accepted = all.iter().find(|socket| socket.name.as_ref() == Some(&shown)).unwrap();
            let client = all.iter().find(|socket| Some(socket.inode) == accepted.peer).unwrap();
            assert_eq!((client.peer, &client.name), (Some(accepted.inode), &None), "{shown}");
        }
    }
}
