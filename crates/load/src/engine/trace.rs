//! What happens in the exchange of one connection, for a caller that shows it.
//!
//! A load traces nothing: its trace is `()`, whose empty methods are compiled away. Conversations take the trace as a type
//! parameter, so what only a trace needs costs a load nothing.

use brunt_tls::HandshakeInfo;
use brunt_wire::http1::Leniencies;
use std::fmt::Display;

pub trait Trace {
    /// Whether anything is kept. What a call needs is prepared only then.
    const KEEPS: bool = true;

    /// The target, or the proxy, has accepted the connection.
    fn connected(&mut self);

    /// The proxy has connected to a host, `HOST:PORT`.
    fn tunnelled(&mut self, authority: &str);

    /// The TLS handshake is complete.
    fn secured(&mut self, info: Option<HandshakeInfo>);

    /// The bytes of the next write: one request, or several.
    fn request(&mut self, bytes: &[u8]);

    /// The kernel has taken all of [`Self::request`].
    fn sent(&mut self);

    /// Something came.
    fn received(&mut self);

    /// A reply without a head may come from now on.
    fn headless(&mut self);

    /// Bytes of a head: of an interim one, or the last ones of a head with this status.
    fn head(&mut self, bytes: &[u8], status: Option<u16>);

    /// Bytes of a head that is incomplete, or of the framing of a body.
    fn part(&mut self, bytes: &[u8]);

    /// Bytes of a body, without framing.
    fn body(&mut self, bytes: &[u8]);

    /// By which rules the reply was read leniently; told before it is complete.
    fn accepted(&mut self, accepted: Leniencies);

    /// The reply is complete; `is_good` as the load counts it. `keeps`: the target keeps the connection. `more`: there are
    /// requests without a reply.
    fn answered(&mut self, is_good: bool, keeps: bool, more: bool);

    /// Why the connection is lost.
    fn failed(&mut self, why: &dyn Display);
}

/// Keeps nothing.
impl Trace for () {
    const KEEPS: bool = false;

    #[inline(always)]
    fn connected(&mut self) {}

    #[inline(always)]
    fn tunnelled(&mut self, _: &str) {}

    #[inline(always)]
    fn secured(&mut self, _: Option<HandshakeInfo>) {}

    #[inline(always)]
    fn request(&mut self, _: &[u8]) {}

    #[inline(always)]
    fn sent(&mut self) {}

    #[inline(always)]
    fn received(&mut self) {}

    #[inline(always)]
    fn headless(&mut self) {}

    #[inline(always)]
    fn head(&mut self, _: &[u8], _: Option<u16>) {}

    #[inline(always)]
    fn part(&mut self, _: &[u8]) {}

    #[inline(always)]
    fn body(&mut self, _: &[u8]) {}

    #[inline(always)]
    fn accepted(&mut self, _: Leniencies) {}

    #[inline(always)]
    fn answered(&mut self, _: bool, _: bool, _: bool) {}

    #[inline(always)]
    fn failed(&mut self, _: &dyn Display) {}
}
