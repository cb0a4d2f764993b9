//! Services of an agent: what operators have done on its machine beside loads, each session on a thread of its own.

use super::Serving;
use crate::nats::clock::now;
use crate::nats::{signed, subject};
use crate::sessions::{Act, Sessions};
use crate::words::{Ask, SessionAnswer, encode};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc::UnboundedSender;

/// Begins sessions.
pub trait Services: Send + Sync {
    /// Begins a session of the service of this name, on the thread of the session.
    ///
    /// # Errors
    /// There is no such service, it is not allowed, or it cannot begin; one line.
    fn open(&self, service: &str, settings: Value) -> Result<Box<dyn Service>, String>;
}

/// One session. It is dropped when the session ends, and ends then what it has begun.
pub trait Service {
    /// Does what is asked.
    ///
    /// # Errors
    /// It cannot be done; one line.
    fn ask(&mut self, question: Value) -> Result<Value, String>;
}

/// What a thread of a session tells.
pub(super) struct Answered {
    session: String,
    seq: u64,
    answer: Result<Value, String>,
    has_begun: bool,
}

/// The thread of a session, and where it takes questions.
type Talking = (Sender<(u64, Value)>, JoinHandle<()>);

/// The threads of the sessions.
pub(super) struct Threads {
    core: Sessions,
    services: Arc<dyn Services>,
    threads: BTreeMap<String, Talking>,
    sender: UnboundedSender<Answered>,
}

impl Threads {
    pub fn new(core: Sessions, services: Arc<dyn Services>, sender: UnboundedSender<Answered>) -> Self {
        Self { core, services, threads: BTreeMap::new(), sender }
    }

    pub fn due(&self) -> Option<i64> {
        self.core.due()
    }

    fn begin(&mut self, session: &str, service: String, settings: Value) {
        let Some(seq) = self.core.newest(session) else { return };
        let (questions, asked) = channel();
        let (services, sender, id) = (Arc::clone(&self.services), self.sender.clone(), session.to_owned());
        let work = move || serve(&*services, (&service, settings), (&id, seq), &asked, &sender);
        match thread::Builder::new().name("session".to_owned()).spawn(work) {
            Ok(thread) => _ = self.threads.insert(session.to_owned(), (questions, thread)),
            Err(error) => {
                let answer = Err(format!("no thread for the session: {error}"));
                let _ = self.sender.send(Answered { session: session.to_owned(), seq, answer, has_begun: false });
            }
        }
    }

    /// Ends all sessions, and waits for what they have begun to end.
    pub fn end(&mut self) {
        let threads = std::mem::take(&mut self.threads);
        let threads: Vec<JoinHandle<()>> = threads.into_values().map(|(_, thread)| thread).collect();
        threads.into_iter().for_each(|thread| _ = thread.join());
    }
}

/// The thread of a session.
fn serve(
    services: &dyn Services,
    (service, settings): (&str, Value),
    (session, opened): (&str, u64),
    asked: &Receiver<(u64, Value)>,
    sender: &UnboundedSender<Answered>,
) {
    // An agent that is gone needs no answer.
    let tell = |seq, answer, has_begun| {
        _ = sender.send(Answered { session: session.to_owned(), seq, answer, has_begun });
    };
    match services.open(service, settings) {
        Err(why) => tell(opened, Err(why), false),
        Ok(mut service) => {
            tell(opened, Ok(Value::Null), true);
            while let Ok((seq, question)) = asked.recv() {
                let answer = service.ask(question);
                tell(seq, answer, true);
            }
        }
    }
}

impl Serving<'_> {
    pub(super) async fn asked(&mut self, text: &str) {
        let Ok((ask, true)) = signed::read::<Ask>(self.access, text) else { return };
        let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let acts = self.threads.core.take(&ask, now(), unix_s);
        self.act(acts).await;
    }

    pub(super) async fn answered(&mut self, answered: Answered) {
        let Answered { session, seq, answer, has_begun } = answered;
        let answer = match answer {
            Ok(value) => SessionAnswer::Done { value },
            Err(error) => SessionAnswer::Failed { error },
        };
        let acts = self.threads.core.answered(&session, seq, answer, has_begun);
        self.act(acts).await;
    }

    pub(super) async fn stop_sessions(&mut self) {
        let acts = self.threads.core.stop();
        self.act(acts).await;
    }

    pub(super) async fn tick_sessions(&mut self) {
        let acts = self.threads.core.tick(now());
        self.act(acts).await;
    }

    async fn act(&mut self, acts: Vec<Act>) {
        for act in acts {
            match act {
                Act::Open { session, service, settings } => {
                    (self.say)(&format!("session {session}: {service}"));
                    self.threads.begin(&session, service, settings);
                }
                Act::Ask { session, seq, question } => {
                    if let Some((questions, _)) = self.threads.threads.get(&session) {
                        let _ = questions.send((seq, question));
                    }
                }
                Act::End { session, why } => {
                    // Its thread ends by itself, after what it does now.
                    self.threads.threads.remove(&session);
                    (self.say)(&format!("session {session} is over: {why}"));
                }
                Act::Say(said) => {
                    if let Ok(text) = encode(&*said) {
                        self.bus.send(subject::answers(&said.session, &said.agent), text).await;
                    }
                }
            }
        }
    }
}
