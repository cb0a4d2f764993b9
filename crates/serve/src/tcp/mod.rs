//! The server models: ways to do the I/O of one service. They share everything but the difference: what several of them
//! need stands in `context`, `threads`, `accept`, `wake_fd`, `connection` and `reactor`, and a model is a small file beside.

mod acceptor;
mod epoll_each;
mod epoll_one;
pub(crate) mod native;
mod poll;
mod pool;
mod prefork;
pub(crate) mod shared;
mod thread;
mod tokio;

use crate::{Counts, ServeError};
use brunt_runtime::BackendKind;
use shared::context::ModelContext;
use std::{fmt, str::FromStr};

/// A way to do the I/O of a server that every service stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// Our runtime on io_uring, one thread a core.
    Uring,
    /// Our runtime on epoll, one thread a core.
    Epoll,
    /// Tokio: its current-thread runtime on one core, its multi-thread runtime on several.
    Tokio,
}

impl Model {
    /// All models with the word each is called by.
    pub const ALL: [(Self, &str); 3] = [(Self::Uring, "uring"), (Self::Epoll, "epoll"), (Self::Tokio, "tokio")];
}

/// A way to do the I/O of a server of plain TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpModel {
    /// A runtime, a task a connection.
    Runtime(Model),
    /// Tokio's current-thread runtime on each core, with a listener of its own.
    TokioEach,
    /// A blocking thread for each connection.
    Thread,
    /// One loop around poll(2), whatever the number of cores.
    Poll,
    /// One loop around one epoll set, whatever the number of cores.
    EpollOne,
    /// A loop around an epoll set on each core, with a listener of its own.
    EpollEach,
    /// One thread that accepts and dispatch the connections to a loop on each core, in turn.
    Acceptor,
    /// A process for each core with a loop; all of them accept from one listener.
    Prefork,
    /// One loop that finds who is ready, and threads that serve them.
    Pool,
}

impl TcpModel {
    /// All models with the word each is called by.
    pub const ALL: [(Self, &str); 11] = [
        (Self::Runtime(Model::Uring), "uring"),
        (Self::Runtime(Model::Epoll), "epoll"),
        (Self::Runtime(Model::Tokio), "tokio"),
        (Self::TokioEach, "tokio-each"),
        (Self::Thread, "thread"),
        (Self::Poll, "poll"),
        (Self::EpollOne, "epoll-one"),
        (Self::EpollEach, "epoll-each"),
        (Self::Acceptor, "acceptor"),
        (Self::Prefork, "prefork"),
        (Self::Pool, "pool"),
    ];

    /// Whether each worker listens for itself, on the same port as the others.
    pub(crate) fn shares_port(self) -> bool {
        match self {
            Self::Runtime(model) => model != Model::Tokio,
            Self::TokioEach | Self::EpollEach => true,
            Self::Thread | Self::Poll | Self::EpollOne | Self::Acceptor | Self::Prefork | Self::Pool => false,
        }
    }

    pub(crate) fn run(self, context: &ModelContext) -> Result<Counts, ServeError> {
        match self {
            Self::Runtime(Model::Uring) => native::run(context, BackendKind::Uring),
            Self::Runtime(Model::Epoll) => native::run(context, BackendKind::Epoll),
            Self::Runtime(Model::Tokio) => tokio::run(context),
            Self::TokioEach => tokio::run_each(context),
            Self::Thread => thread::run(context),
            Self::Poll => poll::run(context),
            Self::EpollOne => epoll_one::run(context),
            Self::EpollEach => epoll_each::run(context),
            Self::Acceptor => acceptor::run(context),
            Self::Prefork => prefork::run(context),
            Self::Pool => pool::run(context),
        }
    }
}

impl From<Model> for TcpModel {
    fn from(model: Model) -> Self {
        Self::Runtime(model)
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(word(&Self::ALL, self))
    }
}

impl fmt::Display for TcpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(word(&Self::ALL, self))
    }
}

impl FromStr for Model {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        find(&Self::ALL, text, "is no model of this service")
    }
}

impl FromStr for TcpModel {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        find(&Self::ALL, text, "is no server model")
    }
}

fn word<M: PartialEq>(all: &[(M, &'static str)], model: &M) -> &'static str {
    all.iter().find(|(other, _)| other == model).map_or("", |(_, word)| word)
}

fn find<M: Copy>(all: &[(M, &str)], text: &str, wrong: &str) -> Result<M, String> {
    let found = all.iter().find(|(_, word)| *word == text).map(|(model, _)| *model);
    found.ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|(_, word)| *word).collect();
        format!("'{text}' {wrong}; choose one of {}", words.join(", "))
    })
}
