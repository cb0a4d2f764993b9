//! The error log of a script: at most one line per second; every error is counted.

use super::ScriptError;
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_secs(1);

pub(super) type LogSink = std::sync::Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Default)]
pub(super) struct ErrorLog {
    last: Option<Instant>,
    suppressed: u64,
}

impl ErrorLog {
    /// Logs an error unless the last line is less than [`PAUSE`] ago.
    #[cold]
    pub fn add(&mut self, error: &ScriptError, now: Instant, sink: &LogSink) {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) < PAUSE) {
            self.suppressed += 1;
            return;
        }
        match std::mem::take(&mut self.suppressed) {
            0 => sink(&format!("{error} (answered with 500)")),
            more => sink(&format!("{error} (answered with 500; {more} more errors since the last such line)")),
        }
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn many_errors_are_one_line_per_second_and_all_are_counted() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&lines);
        let sink: LogSink = Arc::new(move |line| heard.lock().unwrap().push(line.to_owned()));
        let error = ScriptError::new(super::super::Kind::Error, "a.luau:1", "no");
        let (mut error_log, start) = (ErrorLog::default(), Instant::now());
        for ms in 0..2500 {
            error_log.add(&error, start + Duration::from_millis(ms), &sink);
        }
        let lines = lines.lock().unwrap();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], "a.luau:1: no (answered with 500)");
        assert!(lines[1].contains("999 more") && lines[2].contains("999 more"), "{lines:?}");
    }
}
