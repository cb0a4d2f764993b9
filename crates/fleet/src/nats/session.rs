//! A session with a service of an agent, as a program that asks it sees it.
//!
//! One question is under way at a time, and is repeated until it is answered: NATS may lose messages, and the agent knows repetitions.

use super::about::About;
use super::access::Access;
use super::bus::Bus;
use super::{FleetError, signed, subject};
use crate::words::{Ask, Question, Said, SessionAnswer, Version};
use async_nats::{Message, Subscriber};
use futures_lite::StreamExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Between two repetitions of a question.
const AGAIN: Duration = Duration::from_millis(500);
/// Between two signs of life.
const ALIVE: Duration = Duration::from_secs(1);
/// For how long the end is repeated.
const END: Duration = Duration::from_secs(2);

type Answer = Result<Value, String>;

/// A session that is open. It ends when this is dropped.
pub struct Session {
    agent: String,
    questions: Option<UnboundedSender<Asked>>,
    thread: Option<JoinHandle<()>>,
}

struct Asked {
    question: Value,
    until: Instant,
    answer: SyncSender<Answer>,
}

impl Session {
    /// Opens a session of a service of an agent, which may take this long.
    ///
    /// # Errors
    /// The NATS server cannot be reached, or the agent does not answer or refuses.
    pub fn open(
        access: &Access,
        agent: &About,
        service: &str,
        settings: &impl Serialize,
        patience: Duration,
    ) -> Result<Self, FleetError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let day = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let session = format!("{:016x}", RandomState::new().hash_one((day, std::process::id())));
        let talk = runtime.block_on(Talk::begin(access.clone(), agent, session))?;
        let (questions, asked) = unbounded_channel();
        let settings = serde_json::to_value(settings).map_err(|error| FleetError::Ended(error.to_string()))?;
        let open = Question::Open { service: service.to_owned(), settings, at_unix_s: day.as_secs() };
        let (answer, opened) = sync_channel(1);
        let first = (open, Instant::now() + patience, answer);
        let work = move || runtime.block_on(talk.run(first, asked));
        let thread = Some(thread::Builder::new().name("session".to_owned()).spawn(work)?);
        let this = Self { agent: agent.id.clone(), questions: Some(questions), thread };
        match this.wait(&opened) {
            Ok(_) => Ok(this),
            Err(why) => Err(FleetError::Session { agent: this.agent.clone(), why }),
        }
    }

    /// Id of the agent.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Asks, and waits this long at most for the answer.
    ///
    /// # Errors
    /// The agent has not answered or could not do it, or its answer is none; one line without its name.
    pub fn ask<T: DeserializeOwned>(&self, question: &impl Serialize, patience: Duration) -> Result<T, String> {
        self.begin(question, patience)?.wait()
    }

    /// Asks, without waiting for the answer.
    ///
    /// # Errors
    /// The question has no form in JSON.
    pub fn begin(&self, question: &impl Serialize, patience: Duration) -> Result<Waiting<'_>, String> {
        let question = serde_json::to_value(question).map_err(|error| error.to_string())?;
        let (answer, answered) = sync_channel(1);
        let asked = Asked { question, until: Instant::now() + patience, answer };
        let _ = self.questions.as_ref().map(|questions| questions.send(asked));
        Ok(Waiting { session: self, answered })
    }

    fn wait(&self, answered: &Receiver<Answer>) -> Answer {
        // The thread answers each question in time; without it, the connection has ended.
        answered.recv().unwrap_or_else(|_| Err("the connection to the fleet has ended".to_owned()))
    }
}

/// A question that is under way.
pub struct Waiting<'s> {
    session: &'s Session,
    answered: Receiver<Answer>,
}

impl Waiting<'_> {
    /// Waits for the answer.
    ///
    /// # Errors
    /// As of [`Session::ask`].
    pub fn wait<T: DeserializeOwned>(self) -> Result<T, String> {
        let answer = self.session.wait(&self.answered)?;
        serde_json::from_value(answer).map_err(|error| error.to_string())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.questions = None;
        self.thread.take().into_iter().for_each(|thread| _ = thread.join());
    }
}

/// A question with its number, until it is answered.
struct Pending {
    seq: u64,
    text: String,
    again: Instant,
    until: Instant,
    answer: SyncSender<Answer>,
}

