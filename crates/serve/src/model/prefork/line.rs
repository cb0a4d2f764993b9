//! The line between a worker process and its parent: JSON, a line each, and descriptors, with a byte each.

use rustix::{
    fd::AsFd,
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
        recvmsg, sendmsg,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    io::{self, BufRead, ErrorKind, IoSlice, IoSliceMut, Write},
    mem::MaybeUninit,
    net::TcpListener,
    os::unix::net::UnixStream,
};

pub(super) fn say(mut line: impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(what)?;
    text.push(b'\n');
    line.write_all(&text)
}

/// The next line; nothing if the other end is gone.
pub(super) fn hear<T: DeserializeOwned>(line: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut text = String::new();
    match line.read_line(&mut text) {
        Ok(0) => Ok(None),
        Ok(_) => Ok(Some(serde_json::from_str(&text)?)),
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(None),
        Err(error) => Err(error),
    }
}

/// Sends a descriptor, with a byte.
pub(super) fn hand(line: &UnixStream, listener: &TcpListener) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    let listener = [listener.as_fd()];
    message.push(SendAncillaryMessage::ScmRights(&listener));
    sendmsg(line, &[IoSlice::new(b"l")], &mut message, SendFlags::NOSIGNAL)?;
    Ok(())
}

pub(super) fn take(line: &UnixStream) -> io::Result<TcpListener> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    recvmsg(line, &mut [IoSliceMut::new(&mut [0])], &mut message, RecvFlags::CMSG_CLOEXEC)?;
    let listener = message.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    listener.map(TcpListener::from).ok_or_else(|| io::Error::other("no listener came"))
}
