//! Scripts run as by the server, without sockets.

mod any;
mod api;
mod limits;

use super::{Instance, LIMITS, Script};
use crate::http::conversation::{self, Addrs};
use crate::http::handler::{Content, Handler, Response};
use brunt_wire::http1::Limits;
use brunt_wire::http1::server::{Connection, Event};
use std::sync::{Arc, Mutex};

/// A running script and its output.
pub struct Bench {
    pub script: Script,
    pub instance: Instance,
    pub said: Arc<Mutex<Vec<String>>>,
}

impl Bench {
    pub fn new(text: &str) -> Self {
        Self::seeded(text, 1)
    }

    pub fn seeded(text: &str, seed: u64) -> Self {
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        let say = move |line: &str| heard.lock().unwrap().push(line.to_owned());
        let script = Script::compile("test.luau", text, LIMITS, say).unwrap();
        let instance = script.instance(seed).unwrap();
        Self { script, instance, said }
    }

    pub fn get(&mut self) -> Response {
        self.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    }

    pub fn ask(&mut self, text: &str) -> Response {
        let mut connection = Connection::default();
        let end = text.find("\r\n\r\n").expect("a whole head") + 4;
        let (peer, local) = (([10, 0, 0, 1], 4321).into(), ([127, 0, 0, 1], 8080).into());
        match connection.next(&mut text.as_bytes(), &Limits::default()) {
            Some(Event::Head(head)) => {
                self.instance.respond(&conversation::request(&head, &text.as_bytes()[end..], Addrs { peer, local }))
            }
            other => panic!("{other:?}"),
        }
    }

    /// The body of a response that must be a 200.
    pub fn text(&mut self, request: &str) -> String {
        let answer = self.ask(request);
        assert_eq!(answer.status, 200, "{:?}", self.said.lock().unwrap());
        text(&answer)
    }

    /// The body of the response to `GET /`.
    pub fn body(&mut self) -> String {
        text(&self.get())
    }

    /// Expects a failed call and returns its log.
    pub fn failure(&mut self) -> String {
        self.said.lock().unwrap().clear();
        assert_eq!(self.get().status, 500);
        self.said.lock().unwrap().join("\n")
    }
}

pub fn text(answer: &Response) -> String {
    match &answer.body {
        Content::Whole(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    }
}
