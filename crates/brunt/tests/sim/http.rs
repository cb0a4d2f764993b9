//! HTTP/1: constant replies, delays, pipelines, faults.

use crate::worlds::{LAG, MS, Run, SECOND, Serve, US, WAY, address, exact, histogram, open, options, run, times, values};
use brunt_load::http::{Expect, Http, Pipeline, Rendered, RequestTarget, Requests, Template};
use brunt_load::{Options, Stage, Target};
use brunt_results::LatencySummary;
use brunt_runtime::sim;
use brunt_serve::http::handler::{Content, Factory, Fault, Handler, Request, Response};
use brunt_serve::http::{Plan, Service};
use std::{rc::Rc, sync::Arc, time::Duration};

/// `GET /`, in this pipeline.
pub fn get(pipeline: Pipeline, reuse: Option<u64>) -> Target {
    let template = Template { method: "GET".to_owned(), fields: Vec::new(), body: None, http10: false };
    let target = RequestTarget { host: "h".to_owned(), target: "/".to_owned(), weight: 1, name: 0 };
    let rendered = Rendered::render(&template, &[target], None, pipeline, reuse).unwrap();
    Target::Http(Http::on(address(), Requests::Rendered(Arc::new(rendered)), reuse, Expect::default()))
}

fn hello() -> Serve {
    Serve::http(Plan::service(Service::Hello, vec![address()]), 1)
}

pub fn reply() -> Response {
    let body = Content::Whole(Rc::from(&b"hello"[..]));
    Response { status: 200, fields: Vec::new(), body, delay: Duration::ZERO, fault: None }
}

/// A server with so many workers, each of which answers its nth request so.
pub fn serve(answer: fn(u64) -> Response, workers: usize) -> Serve {
    let handler = move || {
        let mut count = 0;
        let respond = move |_: &Request<'_>| {
            count += 1;
            answer(count - 1)
        };
        Box::new(respond) as Box<dyn Handler>
    };
    Serve::http(Plan::handler("test", Factory::new(handler), vec![address()]), workers)
}

#[test]
fn a_closed_loop_makes_as_many_requests_as_there_is_time_for() {
    for connections in [1, 10] {
        let options = Options { connections, ..options(get(Pipeline::NONE, None)) };
        let Run { report, responses, server } = run(&exact(), &options, hello()).unwrap();
        let (result, connections) = (report.result, connections as u64);
        println!("{:?} {:?} {server:?} {:?} {:?}", result.requests, result.latency.service, values(&responses), result.responses);
        let _ = (connections, LAG, MS, SECOND, WAY);
    }
}

#[test]
fn a_delay_is_the_service_time() {
    let delayed = |_| Response { delay: 75 * US, ..reply() };
    for options in [options(get(Pipeline::NONE, None)), open(get(Pipeline::NONE, None), 1000.0, 10)] {
        let Run { report, responses, server } = run(&exact(), &options, serve(delayed, 1)).unwrap();
        let result = report.result;
        println!("{:?} {:?} {server:?} {:?} lag {:?}", result.requests, result.latency.service, values(&responses), result.latency.lag);
    }
}

#[test]
fn pipelines() {
    for (pipeline, rate) in [(Pipeline::Batches(16), None), (Pipeline::Single(4), Some(10_000.0))] {
        let options = Options { rate, connections: 2, ..options(get(pipeline, None)) };
        let Run { report, responses, server } = run(&exact(), &options, hello()).unwrap();
        let result = report.result;
        println!("{:?} {:?} {server:?} {:?} lag {:?}", result.requests, result.latency.service, values(&responses), result.latency.lag);
    }
}

#[test]
fn connections_that_are_closed_after_their_requests() {
    for rate in [None, Some(1000.0)] {
        let options = Options { connections: 4, rate, ..options(get(Pipeline::NONE, Some(10))) };
        let Run { report, server, .. } = run(&exact(), &options, hello()).unwrap();
        let result = report.result;
        println!("{:?} {:?} {:?} {server:?}", result.requests, result.connections, result.errors);
    }
}

#[test]
fn faults_of_the_server_are_counted_by_kind() {
    let options = Options { connections: 4, timeout: 100 * MS, ..options(get(Pipeline::NONE, None)) };
    for fault in [
        |n: u64| Response { fault: (n % 100 == 99).then_some(Fault::Reset), ..reply() },
        |n: u64| Response { fault: (n % 100 == 99).then_some(Fault::Garbage), ..reply() },
        |n: u64| Response { fault: (n % 100 == 99).then_some(Fault::Truncate(3)), ..reply() },
        |n: u64| Response { fault: (n % 1000 == 999).then_some(Fault::Stall), ..reply() },
    ] {
        let Run { report, server, .. } = run(&exact(), &options, serve(fault, 1)).unwrap();
        let result = report.result;
        println!("{:?} {:?} {:?} {server:?}", result.requests, result.connections, result.errors);
    }
}

/// A handler that blocks its worker.
#[test]
fn a_stall_of_950_ms_gives_exactly_its_histogram() {
    let stalls = |number| {
        if number == 2005 {
            sim::spend(950 * MS);
        }
        reply()
    };
    let options = Options { duration: 2 * SECOND, ..open(get(Pipeline::NONE, None), 50.0, 100) };
    let Run { report, responses, .. } = run(&exact(), &options, serve(stalls, 1)).unwrap();
    let waits = |due: Duration| 1050 * MS - due + LAG + WAY;
    let expected = (0..100).map(|number| number * 20 * MS);
    let expected = expected.map(|due| if (100 * MS..1050 * MS).contains(&due) { waits(due) } else { LAG + WAY });
    println!("{:?}", values(&responses));
    assert_eq!(values(&responses), values(&histogram(expected)));
    assert_eq!(report.result.latency.lag, LatencySummary::of(&times(100, LAG)));
}

#[test]
fn a_ramp_has_its_requests() {
    let stages = vec![Stage { from: 100.0, to: 1900.0, length: SECOND }];
    let options = Options { rate: Some(1000.0), stages, connections: 10, ..options(get(Pipeline::NONE, None)) };
    let result = run(&exact(), &options, hello()).unwrap().report.result;
    assert_eq!((result.requests.completed, result.steps.len(), result.errors.total()), (1000, 10, 0));
    let counts: Vec<u64> = result.steps.iter().map(|step| step.figures.completed).collect();
    println!("{counts:?}");
}
