//! Faults of a server over TLS: they act below it, on the bytes of the connection.

use crate::targets::{get, reply, serve};
use crate::worlds::{MS, Run, Serve, exact, options, run};
use brunt_load::http::Pipeline;
use brunt_load::{Options, Target};
use brunt_results::result::Errors;
use brunt_serve::http::handler::{Fault, Response};
use brunt_tls::{Acceptor, ClientConfig, ClientOptions, Identity, Trust};

type Kind = fn(&Errors) -> u64;
type Faulty = (fn(u64) -> Response, Kind);

/// Faults, and the kind as which a load counts each. A connection that is cut misses its close_notify: the rest may have been
/// truncated by an attacker.
const FAULTS: [Faulty; 4] = [
    (|number| faulty(number, Fault::Reset), |errors| errors.reset),
    (|number| faulty(number, Fault::Truncate(3)), |errors| errors.reset),
    (|number| faulty(number, Fault::Garbage), |errors| errors.protocol),
    (|number| faulty(number, Fault::Stall), |errors| errors.timeout),
];

/// Every 10th request, so that the others show that the connection is good.
fn faulty(number: u64, fault: Fault) -> Response {
    Response { fault: (number % 10 == 9).then_some(fault), ..reply() }
}

/// `GET /` over TLS, of any server.
fn secret() -> Target {
    let Target::Http(mut http) = get(Pipeline::NONE, None) else { unreachable!("it is HTTP") };
    let insecure = ClientOptions { trust: Trust::Insecure, ..ClientOptions::default() };
    http.hosts[0].tls = Some(ClientConfig::new(&insecure).unwrap().connector("localhost").unwrap());
    Target::Http(http)
}

#[test]
fn each_fault_is_seen_as_what_it_is() {
    let own = Acceptor::new(&Identity::self_signed(&["localhost".to_owned()]).unwrap(), None).unwrap();
    for (fault, (answer, kind)) in FAULTS.into_iter().enumerate() {
        let (Serve::Http(server), handlers) = serve(answer, 1) else { unreachable!("it is HTTP") };
        let serve = Serve::Http(brunt_serve::http::Options { plan: server.plan.with_tls(Some(&own)), ..server });
        let options = Options { connections: 2, duration: 200 * MS, timeout: 5 * MS, ..options(secret()) };
        let Run { report, server, .. } = run(&exact(), &options, serve).unwrap();
        let (result, handled) = (report.result, handlers.requests());
        let (requests, errors) = (&result.requests, &result.errors);
        assert_eq!(requests.completed + requests.failed + requests.unanswered, handled, "{fault}");
        assert_eq!(requests.failed + requests.abandoned, handled / 10, "{fault}");
        assert_eq!((kind(errors), errors.total()), (requests.failed, requests.failed), "{fault}: {errors:?}");
        assert!(requests.failed >= 30, "{fault}: {requests:?}");
        // Each ends its connection, and the next one has a handshake, unless the load ends before.
        let handshakes = result.handshakes.unwrap();
        let made = handshakes.full + handshakes.resumed;
        assert_eq!(handshakes.failed, 0, "{fault}");
        // The client answers garbage by an alert, which is an error of the server's connection.
        assert!(server.failed == 0 || kind(errors) == errors.protocol && server.failed <= requests.failed, "{fault}");
        assert!((requests.failed..=requests.failed + 2).contains(&made), "{fault}: {made} {requests:?}");
        assert!((made..=made + 2).contains(&server.accepted), "{fault}: {made} {server:?}");
    }
}
