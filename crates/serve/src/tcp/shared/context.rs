//! What every model is started with, and what each does with it before it serves.

use crate::{
    Notice, Options, ServeError, Service, Work,
    listen::{self, Reserved},
};
use brunt_runtime::CancellationToken;
use std::{fmt::Display, net::TcpListener, sync::mpsc};

pub(crate) struct ModelContext<'a> {
    pub options: &'a Options,
    pub stop: &'a CancellationToken,
    pub notices: &'a mpsc::Sender<Notice>,
    /// Taken before any worker starts, so that a port in use is one error, and port 0 is one port for all.
    pub reserved: Vec<Reserved>,
}

impl<'a> ModelContext<'a> {
    pub fn new(
        options: &'a Options,
        stop: &'a CancellationToken,
        notices: &'a mpsc::Sender<Notice>,
    ) -> Result<Self, ServeError> {
        let share = options.workers.len() > 1 && options.model.shares_port();
        Ok(Self { options, stop, notices, reserved: listen::reserve(&options.listen, share)? })
    }

    /// One worker's listener for every address.
    pub fn listeners(&self) -> Result<Vec<TcpListener>, ServeError> {
        self.reserved.iter().map(Reserved::listener).collect()
    }

    /// Tells that all workers listen.
    pub fn listening(&self, backend: impl Display) {
        let addresses = self.reserved.iter().map(|reserved| reserved.address).collect();
        let backend = match self.options.service {
            Service::Echo(work) if work != Work::None => format!("{backend}; {work} before each answer"),
            _ => backend.to_string(),
        };
        let _ = self.notices.send(Notice::Listening { addresses, backend });
    }
}
