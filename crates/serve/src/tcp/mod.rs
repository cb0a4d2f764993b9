//! The server models for TCP services. Code that several models need is in `shared`; a model is one file beside it.
//!
//! A new model is a file with a [`ServerModel`], its `mod` line, and its line in [`MODELS`]. Help texts and tests follow
//! the table; tests name the places that cannot (`docs/guide/serve.md`, the model list of plans).

mod acceptor;
mod epoll;
pub(crate) mod native;
mod poll;
mod pool;
mod prefork;
pub(crate) mod shared;
mod thread;
mod tokio;

pub use shared::context::{Concurrency, ServerModel, Workers};

use crate::model::{Model, by_word};
use std::{fmt, ops::Deref, str::FromStr};

/// All models. One that is missing here is dead code, which the compiler reports.
pub static MODELS: &[&ServerModel] = &[
    &native::URING,
    &native::EPOLL,
    &tokio::TOKIO,
    &tokio::TOKIO_EACH,
    &thread::MODEL,
    &poll::MODEL,
    &epoll::ONE,
    &epoll::EACH,
    &acceptor::MODEL,
    &prefork::MODEL,
    &pool::MODEL,
];

/// A choice of one of [`MODELS`].
#[derive(Debug, Clone, Copy)]
pub struct TcpModel(pub(crate) &'static ServerModel);

impl TcpModel {
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        MODELS.iter().map(|model| Self(model))
    }
}

impl Deref for TcpModel {
    type Target = ServerModel;
    fn deref(&self) -> &ServerModel {
        self.0
    }
}

impl PartialEq for TcpModel {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word
    }
}

impl From<Model> for TcpModel {
    fn from(model: Model) -> Self {
        Self(match model {
            Model::Uring => &native::URING,
            Model::Epoll => &native::EPOLL,
            Model::Tokio => &tokio::TOKIO,
        })
    }
}

impl fmt::Display for TcpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word)
    }
}

impl FromStr for TcpModel {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let table: Vec<_> = Self::all().map(|model| (model, model.word)).collect();
        by_word(&table, text, "server model")
    }
}
