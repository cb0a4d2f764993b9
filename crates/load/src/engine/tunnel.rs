//! Opens a tunnel through a proxy on a connection to it.

use crate::http::Tunnel;
use brunt_tls::Transport;
use brunt_wire::http1::client::{Connection, Event, SentRequest};
use brunt_wire::http1::{Limits, reason};
use std::{future::poll_fn, io};

/// Returns once the proxy has connected to the host. A refusal is an error with the proxy's status.
pub async fn open(socket: &mut impl Transport, tunnel: &Tunnel) -> io::Result<()> {
    let mut rest = tunnel.request();
    while !rest.is_empty() {
        let written = poll_fn(|cx| socket.poll_write(cx, rest)).await?;
        rest = &rest[written..];
    }
    let mut connection = Connection::default();
    connection.sent(SentRequest::new("CONNECT")).map_err(io::Error::other)?;
    loop {
        let bytes = poll_fn(|cx| socket.poll_recv(cx)).await?;
        if bytes.is_empty() {
            return Err(io::Error::other("the proxy closed the connection without an answer"));
        }
        let mut input = &bytes[..];
        while let Some(event) = connection.next(&mut input, &Limits::CLIENT) {
            match event {
                Event::Head(head) => return answer(head.status, head.reason(), input),
                Event::Error(error) => {
                    return Err(io::Error::other(format!("the proxy's answer is no valid HTTP/1: {error}")));
                }
                Event::Interim(_) | Event::Body(_) | Event::Trailers(_) | Event::End(_) => (),
            }
        }
    }
}

/// `rest` is what followed the head: in HTTP a server does not speak first.
fn answer(status: u16, words: &str, rest: &[u8]) -> io::Result<()> {
    match status {
        200..=299 if rest.is_empty() => Ok(()),
        200..=299 => Err(io::Error::other("the proxy sent more than its answer before any request")),
        _ => {
            let words = if words.is_empty() { reason(status) } else { words };
            let text = format!("the proxy answered {status} {}", words.escape_debug());
            Err(io::Error::other(text.trim_end().to_owned()))
        }
    }
}
