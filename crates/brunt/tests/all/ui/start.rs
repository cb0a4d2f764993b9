//! The form: the command that it stands for, and loads that it starts.

use super::scene::{Ui, server};
use brunt_testkit::{Signal, home, is_running, until, until_some};
use serde_json::Value;
use std::{panic, thread};

fn command(ui: &Ui, body: &str) -> Value {
    let fields = [ui.known(), vec![format!("Origin: http://{}", ui.host()), "Accept: application/json".to_owned()]];
    let reply = ui.ask("POST", "/command", &fields.concat(), body);
    assert_eq!(reply.status, 200, "{reply:?}");
    serde_json::from_str(&reply.body).unwrap()
}

#[test]
fn the_form_shows_its_command_and_starts_nothing_unless_allowed() {
    let home = home();
    let ui = Ui::start(&home, &["."]);
    let form = ui.get("/start").body;
    assert!(form.contains("--allow-start") && !form.contains("Start the load"), "{form}");
    let refused = ui.post("/start", "url=tcp://127.0.0.1:9&duration=1s");
    assert!(refused.status == 403 && refused.body.contains("--allow-start"), "{refused:?}");
    assert!(!home.join("state").exists());
    let fields =
        "url=http%3A%2F%2F127.0.0.1%3A9%2Fa%3Fb%26c&connections=3&rate=2k&header=A:+b%0D%0AC:+d&steady=on&body=";
    let shown = command(&ui, fields);
    assert_eq!(
        shown["command"], "brunt load 'http://127.0.0.1:9/a?b&c' -c 3 -R 2k --steady -H 'A: b' -H 'C: d'",
        "{shown}"
    );
    for (fields, words) in [
        ("connections=3", "URL is missing"),
        ("url=http://127.0.0.1:9/&connections=many", "many"),
        ("url=http://127.0.0.1:9/&connections=--help", "no dash"),
        ("url=http://127.0.0.1:9/&header=Authorization:+Bearer+x", "as a file"),
        ("url=http://127.0.0.1:9/&basic-auth=missing", "missing"),
        ("url=gopher://h/", "gopher"),
    ] {
        let shown = command(&ui, fields);
        assert!(shown["error"].as_str().is_some_and(|error| error.contains(words)), "{fields}: {shown}");
    }
    // Without a script the answer is the form.
    let page = ui.post("/command", "url=tcp://127.0.0.1:9&connections=7").body;
    assert!(page.contains("brunt load tcp://127.0.0.1:9 -c 7</pre>") && page.contains("value=\"7\""), "{page}");
}

#[test]
fn a_load_is_started_followed_and_stopped_in_the_page() {
    let home = home();
    let (_server, url) = server(&home);
    let ui = Ui::start(&home, &["--allow-start"]);
    assert!(ui.get("/start").body.contains("Start the load"));
    let wrong = ui.post("/start", &format!("url={url}&connections=none"));
    assert!(wrong.status == 422 && wrong.body.contains("none"), "{wrong:?}");
    let started = ui.post("/start", &format!("url={url}&connections=2&rate=500&duration=60s&warmup=500ms"));
    assert_eq!(started.status, 303, "{started:?}");
    let place = started.field("Location").unwrap();
    let dir = place.strip_prefix("/live?dir=").unwrap().to_owned();
    assert_eq!(dir, home.join("state/ui/load").display().to_string());
    let page = ui.get(place).body;
    assert!(page.contains(&format!("data-events=\"/events?dir={dir}\"")) && page.contains("Stop the load"), "{page}");

    let has_figures = |state: &Value| state["rows"][0][1].as_str().is_some_and(|rate| rate.contains("offered"));
    let states = ui.events(&dir, has_figures);
    let last = states.last().unwrap();
    assert_eq!(last["headline"], format!("{url}, 2 connections, open loop 500/s"), "{last}");
    assert_eq!(last["job"]["command"], format!("brunt load {url} -c 2 -d 60s -R 500 --warmup 500ms --out {dir}"));
    assert!(last["state"].as_str().unwrap().ends_with("left") && last["points"]["p99"][0].is_number(), "{last}");
    assert!(ui.get("/").body.contains(place), "it is among those that run");
    let second = ui.post("/start", &format!("url={url}&duration=1s"));
    assert!(second.status == 422 && second.body.contains("stop it first"), "{second:?}");

    assert_eq!(ui.post("/stop", &format!("dir={dir}")).status, 303);
    let states = ui.events(&dir, |_| false);
    let last = states.last().unwrap();
    assert!(last["ended"] == true && last["job"]["running"] == false, "{last}");
    assert!(last["state"].as_str().unwrap().starts_with("interrupted after"), "{last}");
    assert_eq!(ui.post("/stop", &format!("dir={dir}")).status, 409);
    until("its result is listed", || ui.get("/").body.contains(&format!("/result?dir={dir}")));
}

