//! Timers out of range, and raced with reads.

use crate::{on_both_backends, shared::*};
use brunt_runtime::spawn;
use brunt_runtime::time::{sleep, timeout};
use std::time::Duration;

on_both_backends!(a_timer_beyond_the_clock_s_range_is_long, timeouts_around_reads_that_never_come,);

async fn a_timer_beyond_the_clock_s_range_is_long() {
    let forever = spawn(sleep(Duration::MAX));
    assert!(timeout(Duration::from_millis(5), std::future::pending::<()>()).await.is_err());
    assert_eq!(timeout(Duration::MAX, async { 1 }).await, Ok(1));
    assert!(!forever.is_finished());
    forever.abort();
    assert!(forever.await.unwrap_err().is_aborted());
}

async fn timeouts_around_reads_that_never_come() {
    let (mut client, mut server) = pair().await;
    for _ in 0..2000 {
        assert!(timeout(Duration::ZERO, server.recv()).await.is_err());
    }
    client.write_all(b"here I am").await.unwrap();
    assert_eq!(*server.recv().await.unwrap(), *b"here I am");
}
