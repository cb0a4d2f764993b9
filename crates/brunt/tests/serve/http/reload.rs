//! SIGHUP: new routes on existing connections.

use crate::http::on_every_model;
use crate::shared::client::*;
use crate::shared::server::{PATIENCE, cores};
use brunt_testkit::{Signal, until};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

on_every_model! {
    a_reload_under_load_drops_no_connection
    an_invalid_file_keeps_the_old_routes
}

/// Workers pick up a plan at a tick, an eighth of the shortest deadline: 10 ms.
const TICKS: &str = "--send-timeout 80ms";

fn route(text: &str) -> String {
    format!("[[route]]\npath = \"/\"\ntext = \"{text}\"\n")
}

/// Repeats a request until this is the answer.
#[track_caller]
fn until_answer(client: &mut Client, text: &str) {
    until(&format!("the answer is {text}"), || client.get("/").text() == text);
}

fn a_reload_under_load_drops_no_connection(model: &str) {
    let (server, directory) = start_routes(model, &route("0"), &format!("{TICKS} --cores {}", cores(1)[0]));
    let (ended, answers) = (AtomicBool::new(false), AtomicU32::new(0));
    let address = server.address();
    // The server is killed on drop if the test fails.
    let until_then = Instant::now() + 2 * PATIENCE;
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = Client::connect(address);
                let mut last = 0;
                while !ended.load(Ordering::Relaxed) && Instant::now() < until_then {
                    let answer = client.get("/");
                    let number: u32 = answer.text().parse().unwrap();
                    assert!(answer.status == 200 && number >= last, "{number} after {last}");
                    last = number;
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut client = Client::connect(server.address());
        for number in 1..6 {
            std::fs::write(directory.path().join("routes.toml"), route(&number.to_string())).unwrap();
            server.signal(Signal::HUP);
            until_answer(&mut client, &number.to_string());
        }
        ended.store(true, Ordering::Relaxed);
    });
    assert!(answers.load(Ordering::Relaxed) > 0);
}

fn an_invalid_file_keeps_the_old_routes(model: &str) {
    let (mut server, directory) = start_routes(model, &route("old"), TICKS);
    let file = directory.path().join("routes.toml");
    let mut client = Client::connect(server.address());
    for (bad, why) in [
        ("[[route]]\npath = \"/\"\ntxt = \"new\"\n", "routes.toml:3:1: unknown key 'txt'"),
        (
            "[[listener]]\nname = \"x\"\nlisten = \"127.0.0.1:9\"\nservice = \"hello\"\n",
            "restart the server to change listeners",
        ),
    ] {
        std::fs::write(&file, bad).unwrap();
        server.signal(Signal::HUP);
        let said = server.line();
        assert!(said.contains("keeping the old routes") && said.contains(why), "{said}");
        thread::sleep(Duration::from_millis(50));
        assert_eq!(client.get("/").text(), "old");
    }
    std::fs::write(&file, route("new")).unwrap();
    server.signal(Signal::HUP);
    assert!(server.line().contains("reloaded the routes from"));
    until_answer(&mut client, "new");
}
