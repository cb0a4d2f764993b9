//! Sending what one write may not take.

use crate::measure::recorder::Recorder;
use brunt_tls::Transport;
use std::task::{Context, Poll};

/// Writes as much of `bytes`, of which `written` have gone, as the kernel and its queue take now; false if the connection
/// is lost.
#[inline]
pub fn write_on(
    bytes: &[u8],
    written: &mut usize,
    stream: &mut impl Transport,
    recorder: &mut Recorder,
    cx: &mut Context<'_>,
) -> bool {
    while *written < bytes.len() {
        match stream.poll_write(cx, &bytes[*written..]) {
            Poll::Ready(Ok(len)) => {
                *written += len;
                recorder.moved_out(len);
            }
            Poll::Ready(Err(_)) => return false,
            Poll::Pending => break,
        }
    }
    true
}
