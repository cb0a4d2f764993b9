//! One connection's TLS: what it has received goes in, plain text and what is to be sent come out.
//!
//! ```text
//! receive: bytes --> plain, out          seal: plain --> out          close: --> out
//! ```
//!
//! Records are decrypted where they lie. What is kept between two calls is the beginning of a record, or of a message of
//! the handshake, that has not come whole: nothing, as a rule, and never more than the largest such message (64 KiB).

use crate::{Client, Fault, Server};
use rustls::{
    HandshakeKind,
    client::{ClientConnectionData, UnbufferedClientConnection},
    server::{ServerConnectionData, UnbufferedServerConnection},
    unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedConnectionCommon, UnbufferedStatus},
};

/// Plain text of one record.
const RECORD: usize = 16 << 10;
/// What a record adds to it, at most: header, explicit nonce, type and tag.
const FRAME: usize = 64;

/// See the head of this file.
pub struct Session {
    end: End,
    held: Vec<u8>,
    ended: bool,
}

type ClientCommon = UnbufferedConnectionCommon<ClientConnectionData>;
type ServerCommon = UnbufferedConnectionCommon<ServerConnectionData>;

/// Which of the two ends this is.
enum End {
    Client(Box<UnbufferedClientConnection>),
    Server(Box<UnbufferedServerConnection>),
}

/// What the handshake came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// The peers knew each other from before, and saved the certificates.
    pub resumed: bool,
    /// Version and cipher suite, as `TLS 1.3 AES_128_GCM_SHA256`.
    pub protocol: String,
}

impl Session {
    /// The client's end; `out` gets what is to be sent first.
    ///
    /// # Errors
    /// If there can be no greeting at all, which the settings exclude.
    pub fn greet(client: &Client, out: &mut Vec<u8>) -> Result<Self, Fault> {
        let connection = UnbufferedClientConnection::new(client.config(), client.name())?;
        let mut session = Self { end: End::Client(Box::new(connection)), held: Vec::new(), ended: false };
        session.receive(&mut [], &mut Vec::new(), out)?;
        Ok(session)
    }

    /// The server's end, which speaks second.
    ///
    /// # Errors
    /// If there can be no answer at all, which the settings exclude.
    pub fn answer(server: &Server) -> Result<Self, Fault> {
        let connection = UnbufferedServerConnection::new(server.config())?;
        Ok(Self { end: End::Server(Box::new(connection)), held: Vec::new(), ended: false })
    }

    /// Takes received bytes, which it may change where they lie. What they say goes behind what `plain` holds, and what
    /// has to be sent for them behind what `out` holds.
    ///
    /// # Errors
    /// What came cannot be gone on with. `out` then has the alert that tells the peer; nothing else can be done but to send
    /// it and to close.
    pub fn receive(&mut self, bytes: &mut [u8], plain: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), Fault> {
        if self.held.is_empty() {
            let used = self.take(bytes, plain, out)?;
            self.held.extend_from_slice(&bytes[used..]);
            return Ok(());
        }
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(bytes);
        let used = self.take(&mut held, plain, out)?;
        if used < held.len() {
            held.drain(..used);
            self.held = held;
        }
        Ok(())
    }

    /// Takes what it can of `bytes`, and says how much that is.
    fn take(&mut self, bytes: &mut [u8], plain: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<usize, Fault> {
        let mut taken = Taken { plain, out, ended: &mut self.ended };
        let used = match &mut self.end {
            End::Client(client) => taken.all(client, ClientCommon::process_tls_records, bytes),
            End::Server(server) => taken.all(server, ServerCommon::process_tls_records, bytes),
        };
        Ok(used?)
    }

    /// Appends `bytes` to `out` as records.
    ///
    /// # Errors
    /// Before the handshake is over, and if the keys are used up, which takes more than anybody sends.
    pub fn seal(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        self.say(What::Bytes(bytes), out)
    }

    /// Appends to `out` that nothing more will come: without it the peer takes the end for a cut (RFC 8446, 6.1). Says
    /// nothing before the handshake is over.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        let _a_peer_that_cannot_hear_it = self.say(What::Close, out);
    }

    fn say(&mut self, what: What<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
        let held = &mut self.held[..];
        match &mut self.end {
            End::Client(client) => what.say(client, ClientCommon::process_tls_records, held, out),
            End::Server(server) => what.say(server, ServerCommon::process_tls_records, held, out),
        }
    }

