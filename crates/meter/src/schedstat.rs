//! CPU time and run queue wait of one thread from an open `schedstat`, for frequent reads.

use std::{fs::File, os::unix::fs::FileExt, time::Duration};

/// Of one thread, since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scheduled {
    /// On a core, as of the last update of the account.
    pub cpu: Duration,
    /// Runnable without a core.
    pub wait: Duration,
}

/// Of an open `schedstat`; `None` if the thread has ended, or without CONFIG_SCHED_INFO.
pub(crate) fn scheduled(schedstat: &File) -> Option<Scheduled> {
    let mut text = [0; 64];
    let length = schedstat.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    let mut nanos = text.split(' ').map_while(|field| field.parse().ok()).map(Duration::from_nanos);
    Some(Scheduled { cpu: nanos.next()?, wait: nanos.next()? })
}