#[test]
fn loads_end_with_the_page_and_keep_their_results() {
    let home = home();
    let (_server, url) = server(&home);
    let mut ui = Ui::start(&home, &["--allow-start"]);
    let started = ui.post("/start", &format!("url={url}&connections=2&rate=100&duration=1h&warmup=100ms"));
    let dir = started.field("Location").unwrap().strip_prefix("/live?dir=").unwrap().to_owned();
    ui.events(&dir, |state| state["at_s"].as_f64().is_some_and(|at_s| at_s >= 2.0));
    ui.signal(Signal::INT);
    assert_eq!(ui.ended(), Some(0));
    let result = std::fs::read_to_string(home.join(&dir).join("result.json")).expect("the result is kept");
    assert!(serde_json::from_str::<Value>(&result).unwrap()["interrupted"] == true, "{result}");
}

#[test]
fn loads_of_the_page_end_with_a_test_that_panics() {
    let home = home();
    let (_server, url) = server(&home);
    let dir = home.to_path_buf();
    let test = move || {
        let ui = Ui::start(&dir, &["--allow-start"]);
        let started = ui.post("/start", &format!("url={url}&connections=2&rate=100&duration=1h"));
        assert_eq!(started.status, 303, "{started:?}");
        let pids = until_some("the load runs", || Some(ui.pids()).filter(|pids| pids.len() >= 2));
        // A panic without a message.
        panic::resume_unwind(Box::new(pids));
    };
    let pids = thread::spawn(test).join().unwrap_err().downcast::<Vec<u32>>().unwrap();
    assert!(!pids.iter().any(|pid| is_running(*pid)), "{pids:?}");
}

#[test]
fn credentials_stay_in_their_file() {
    let home = home();
    let (_server, url) = server(&home);
    std::fs::write(home.join("credential"), "me:hunter2-secret\n").unwrap();
    let ui = Ui::start(&home, &["--allow-start"]);
    let file = home.join("credential").display().to_string();
    let started = ui.post("/start", &format!("url={url}&rate=200&duration=2s&warmup=100ms&basic-auth={file}"));
    let place = started.field("Location").unwrap_or_else(|| panic!("{started:?}")).to_owned();
    let dir = place.strip_prefix("/live?dir=").unwrap().to_owned();
    let states = ui.events(&dir, |_| false);
    let last = states.last().unwrap();
    assert!(last["job"]["command"].as_str().unwrap().contains(&format!("--basic-auth {file}")), "{last}");
    let mut texts: Vec<String> = states.iter().map(Value::to_string).collect();
    texts.extend([place.as_str(), "/", &format!("/result?dir={dir}")].map(|target| ui.get(target).body));
    for entry in std::fs::read_dir(&dir).unwrap().flatten() {
        texts.push(String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned());
    }
    // Base64 of the pair, without its end.
    assert!(texts.len() > 8 && texts.iter().all(|text| !text.contains("hunter2") && !text.contains("bWU6aHVudGVyMi1")));
}
