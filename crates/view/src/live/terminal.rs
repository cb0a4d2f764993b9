//! The terminal of the view: opened, drawn to, and restored whatever happens.
//!
//! [`restore`] may be called at any time from any thread; panics call it, and signals that kill the process.

use super::model::Model;
use super::screen::{self, Look};
use ratatui::Terminal as Ratatui;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::crossterm::{cursor, execute};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::os::fd::AsFd as _;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{env, panic};

/// Whether the alternate screen is shown.
static OPEN: AtomicBool = AtomicBool::new(false);
/// Whether it is that of stderr, instead of stdout.
static ON_STDERR: AtomicBool = AtomicBool::new(false);
/// Most screens that are kept.
const MOST_KEPT: usize = 100;

/// Where the view is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    /// Whether a view can be drawn there.
    pub fn has_screen(self) -> bool {
        let is_terminal = match self {
            Self::Stdout => io::stdout().is_terminal(),
            Self::Stderr => io::stderr().is_terminal(),
        };
        is_terminal && env::var_os("TERM").is_some_and(|term| term != "dumb" && !term.is_empty())
    }

    fn write_all(self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
            Self::Stderr => io::stderr().write_all(bytes),
        }
    }
}

/// Collects what is drawn, and writes it at once as long as the view is open.
struct Canvas {
    stream: Stream,
    drawn: Vec<u8>,
}

impl Write for Canvas {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.drawn.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let drawn = std::mem::take(&mut self.drawn);
        if OPEN.load(Ordering::SeqCst) { self.stream.write_all(&drawn) } else { Ok(()) }
    }
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Quit,
    /// Ctrl-C, which is no signal while the view reads the keys.
    Interrupt,
}

pub(super) struct Terminal {
    inner: Ratatui<CrosstermBackend<Canvas>>,
    pub look: Look,
    /// Something other than the model has changed.
    is_stale: bool,
    drawn: Option<Instant>,
    /// Text of the screen as drawn last.
    text: String,
    kept: Vec<String>,
}

impl Terminal {
    /// Takes the terminal of `stream`.
    pub fn open(stream: Stream, quit: &'static str) -> io::Result<Self> {
        static HOOKS: Once = Once::new();
        HOOKS.call_once(|| {
            let usual = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                restore();
                usual(info);
            }));
        });
        let inner = Ratatui::new(CrosstermBackend::new(Canvas { stream, drawn: Vec::new() }))?;
        let colours = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let look = Look { colours, quit, ..Look::default() };
        let mut terminal = Self { inner, look, is_stale: true, drawn: None, text: String::new(), kept: Vec::new() };
        enable_raw_mode()?;
        ON_STDERR.store(stream == Stream::Stderr, Ordering::SeqCst);
        OPEN.store(true, Ordering::SeqCst);
        execute!(terminal.inner.backend_mut(), EnterAlternateScreen, cursor::Hide)?;
        Ok(terminal)
    }

    /// Draws the model if it is new, or if the screen needs it for another reason.
    pub fn draw(&mut self, model: &Model, is_new: bool) -> io::Result<()> {
        if !is_new && !self.is_stale {
            return Ok(());
        }
        self.is_stale = false;
        let look = Look { kept: self.kept.len(), ..self.look };
        let frame = self.inner.draw(|frame| screen::draw(frame, model, look))?;
        if !look.help {
            self.text = screen::text(frame.buffer);
        }
        self.drawn = Some(Instant::now());
        Ok(())
    }

    /// Answers keys for `time`.
    pub fn keys(&mut self, time: Duration) -> io::Result<Option<Asked>> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            await_input(left)?;
            while event::poll(Duration::ZERO)? {
                match event::read()? {
                    Event::Key(key) if key.kind == KeyEventKind::Press => {
                        if let Some(asked) = self.key(key)? {
                            return Ok(Some(asked));
                        }
                    }
                    _ => self.is_stale = true,
                }
            }
            if left.is_zero() {
                return Ok(None);
            }
        }
    }

    fn key(&mut self, key: KeyEvent) -> io::Result<Option<Asked>> {
        let with_control = key.modifiers.contains(KeyModifiers::CONTROL);
        self.is_stale = true;
        let had_help = std::mem::take(&mut self.look.help);
        match key.code {
            KeyCode::Char('c') if with_control => return Ok(Some(Asked::Interrupt)),
            KeyCode::Char('l') if with_control => self.inner.clear()?,
            KeyCode::Char('q') => return Ok(Some(Asked::Quit)),
            KeyCode::Char('s') => self.keep(),
            KeyCode::Char('?') => self.look.help = !had_help,
            _ => (),
        }
        Ok(None)
    }

    /// Keeps the screen as drawn last.
    pub fn keep(&mut self) {
        self.is_stale = true;
        if self.kept.len() < MOST_KEPT && !self.text.is_empty() {
            self.kept.push(self.text.clone());
        }
    }

    /// Returns the terminal, and the screens that were kept.
    pub fn close(mut self) -> Vec<String> {
        std::mem::take(&mut self.kept)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Waits for input for at most `time`. An error once the terminal has hung up: crossterm would wait for ever then, without a
/// pause between two attempts to read.
fn await_input(time: Duration) -> io::Result<()> {
    let stdin = io::stdin();
    let opened = if stdin.is_terminal() { None } else { Some(File::open("/dev/tty")?) };
    let terminal = opened.as_ref().map_or(stdin.as_fd(), File::as_fd);
    let mut input = [PollFd::from_borrowed_fd(terminal, PollFlags::IN)];
    let timeout = Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() };
    match poll(&mut input, Some(&timeout)) {
        // A change of the terminal's size, for example.
        Err(Errno::INTR) => return Ok(()),
        polled => polled?,
    };
    let has_hung_up = input[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
    if has_hung_up { Err(io::Error::new(io::ErrorKind::BrokenPipe, "the terminal has hung up")) } else { Ok(()) }
}

/// Leaves the alternate screen if the view is open.
pub(super) fn restore() {
    if OPEN.swap(false, Ordering::SeqCst) {
        let _ = if ON_STDERR.load(Ordering::SeqCst) {
            execute!(io::stderr(), cursor::Show, LeaveAlternateScreen)
        } else {
            execute!(io::stdout(), cursor::Show, LeaveAlternateScreen)
        };
        let _ = disable_raw_mode();
    }
}
