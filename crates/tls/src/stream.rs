//! TLS on whatever carries bytes, by polling: the same for both ends, and for every way of doing the I/O.
//!
//! What has been taken to be sent and does not fit goes out with whatever is asked next, so nothing is lost when the peer
//! takes its time. An end that was not announced is an error: it may be anybody's. A stream that waits holds no buffer.

use crate::{Client, Fault, Greeting, Server, Session};
use std::{
    io,
    ops::DerefMut,
    task::{Context, Poll, ready},
};

/// Plain text that is made records at once.
const MOST: usize = 64 << 10;

/// What carries the records.
pub trait Carrier {
    /// Received bytes, decrypted where they lie.
    type RecvBuf: DerefMut<Target = [u8]>;

    /// Received bytes; none at the end.
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Self::RecvBuf>>;
    /// Takes at least one byte.
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;
}

/// See the head of this file. Errors of TLS are a [`Fault`] in an [`io::Error`]: [`Fault::of`].
pub struct Stream<C: Carrier> {
    carrier: C,
    session: Session,
    /// Received and not yet handed on.
    plain: Vec<u8>,
    /// Records to be sent, of which so many bytes are.
    sealed: Vec<u8>,
    sent: usize,
    closed: bool,
}

impl<C: Carrier> Stream<C> {
    /// The client's end; [`Self::poll_greet`] comes next.
    ///
    /// # Errors
    /// If there can be no greeting at all, which the settings exclude.
    pub fn client(carrier: C, client: &Client) -> io::Result<Self> {
        let mut sealed = Vec::new();
        let session = Session::greet(client, &mut sealed)?;
        Ok(Self { carrier, session, plain: Vec::new(), sealed, sent: 0, closed: false })
    }

    /// The server's end; [`Self::poll_greet`] comes next.
    ///
    /// # Errors
    /// If there can be no answer at all, which the settings exclude.
    pub fn server(carrier: C, server: &Server) -> io::Result<Self> {
        let session = Session::answer(server)?;
        Ok(Self { carrier, session, plain: Vec::new(), sealed: Vec::new(), sent: 0, closed: false })
    }

    /// Shakes hands; ready when both ends agree.
    ///
    /// # Errors
    /// If they do not, or the connection ends before.
    pub fn poll_greet(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_shake(cx).map_err(|error| match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Fault::hung_up().into(),
            _ => error,
        })
    }

    fn poll_shake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let is_out = self.poll_out(cx)?.is_ready();
            if !self.session.is_greeting() && is_out {
                return Poll::Ready(Ok(()));
            }
            ready!(self.poll_hear(cx))?;
        }
    }

    /// Takes the next piece that is received, whatever it holds.
    ///
    /// # Errors
    /// If it cannot be gone on with, or the connection ends.
    pub fn poll_hear(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut lease = ready!(self.carrier.poll_recv(cx))?;
        if lease.is_empty() {
            let fault = if self.session.is_greeting() { Fault::hung_up() } else { Fault::cut() };
            return Poll::Ready(Err(fault.into()));
        }
        let heard = self.session.receive(&mut lease, &mut self.plain, &mut self.sealed);
        Poll::Ready(heard.map_err(|fault| {
            // The alert is a courtesy: the connection is lost either way.
            let _ = self.poll_out(cx);
            fault.into()
        }))
    }

    /// Received plain text; none when the peer has said that nothing more will come.
    ///
    /// # Errors
    /// If the connection ends without that, or what comes cannot be gone on with.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        loop {
            if !self.plain.is_empty() || self.session.has_ended() {
                return Poll::Ready(Ok(std::mem::take(&mut self.plain)));
            }
            // If it has to wait, this wakes the caller again.
            let _ = self.poll_out(cx)?;
            ready!(self.poll_hear(cx))?;
        }
    }

    /// Takes at least one byte, unless the carrier has not taken what was taken before.
    ///
    /// # Errors
    /// If the carrier fails.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_out(cx))?;
        let part = &bytes[..bytes.len().min(MOST)];
        self.session.seal(part, &mut self.sealed)?;
        let _ = self.poll_out(cx)?;
        Poll::Ready(Ok(part.len()))
    }

    /// Ready when the carrier has everything.
    ///
    /// # Errors
    /// If the carrier fails.
    pub fn poll_out(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.sealed.len() {
            self.sent += ready!(self.carrier.poll_write(cx, &self.sealed[self.sent..]))?;
        }
        if self.sent > 0 {
            (self.sealed, self.sent) = (Vec::new(), 0);
        }
        Poll::Ready(Ok(()))
    }

    /// Says that nothing more will come; ready when the carrier has that.
    ///
    /// # Errors
    /// If the carrier fails.
    pub fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !std::mem::replace(&mut self.closed, true) {
            self.session.close(&mut self.sealed);
        }
        self.poll_out(cx)
    }

    /// What the handshake came to, once it is over.
    pub fn greeting(&self) -> Option<Greeting> {
        self.session.greeting()
    }

    /// What carries the records.
    pub fn carrier(&self) -> &C {
        &self.carrier
    }

    /// What carries the records, for bytes that are none.
    pub fn carrier_mut(&mut self) -> &mut C {
        &mut self.carrier
    }
}
