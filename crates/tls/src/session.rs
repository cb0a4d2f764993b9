//! The state of one TLS connection, without I/O.
//!
//! ```text
//! receive: bytes --> plain, out          encrypt: plain --> out          close_notify: --> out
//! ```
//!
//! Records are decrypted in place. Between two calls at most the beginning of a record or handshake message is kept:
//! usually nothing, and never more than the largest handshake message (64 KiB).

use crate::{Acceptor, Connector, TlsError};
use rustls::HandshakeKind;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedConnectionCommon, UnbufferedStatus};
use std::sync::Arc;

/// Plain text of one record, in bytes.
const RECORD: usize = 16 << 10;
/// Bytes that a record adds to it, at most: header, explicit nonce, type and tag.
const OVERHEAD: usize = 64;

/// One TLS connection; see the module's diagram.
pub struct Session {
    end: End,
    /// Received bytes of an incomplete record.
    partial: Vec<u8>,
    closed_by_peer: bool,
}

type ClientCommon = UnbufferedConnectionCommon<ClientConnectionData>;
type ServerCommon = UnbufferedConnectionCommon<ServerConnectionData>;

enum End {
    Client(Box<UnbufferedClientConnection>),
    Server(Box<UnbufferedServerConnection>),
}

/// The outcome of a handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandshakeInfo {
    /// Whether a session was resumed, without certificates.
    pub resumed: bool,
    /// Version and cipher suite, as `TLS 1.3 AES_128_GCM_SHA256`.
    pub protocol: String,
}

impl Session {
    /// The client's end. Appends its first message to `out`.
    pub fn client(connector: &Connector, out: &mut Vec<u8>) -> Result<Self, TlsError> {
        let connection = UnbufferedClientConnection::new(Arc::clone(&connector.0.config), connector.0.name.clone())?;
        let mut session = Self { end: End::Client(Box::new(connection)), partial: Vec::new(), closed_by_peer: false };
        session.receive(&mut [], &mut Vec::new(), out)?;
        Ok(session)
    }

    /// The server's end, which waits for the client's first message.
    pub fn server(acceptor: &Acceptor) -> Result<Self, TlsError> {
        let connection = UnbufferedServerConnection::new(Arc::clone(&acceptor.0))?;
        Ok(Self { end: End::Server(Box::new(connection)), partial: Vec::new(), closed_by_peer: false })
    }

    /// Processes received bytes, which are decrypted in place. Appends plain text to `plain` and replies to `out`, which ends
    /// with an alert if the protocol was violated: send it and close.
    pub fn receive(&mut self, bytes: &mut [u8], plain: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), TlsError> {
        if self.partial.is_empty() {
            let used = self.process(bytes, plain, out)?;
            self.partial.extend_from_slice(&bytes[used..]);
            return Ok(());
        }
        let mut partial = std::mem::take(&mut self.partial);
        partial.extend_from_slice(bytes);
        let used = self.process(&mut partial, plain, out)?;
        if used < partial.len() {
            partial.drain(..used);
            self.partial = partial;
        }
        Ok(())
    }

