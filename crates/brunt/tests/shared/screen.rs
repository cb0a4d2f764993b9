//! A screen of 80x24 in tmux.

use brunt_testkit::{LIMIT, text};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A command in a terminal of 80x24, and then its exit code and the state of the terminal.
pub struct Screen {
    socket: String,
}

impl Screen {
    /// `None` without tmux, unless `BRUNT_TMUX=must`.
    pub fn start(command: &str) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if let Err(error) = Command::new("tmux").arg("-V").output() {
            assert!(std::env::var_os("BRUNT_TMUX").is_none_or(|value| value != "must"), "tmux: {error}");
            eprintln!("skipped: tmux: {error}");
            return None;
        }
        let socket = format!("brunt-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let script = format!("{command}; echo EXIT $? $(stty -a | grep -o -e '-*icanon'); sleep 600");
        let screen = Self { socket };
        screen.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sh", "-c", &script]);
        Some(screen)
    }

    pub fn tmux(&self, words: &[&str]) -> String {
        let output = Command::new("tmux").args(["-L", &self.socket]).args(words).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub fn keys(&self, keys: &str) {
        self.tmux(&["send-keys", keys]);
    }

    /// Waits for a screen, with what has scrolled out of it, that has all these words.
    #[track_caller]
    pub fn until(&self, words: &[&str]) -> String {
        let began = Instant::now();
        loop {
            let seen = self.tmux(&["capture-pane", "-p", "-S", "-"]);
            if words.iter().all(|words| seen.contains(words)) {
                return seen;
            }
            assert!(began.elapsed() < LIMIT, "{words:?} is not on the screen:\n{seen}");
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-L", &self.socket, "kill-server"]).output();
    }
}
