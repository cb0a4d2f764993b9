//! wrk scripts: their requests by name, their pauses, their end.

use crate::targets::{handled, reply};
use crate::worlds::{Run, SECOND, US, WAY, address, exact, run, times, values};
use brunt_load::http::{Expect, Http, Requests};
use brunt_load::script::{Facts, Wrk};
use brunt_load::{Options, Target};
use brunt_results::LatencySummary;
use brunt_serve::http::handler::{Factory, Handler, Request, Response};

/// Runs the load of a script against a server that answers `/status/404` with that status.
fn scripted(script: &str, options: impl FnOnce(Options) -> Options) -> Run {
    let home = brunt_testkit::home();
    let file = home.path().join("test.lua");
    std::fs::write(&file, script).unwrap();
    let facts = Facts {
        url: "http://h/".to_owned(),
        scheme: "http".to_owned(),
        host: "h".to_owned(),
        port: None,
        path: "/".to_owned(),
        method: None,
        headers: Vec::new(),
        body: None,
        addresses: vec![address()],
        arguments: Vec::new(),
    };
    let wrk = Wrk::open(&file, facts, 1).unwrap();
    let http = Http::on(address(), Requests::Script(wrk.script()), None, Expect::default());
    let answers = Factory::new(|| {
        let answer = |request: &Request<'_>| {
            let status = if request.path == "/status/404" { 404 } else { 200 };
            Response { status, ..reply() }
        };
        Box::new(answer) as Box<dyn Handler>
    });
    run(&exact(), &options(crate::worlds::options(Target::Http(http))), handled(answers, 1)).unwrap()
}

const STEPS: &str = r#"
local home
local count = 0
function request()
	home = home or wrk.format("GET", "/home")
	count += 1
	if count % 4 == 0 then
		return wrk.format("GET", "/status/404"), "checkout"
	elseif count % 4 == 1 then
		return home
	end
	return string.gsub(home, "home", "cart"), "cart"
end
"#;

#[test]
fn steps_have_figures_of_their_own() {
    for rate in [None, Some(400.0)] {
        let run = scripted(STEPS, |options| Options { rate, connections: 2, ..options });
        let result = run.report.result;
        let of = |name: &str| &result.names.iter().find(|part| part.name == name).unwrap().figures;
        let (cart, checkout) = (of("cart"), of("checkout"));
        assert_eq!(result.names.len(), 2);
        let every = result.requests.completed + result.requests.failed;
        // Of each four requests two and one; in a closed loop the last four are not whole.
        assert_eq!(every, if rate.is_some() { 400 } else { 2 * 45_454 });
        assert_eq!((cart.completed, checkout.failed), (every.div_ceil(2), every / 4), "{rate:?}");
        assert_eq!((cart.failed, checkout.completed, result.requests.failed), (0, 0, checkout.failed));
        assert_eq!((checkout.errors.status, result.errors.total()), (checkout.failed, checkout.failed));
        if rate.is_none() {
            let each = LatencySummary::of(&times(1, WAY));
            assert_eq!((cart.response.p50_us, cart.response.max_us), (each.p50_us, each.max_us));
        }
    }
}

#[test]
fn a_pause_of_a_script_is_between_requests_and_part_of_none() {
    let run = scripted("function delay() return 20 end", |options| Options { connections: 2, ..options });
    // Two connections, and 20 ms and a little for each request.
    assert_eq!((run.report.result.requests.completed, run.report.result.errors.total()), (100, 0));
    assert_eq!(values(&run.responses), values(&times(100, WAY)));
}

#[test]
fn a_script_ends_its_run_with_a_result() {
    let stops = "local left = 3 function response() left = left - 1 if left == 0 then wrk.thread:stop() end end";
    let run = scripted(stops, |options| Options { duration: 600 * SECOND, ..options });
    let result = run.report.result;
    assert_eq!((result.requests.completed, result.errors.total()), (3, 0));
    assert!(result.load.measured_s < (4 * WAY + US).as_secs_f64(), "{}", result.load.measured_s);
}
