//! Accepting connections. An error of one connection never ends, blocks or spins a server.

use super::wake_fd::{Shutdown, WakeFd};
use brunt_runtime::CancellationToken;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Pause of accepting when descriptors have run out.
pub(crate) const PAUSE: Duration = Duration::from_millis(20);

/// Connections accepted before open ones have their turn.
const AT_ONCE: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Some or all pending connections; with more pending, the listener stays readable.
    Some,
    Exhausted,
}

/// Accepts pending connections with these socket flags.
pub(crate) fn take(listener: &TcpListener, flags: SocketFlags, mut give: impl FnMut(TcpStream)) -> Taken {
    for _ in 0..AT_ONCE {
        match accept_with(listener, flags | SocketFlags::CLOEXEC) {
            Ok(socket) => give(socket.into()),
            Err(Errno::AGAIN) => break,
            // The pending connection failed (accept(2), "Error handling"): take the next one.
            Err(
                Errno::INTR
                | Errno::CONNABORTED
                | Errno::PROTO
                | Errno::PERM
                | Errno::NETDOWN
                | Errno::NETUNREACH
                | Errno::HOSTDOWN
                | Errno::HOSTUNREACH
                | Errno::NOPROTOOPT
                | Errno::OPNOTSUPP
                | Errno::NONET,
            ) => {}
            Err(_) => return Taken::Exhausted,
        }
    }
    Taken::Some
}

/// Accepts until the stop, on a thread of its own.
pub(crate) fn until(
    stop: &CancellationToken,
    listeners: &[TcpListener],
    flags: SocketFlags,
    mut give: impl FnMut(TcpStream),
) -> io::Result<()> {
    let wake_fd = WakeFd::new()?;
    let mut shutdown = Shutdown::new(stop, Duration::ZERO, &wake_fd);
    let mut ready = vec![PollFd::new(&wake_fd, PollFlags::IN)];
    ready.extend(listeners.iter().map(|listener| PollFd::new(listener, PollFlags::IN)));
    let mut exhausted = false;
    while !shutdown.has_begun() {
        // Without descriptors, wait for the wake-up only.
        let (among, most) = if exhausted { (1, Some(PAUSE)) } else { (ready.len(), None) };
        wait(&mut ready[..among], most)?;
        let may_have_some = |ready: &PollFd| exhausted || !ready.revents().is_empty();
        let from: Vec<&TcpListener> =
            ready[1..].iter().zip(listeners).filter(|(ready, _)| may_have_some(ready)).map(|(_, from)| from).collect();
        exhausted = false;
        for listener in from {
            exhausted |= take(listener, flags, &mut give) == Taken::Exhausted;
        }
    }
    Ok(())
}

/// poll(2) with a timeout; a signal ends it early.
pub(crate) fn wait(ready: &mut [PollFd<'_>], most: Option<Duration>) -> io::Result<()> {
    match poll(ready, timespec(most).as_ref()) {
        Ok(_) => Ok(()),
        Err(Errno::INTR) => {
            ready.iter_mut().for_each(PollFd::clear_revents);
            Ok(())
        }
        Err(errno) => Err(errno.into()),
    }
}

/// The timeout as the kernel takes it.
pub(crate) fn timespec(most: Option<Duration>) -> Option<Timespec> {
    most.and_then(|time| time.try_into().ok())
}

/// Time until the earliest of these moments.
pub(crate) fn until_first(moments: [Option<Instant>; 2]) -> Option<Duration> {
    moments.into_iter().flatten().min().map(|first| first.saturating_duration_since(Instant::now()))
}
