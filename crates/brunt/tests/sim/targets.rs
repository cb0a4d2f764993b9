//! HTTP targets and servers whose replies are functions of the number of the request.

use crate::worlds::{Serve, address};
use brunt_load::Target;
use brunt_load::http::{Expect, Http, Pipeline, Rendered, RequestTarget, Requests, Template};
use brunt_serve::http::handler::{Content, Factory, Handler, Request, Response};
use brunt_serve::http::{Plan, Service};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::{rc::Rc, sync::Arc, time::Duration};

/// `GET /`, in this pipeline.
pub fn get(pipeline: Pipeline, reuse: Option<u64>) -> Target {
    let template = Template { method: "GET".to_owned(), fields: Vec::new(), body: None, http10: false };
    let target =
        RequestTarget { host: "h".to_owned(), target: "/".to_owned(), weight: 1, name: 0, authorization: None };
    let rendered = Rendered::render(&template, &[target], None, pipeline, reuse).unwrap();
    Target::Http(Http::on(address(), Requests::Rendered(Arc::new(rendered)), reuse, Expect::default()))
}

pub fn hello(workers: usize) -> Serve {
    Serve::http(Plan::service(Service::Hello, vec![address()]), workers)
}

pub fn reply() -> Response {
    let body = Content::Whole(Rc::from(&b"hello"[..]));
    Response { status: 200, fields: Vec::new(), body, delay: Duration::ZERO, fault: None }
}

/// What the handlers of a server have seen.
#[derive(Debug, Default)]
pub struct Seen(AtomicU64);

impl Seen {
    pub fn requests(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A server with so many workers, each of which answers its nth request so.
pub fn serve(answer: fn(u64) -> Response, workers: usize) -> (Serve, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let sees = seen.clone();
    let handler = move || {
        let (mut count, seen) = (0, sees.clone());
        let respond = move |_: &Request<'_>| {
            count += 1;
            seen.0.fetch_add(1, Relaxed);
            answer(count - 1)
        };
        Box::new(respond) as Box<dyn Handler>
    };
    (handled(Factory::new(handler), workers), seen)
}

/// A server with so many workers, each of which has a handler of its own.
pub fn handled(handlers: Factory, workers: usize) -> Serve {
    Serve::http(Plan::handler("test", handlers, vec![address()]), workers)
}
