//! The errors of a script, told to people: one line a second at most, and none lost from the count.

use super::ScriptError;
use std::time::{Duration, Instant};

/// Between two lines.
const PAUSE: Duration = Duration::from_secs(1);

/// What hears the lines.
pub(super) type LogSink = std::sync::Arc<dyn Fn(&str) + Send + Sync>;

/// Lets through one line a second.
pub(super) struct ErrorLog {
    last: Option<Instant>,
    untold: u64,
}

impl ErrorLog {
    /// Nothing told yet.
    pub fn new() -> Self {
        Self { last: None, untold: 0 }
    }

    /// Tells of `fault`, unless another was told of within the last second.
    #[cold]
    pub fn hear(&mut self, fault: &ScriptError, now: Instant, sink: &LogSink) {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) < PAUSE) {
            self.untold += 1;
            return;
        }
        match std::mem::take(&mut self.untold) {
            0 => sink(&format!("{fault} (answered with 500)")),
            untold => sink(&format!("{fault} (answered with 500; {untold} more errors since the last such line)")),
        }
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_storm_of_errors_is_a_line_a_second_and_every_one_is_counted() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&lines);
        let sink: LogSink = Arc::new(move |line| heard.lock().unwrap().push(line.to_owned()));
        let fault = ScriptError::new(super::super::Kind::Error, "a.luau:1", "no");
        let (mut error_log, start) = (ErrorLog::new(), Instant::now());
        for ms in 0..2500 {
            error_log.hear(&fault, start + Duration::from_millis(ms), &sink);
        }
        let lines = lines.lock().unwrap();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], "a.luau:1: no (answered with 500)");
        assert!(lines[1].contains("999 more") && lines[2].contains("999 more"), "{lines:?}");
    }
}