    /// Processes the complete records in `bytes`, and returns their length.
    fn process(&mut self, bytes: &mut [u8], plain: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<usize, TlsError> {
        let mut receiver = Receiver { plain, out, closed_by_peer: &mut self.closed_by_peer };
        let used = match &mut self.end {
            End::Client(client) => receiver.process(client, ClientCommon::process_tls_records, bytes),
            End::Server(server) => receiver.process(server, ServerCommon::process_tls_records, bytes),
        };
        Ok(used?)
    }

    /// Appends `bytes` to `out` as records. Fails before the handshake is complete, and when the keys are exhausted.
    pub fn encrypt(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), TlsError> {
        self.write(Message::Data(bytes), out)
    }

    /// Appends a `close_notify` alert to `out`; without it the peer takes the end for a truncation (RFC 8446, 6.1).
    /// Does nothing before the handshake is complete.
    pub fn close_notify(&mut self, out: &mut Vec<u8>) {
        let _ = self.write(Message::CloseNotify, out);
    }

    fn write(&mut self, message: Message<'_>, out: &mut Vec<u8>) -> Result<(), TlsError> {
        let partial = &mut self.partial[..];
        match &mut self.end {
            End::Client(client) => message.write(client, ClientCommon::process_tls_records, partial, out),
            End::Server(server) => message.write(server, ServerCommon::process_tls_records, partial, out),
        }
    }

    pub fn is_handshaking(&self) -> bool {
        match &self.end {
            End::Client(client) => client.is_handshaking(),
            End::Server(server) => server.is_handshaking(),
        }
    }

    pub fn is_closed_by_peer(&self) -> bool {
        self.closed_by_peer
    }

    /// The outcome of the handshake, once it is complete.
    pub fn handshake_info(&self) -> Option<HandshakeInfo> {
        let (kind, version, suite) = match &self.end {
            End::Client(end) => (end.handshake_kind(), end.protocol_version(), end.negotiated_cipher_suite()),
            End::Server(end) => (end.handshake_kind(), end.protocol_version(), end.negotiated_cipher_suite()),
        };
        let version = format!("{:?}", version?).replace("TLSv1_", "TLS 1.");
        let suite = format!("{:?}", suite?.suite());
        let suite = suite.trim_start_matches("TLS13_").trim_start_matches("TLS_");
        Some(HandshakeInfo { resumed: kind? == HandshakeKind::Resumed, protocol: format!("{version} {suite}") })
    }
}

enum Message<'a> {
    Data(&'a [u8]),
    CloseNotify,
}

impl Message<'_> {
    /// Appends its records to `out`. `partial`, the incomplete record received so far, is passed to rustls, which counts
    /// from its beginning.
    fn write<D>(
        &self,
        connection: &mut UnbufferedConnectionCommon<D>,
        process: Process<D>,
        partial: &mut [u8],
        out: &mut Vec<u8>,
    ) -> Result<(), TlsError> {
        let start = out.len();
        let mut room = match self {
            Self::Data(bytes) => bytes.len() + (bytes.len() / RECORD + 1) * OVERHEAD,
            Self::CloseNotify => OVERHEAD,
        };
        loop {
            let Ok(ConnectionState::WriteTraffic(mut traffic)) = process(connection, partial).state else {
                out.truncate(start);
                return Err(TlsError::write_closed());
            };
            out.resize(start + room, 0);
            let written = match self {
                Self::Data(bytes) => traffic.encrypt(bytes, &mut out[start..]),
                Self::CloseNotify => traffic.queue_close_notify(&mut out[start..]),
            };
            match written {
                Ok(written) => {
                    out.truncate(start + written);
                    return Ok(());
                }
                Err(EncryptError::InsufficientSize(needed)) if needed.required_size > room => {
                    room = needed.required_size;
                }
                Err(error) => {
                    out.truncate(start);
                    return Err(TlsError::other(&error));
                }
            }
        }
    }
}

/// The outputs of [`Session::receive`].
struct Receiver<'a> {
    plain: &'a mut Vec<u8>,
    out: &'a mut Vec<u8>,
    closed_by_peer: &'a mut bool,
}

type Process<D> = for<'c, 'i> fn(&'c mut UnbufferedConnectionCommon<D>, &'i mut [u8]) -> UnbufferedStatus<'c, 'i, D>;

impl Receiver<'_> {
    /// Processes the complete records in `bytes`, and returns their length.
    fn process<D>(
        &mut self,
        connection: &mut UnbufferedConnectionCommon<D>,
        process: Process<D>,
        bytes: &mut [u8],
    ) -> Result<usize, rustls::Error> {
        let mut used = 0;
        loop {
            let UnbufferedStatus { mut discard, state } = process(connection, &mut bytes[used..]);
            let mut done = false;
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
                Ok(ConnectionState::PeerClosed) => *self.closed_by_peer = true,
                Ok(_) => done = true,
                Err(error) => {
                    self.alert(connection, process, &mut bytes[used..]);
                    return Err(error);
                }
            }
            used += discard;
            if done {
                return Ok(used);
            }
        }
    }

    /// Appends the alert for an error.
    fn alert<D>(&mut self, connection: &mut UnbufferedConnectionCommon<D>, process: Process<D>, bytes: &mut [u8]) {
        // Stops there: processing the erroneous bytes again would be another error.
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
            // `AlreadyEncoded`, which cannot happen: each message is encoded once, here.
            Err(_) => return out.truncate(start),
        }
    }
}
