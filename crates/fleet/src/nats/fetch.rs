//! Files that the coordinator of a run has, for the thread of an agent that prepares the load.
//!
//! The thread asks for one piece after another and waits; a task beside the agent's loop sends and repeats, so that the loop is never
//! held up. When the load is ended the task is, and the thread gets an error.

use super::bus::{Bus, text};
use super::cache::Cache;
use super::subject;
use crate::words::{File, MAX_FILES, MAX_FILES_BYTES, Piece, Version, Wanted, decode, encode};
use async_nats::Subscriber;
use futures_lite::StreamExt as _;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

/// What is not answered is asked again after this time.
const AGAIN: Duration = Duration::from_secs(1);
/// Without an answer for so long the file is given up.
pub(super) const GIVE_UP: Duration = Duration::from_secs(30);

/// The files of a load, for the thread that prepares it.
pub struct Files {
    cache: Cache,
    asks: UnboundedSender<Ask>,
}

struct Ask {
    hash: String,
    offset: u64,
    answer: mpsc::Sender<Result<Vec<u8>, String>>,
}

impl Files {
    /// Those of a run, and what ends the fetching.
    pub(super) fn start(bus: &Bus, run: &str, agent: &str, directory: PathBuf) -> (Self, AbortHandle) {
        let (asks, asked) = unbounded_channel();
        let fetching = Fetching { bus: bus.clone(), run: run.to_owned(), agent: agent.to_owned() };
        let task = tokio::spawn(fetching.run(asked));
        (Self { cache: Cache { directory, most: MAX_FILES_BYTES }, asks }, task.abort_handle())
    }

    /// Copies of these files, in their order; waits until they are there.
    ///
    /// # Errors
    /// One cannot be had; one line that names it.
    pub fn fetch(&self, files: &[File]) -> Result<Vec<PathBuf>, String> {
        let bytes = files.iter().fold(0u64, |sum, file| sum.saturating_add(file.bytes));
        // Files of the same contents are kept once, but no load needs to name that many bytes.
        if files.len() > MAX_FILES || bytes > MAX_FILES_BYTES.saturating_mul(MAX_FILES as u64) {
            return Err(format!("{} files of {bytes} bytes are more than an agent takes", files.len()));
        }
        let one = |file: &File| match self.cache.get(file) {
            Some(path) => Ok(path),
            None => self.cache.keep(file, |offset| self.piece(file, offset)),
        };
        files.iter().map(one).collect()
    }

    fn piece(&self, file: &File, offset: u64) -> Result<Vec<u8>, String> {
        let ended = || format!("{} was not fetched, as the load was ended", file.path.display());
        let (answer, answered) = mpsc::channel();
        self.asks.send(Ask { hash: file.hash.clone(), offset, answer }).map_err(|_| ended())?;
        let piece = answered.recv().map_err(|_| ended())?;
        piece.map_err(|why| match why.contains(&*file.path.to_string_lossy()) {
            true => why,
            false => format!("{}: {why}", file.path.display()),
        })
    }
}

struct Fetching {
    bus: Bus,
    run: String,
    agent: String,
}

impl Fetching {
    /// Answers until nothing can ask any more.
    async fn run(self, mut asks: UnboundedReceiver<Ask>) {
        let mut pieces = None;
        while let Some(Ask { hash, offset, answer }) = asks.recv().await {
            let heard = match pieces.take() {
                Some(pieces) => Ok(pieces),
                None => self.bus.listen(subject::pieces(&self.agent)).await.map_err(|error| error.to_string()),
            };
            let got = match heard {
                Ok(heard) => self.piece(pieces.insert(heard), hash, offset).await,
                Err(why) => Err(why),
            };
            // A thread that is gone needs to know nothing.
            let _ = answer.send(got);
        }
    }

    async fn piece(&self, pieces: &mut Subscriber, hash: String, offset: u64) -> Result<Vec<u8>, String> {
        let (version, run, agent) = (Version, self.run.clone(), self.agent.clone());
        let wanted = Wanted { version, run, agent, hash, offset };
        let text = encode(&wanted).map_err(|error| error.to_string())?;
        let until = Instant::now() + GIVE_UP;
        while Instant::now() < until {
            self.bus.send(subject::wanted(&self.run, &self.agent), text.clone()).await;
            match timeout(AGAIN, answer(pieces, &wanted)).await {
                Ok(Some(Piece { error: Some(error), .. })) => return Err(error),
                Ok(Some(Piece { data, .. })) => return Ok(data),
                Ok(None) => return Err("the connection to the fleet has ended".to_owned()),
                Err(_) => (),
            }
        }
        Err(format!("brunt load has not sent it for {} s: see whether it runs and is connected", GIVE_UP.as_secs()))
    }
}

/// The answer to this question; anything else may be late, or of no one's.
async fn answer(pieces: &mut Subscriber, wanted: &Wanted) -> Option<Piece> {
    while let Some(message) = pieces.next().await {
        if let Ok(piece) = decode::<Piece>(text(&message))
            && (&piece.run, &piece.hash, piece.offset) == (&wanted.run, &wanted.hash, wanted.offset)
        {
            return Some(piece);
        }
    }
    None
}