struct Talk {
    access: Access,
    bus: Bus,
    answers: Subscriber,
    agent: String,
    incarnation: u64,
    session: String,
    seq: u64,
    alive: u64,
    alive_at: Instant,
    pending: Option<Pending>,
}

impl Talk {
    async fn begin(access: Access, agent: &About, session: String) -> Result<Self, FleetError> {
        let bus = Bus::connect(&access, "brunt").await?;
        let answers = bus.listen(subject::answers(&session, &agent.id)).await?;
        let (agent, incarnation) = (agent.id.clone(), agent.incarnation);
        let alive_at = Instant::now() + ALIVE;
        Ok(Self { access, bus, answers, agent, incarnation, session, seq: 0, alive: 0, alive_at, pending: None })
    }

    /// Until the session is dropped.
    async fn run(
        mut self,
        (open, until, answer): (Question, Instant, SyncSender<Answer>),
        mut asked: UnboundedReceiver<Asked>,
    ) {
        self.put(open, until, answer);
        loop {
            let due = self.pending.as_ref().map_or(self.alive_at, |pending| pending.again.min(pending.until));
            let due = tokio::time::Instant::from_std(due.min(self.alive_at));
            tokio::select! {
                biased;
                Some(message) = self.answers.next() => self.take(&message),
                question = asked.recv(), if self.pending.is_none() => match question {
                    Some(Asked { question, until, answer }) => self.put(Question::Ask { question }, until, answer),
                    None => return self.end().await,
                },
                () = tokio::time::sleep_until(due) => (),
            }
            self.send_due().await;
        }
    }

    fn signed(&self, seq: u64, question: Question) -> Option<String> {
        let (agent, incarnation, session) = (self.agent.clone(), self.incarnation, self.session.clone());
        signed::sign(&self.access.key, &Ask { version: Version, agent, incarnation, session, seq, question }).ok()
    }

    fn put(&mut self, question: Question, until: Instant, answer: SyncSender<Answer>) {
        self.seq += 1;
        match self.signed(self.seq, question) {
            Some(text) => {
                self.pending = Some(Pending { seq: self.seq, text, again: Instant::now(), until, answer });
            }
            None => _ = answer.send(Err("the question cannot be signed".to_owned())),
        }
    }

    fn take(&mut self, message: &Message) {
        let subject = |said: &Said| subject::answers(&said.session, &said.agent);
        let Some(said) = subject::said(message, subject) else { return };
        let is_own = said.session == self.session && said.incarnation == self.incarnation;
        let answer = match said.answer {
            SessionAnswer::Done { value } => Ok(value),
            SessionAnswer::Failed { error } => Err(error),
            SessionAnswer::Unknown {} => Err("it has ended the session".to_owned()),
        };
        if let Some(pending) = self.pending.take_if(|pending| is_own && pending.seq == said.seq) {
            let _ = pending.answer.send(answer);
        }
    }

    /// Sends what is due, and gives up what is too late.
    async fn send_due(&mut self) {
        let now = Instant::now();
        if let Some(pending) = self.pending.take_if(|pending| now >= pending.until) {
            let _ = pending.answer.send(Err("it did not answer in time".to_owned()));
        }
        if let Some(pending) = self.pending.as_mut().filter(|pending| now >= pending.again) {
            pending.again = now + AGAIN;
            self.bus.send(subject::sessions(&self.agent), pending.text.clone()).await;
        }
        if now >= self.alive_at {
            self.alive_at = now + ALIVE;
            self.alive += 1;
            if let Some(text) = self.signed(self.alive, Question::Alive {}) {
                self.bus.send(subject::sessions(&self.agent), text).await;
            }
        }
    }

    /// Tells the agent that it is over. One that does not hear it ends the session by itself.
    async fn end(mut self) {
        let (answer, closed) = sync_channel(1);
        self.put(Question::Close {}, Instant::now() + END, answer);
        while closed.try_recv().is_err() && self.pending.is_some() {
            self.send_due().await;
            let due = self.pending.as_ref().map_or_else(Instant::now, |pending| pending.again.min(pending.until));
            tokio::select! {
                biased;
                Some(message) = self.answers.next() => self.take(&message),
                () = tokio::time::sleep_until(tokio::time::Instant::from_std(due)) => (),
            }
        }
        self.bus.flush().await;
    }
}
