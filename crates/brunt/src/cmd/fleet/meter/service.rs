//! The agent's end.

use super::{Chosen, Closed, Question, Sampled, listeners};
use crate::cmd::load::ServiceFlags;
use brunt_fleet::nats::Service;
use brunt_meter::{HostMeter, ServerMeter};
use brunt_results::series::Second;
use serde::Serialize;
use serde_json::Value;
use std::time::Instant;

struct Metered {
    server: ServerMeter,
    host: HostMeter,
}

/// Attaches to the server that is meant.
///
/// # Errors
/// There is none.
pub(in crate::cmd::fleet) fn open(settings: Value) -> Result<Box<dyn Service>, String> {
    let Chosen::<ServiceFlags> { flags, addresses } =
        serde_json::from_value(settings).map_err(|error| error.to_string())?;
    let found = listeners(&addresses);
    let server = flags.meter_here(found, addresses).map_err(|error| error.to_string())??;
    Ok(Box::new(Metered { server, host: HostMeter::attach() }))
}

fn value(answer: &impl Serialize) -> Result<Value, String> {
    serde_json::to_value(answer).map_err(|error| error.to_string())
}

impl Service for Metered {
    fn ask(&mut self, question: Value) -> Result<Value, String> {
        match serde_json::from_value(question).map_err(|error| error.to_string())? {
            Question::Pid => return value(&self.server.pid()),
            Question::Search => self.server.search(),
            Question::Open => {
                let began = Instant::now();
                self.host.open();
                self.server.open();
                return value(&began.elapsed());
            }
            Question::Sample => {
                let exited = self.server.exited();
                let renewed = exited.and_then(|_| self.server.renew());
                let mut second = Second::default();
                self.server.sample(&mut second);
                self.host.sample(&mut second);
                return value(&Sampled { second, exited: exited.filter(|_| renewed.is_none()), renewed });
            }
            Question::Stop => {
                let began = Instant::now();
                self.server.stop();
                self.host.stop();
                return value(&began.elapsed());
            }
            Question::Close { completed, window } => {
                let (server, mut absent) = self.server.close(completed, window);
                let (host, of_host) = std::mem::replace(&mut self.host, HostMeter::attach()).close(window);
                absent.extend(of_host);
                return value(&Closed { server, host, absent });
            }
        }
        Ok(Value::Null)
    }
}