    /// Whether the handshake is under way.
    pub fn is_greeting(&self) -> bool {
        match &self.end {
            End::Client(client) => client.is_handshaking(),
            End::Server(server) => server.is_handshaking(),
        }
    }

    /// Whether the peer has said that nothing more will come.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// What the handshake came to, once it is over.
    pub fn greeting(&self) -> Option<Greeting> {
        let (kind, version, suite) = match &self.end {
            End::Client(client) => {
                (client.handshake_kind(), client.protocol_version(), client.negotiated_cipher_suite())
            }
            End::Server(server) => {
                (server.handshake_kind(), server.protocol_version(), server.negotiated_cipher_suite())
            }
        };
        let version = format!("{:?}", version?).replace("TLSv1_", "TLS 1.");
        let suite = format!("{:?}", suite?.suite());
        let suite = suite.trim_start_matches("TLS13_").trim_start_matches("TLS_");
        Some(Greeting { resumed: kind? == HandshakeKind::Resumed, protocol: format!("{version} {suite}") })
    }
}

/// What can be said once the handshake is over.
enum What<'a> {
    Bytes(&'a [u8]),
    Close,
}

impl What<'_> {
    /// Appends it to `out`. What is `held` lies before all that will be received, and rustls counts from its beginning.
    fn say<D>(
        &self,
        connection: &mut UnbufferedConnectionCommon<D>,
        process: Process<D>,
        held: &mut [u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let start = out.len();
        let mut room = match self {
            Self::Bytes(bytes) => bytes.len() + (bytes.len() / RECORD + 1) * FRAME,
            Self::Close => FRAME,
        };
        loop {
            let Ok(ConnectionState::WriteTraffic(mut traffic)) = process(connection, held).state else {
                out.truncate(start);
                return Err(Fault::over());
            };
            out.resize(start + room, 0);
            let said = match self {
                Self::Bytes(bytes) => traffic.encrypt(bytes, &mut out[start..]),
                Self::Close => traffic.queue_close_notify(&mut out[start..]),
            };
            match said {
                Ok(written) => {
                    out.truncate(start + written);
                    return Ok(());
                }
                Err(EncryptError::InsufficientSize(needed)) if needed.required_size > room => {
                    room = needed.required_size;
                }
                Err(error) => {
                    out.truncate(start);
                    return Err(Fault::other(&error));
                }
            }
        }
    }
}

/// Where what is received goes.
struct Taken<'a> {
    plain: &'a mut Vec<u8>,
    out: &'a mut Vec<u8>,
    ended: &'a mut bool,
}

type Process<D> = for<'c, 'i> fn(&'c mut UnbufferedConnectionCommon<D>, &'i mut [u8]) -> UnbufferedStatus<'c, 'i, D>;

impl Taken<'_> {
    /// Takes records as long as there are whole ones; how many bytes these were.
    fn all<D>(
        &mut self,
        connection: &mut UnbufferedConnectionCommon<D>,
        process: Process<D>,
        bytes: &mut [u8],
    ) -> Result<usize, rustls::Error> {
        let mut used = 0;
        loop {
            let UnbufferedStatus { mut discard, state } = process(connection, &mut bytes[used..]);
            let mut over = false;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record?;
                        discard += record.discard;
                        self.plain.extend_from_slice(record.payload);
                    }
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => encode(self.out, |out| data.encode(out)),
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => *self.ended = true,
                Ok(_) => over = true,
                Err(error) => {
                    self.alert(connection, process, &mut bytes[used..]);
                    return Err(error);
                }
            }
            used += discard;
            if over {
                return Ok(used);
            }
        }
    }

    /// What the peer is told of an error.
    fn alert<D>(&mut self, connection: &mut UnbufferedConnectionCommon<D>, process: Process<D>, bytes: &mut [u8]) {
        // No further than that: to look at the bytes of the error again would be another error.
        while connection.wants_write() {
            match process(connection, bytes).state {
                Ok(ConnectionState::EncodeTlsData(mut data)) => encode(self.out, |out| data.encode(out)),
                _ => return,
            }
        }
    }
}

fn encode(out: &mut Vec<u8>, mut data: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>) {
    let (start, mut room) = (out.len(), 1024);
    loop {
        out.resize(start + room, 0);
        match data(&mut out[start..]) {
            Ok(written) => return out.truncate(start + written),
            Err(EncodeError::InsufficientSize(needed)) if needed.required_size > room => room = needed.required_size,
            // It is encoded once, here.
            Err(_) => return out.truncate(start),
        }
    }
}
