//! Framing: a 32-bit little-endian length, then JSON. The first byte may carry an open file (SCM_RIGHTS).
//!
//! The peer may die at any point: a truncated message, an excessive length or invalid JSON is an error, never a panic.

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::{mem::MaybeUninit, os::unix::net::UnixStream};

/// Longest message accepted, in bytes.
const MAX_LENGTH: usize = 256 << 20;

/// Writes a message and, if given, a file; blocks until the kernel has taken all of it.
pub fn write(mut socket: &UnixStream, message: &impl Serialize, file: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - 4).ok().filter(|length| *length as usize <= MAX_LENGTH);
    let length = length.ok_or_else(|| io::Error::other("the message is too long"))?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    let Some(file) = file else { return socket.write_all(&bytes) };
    // The file travels with the first byte, which the reader takes by itself.
    let files = [file];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&files));
    let sent = retry_on_intr(|| sendmsg(socket, &[IoSlice::new(&bytes[..1])], &mut control, SendFlags::NOSIGNAL))?;
    socket.write_all(&bytes[sent..])
}

/// Reads the next message and the file that came with it; `None` at end of file.
pub fn read<M: DeserializeOwned>(mut socket: &UnixStream) -> io::Result<Option<(M, Option<OwnedFd>)>> {
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = retry_on_intr(|| {
        recvmsg(socket, &mut [IoSliceMut::new(&mut length[..1])], &mut control, RecvFlags::CMSG_CLOEXEC)
    });
    match got {
        // The peer died with unread messages: an ordinary end of file.
        Err(Errno::CONNRESET) => return Ok(None),
        Err(error) => return Err(error.into()),
        Ok(message) if message.bytes == 0 => return Ok(None),
        Ok(_) => (),
    }
    let mut file = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(files) = message {
            file = files.into_iter().next().or(file);
        }
    }
    socket.read_exact(&mut length[1..])?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_LENGTH {
        let error = format!("a message of {length} bytes exceeds the limit of {MAX_LENGTH}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, error));
    }
    let mut bytes = vec![0; length];
    socket.read_exact(&mut bytes)?;
    Ok(Some((serde_json::from_slice(&bytes)?, file)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{os::fd::AsFd, thread};

    #[test]
    fn messages_and_files_arrive_in_order_until_end_of_file() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (near, mut far) = UnixStream::pair().unwrap();
        let writer = thread::spawn(move || {
            write(&ours, &"a".repeat(1 << 20), None).unwrap();
            write(&ours, &"file", Some(near.as_fd())).unwrap();
            write(&ours, &"end", None).unwrap();
        });
        let next = || read::<String>(&theirs).unwrap();
        let (long, none) = next().unwrap();
        assert_eq!((long.len(), none.is_none()), (1 << 20, true));
        let (word, file) = next().unwrap();
        assert_eq!(word, "file");
        UnixStream::from(file.unwrap()).write_all(b"!").unwrap();
        let mut byte = [0];
        far.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"!");
        let (word, file) = next().unwrap();
        assert_eq!((word.as_str(), file.is_none()), ("end", true));
        assert!(next().is_none());
        writer.join().unwrap();
    }

    #[test]
    fn invalid_frames_are_errors() {
        for bytes in [&[1, 2][..], &[9, 0, 0, 0, b'"'], &[255; 8], &[2, 0, 0, 0, b'{', b'{']] {
            let (mut ours, theirs) = UnixStream::pair().unwrap();
            ours.write_all(bytes).unwrap();
            drop(ours);
            assert!(read::<String>(&theirs).is_err(), "{bytes:?}");
        }
    }
}
