//! How the commands begin and end.

use super::scene::{Ui, brunt, output, server};
use brunt_testkit::{Signal, home, listener, told};
use std::fs;
use std::time::Duration;

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/cmd/ui-*.trycmd");
}

#[test]
fn an_occupied_port_and_wrong_words_are_one_line() {
    let home = home();
    let taken = listener();
    let address = taken.local_addr().unwrap().to_string();
    for words in [vec!["ui", "--listen", &address], vec!["load", "tcp://127.0.0.1:9", &format!("--ui={address}")]] {
        let (_, why) = told(&output(brunt(&home, &words)), 1);
        assert!(why.contains(&address) && why.contains("choose another port") && why.lines().count() == 1, "{why}");
    }
    for (words, remedy) in [
        (vec!["ui", "--listen", "0.0.0.0:7170"], "127.0.0.1:7170"),
        (vec!["load", "tcp://127.0.0.1:9", "--ui=192.168.0.1:80"], "ssh -L"),
        (vec!["ui", "missing"], "name a directory"),
        (vec!["load", "tcp://127.0.0.1:9", "--hold"], "--ui"),
    ] {
        let (_, why) = told(&output(brunt(&home, &words)), 2);
        assert!(why.contains(remedy), "{words:?}: {why}");
    }
}

#[test]
fn signals_end_it_at_once_whoever_looks() {
    let home = home();
    for signal in [Signal::INT, Signal::TERM] {
        let mut ui = Ui::start(&home, &["."]);
        // Nothing is there yet: the stream waits.
        let dir = home.display().to_string();
        let host = ui.host();
        let head = ui.known().join("\r\n");
        let mut stream = std::net::TcpStream::connect(host).unwrap();
        std::io::Write::write_all(&mut stream, format!("GET /events?dir={dir} HTTP/1.1\r\n{head}\r\n\r\n").as_bytes())
            .unwrap();
        std::thread::sleep(Duration::from_millis(300));
        ui.signal(signal);
        assert_eq!(ui.ended(), Some(0));
    }
}

#[test]
fn a_load_is_shown_until_it_ends_and_with_hold_until_ctrl_c() {
    let home = home();
    let (server, url) = server(&home);
    for hold in [false, true] {
        // The load cannot end before its page is read.
        server.signal(Signal::STOP);
        let words = ["load", &url, "-n", "500", "-c", "2", "--timeout", "60s", "--accept-any-result", "--ui"];
        let mut command = brunt(&home, &words);
        if hold {
            command.args(["--hold", "--out", "held"]);
        }
        let mut ui = Ui::of(command);
        let page = ui.get("/").body;
        let dir = page.split("data-events=\"/events?dir=").nth(1).unwrap().split('"').next().unwrap().to_owned();
        assert!(!page.contains("Start a load"), "{page}");
        assert_eq!(ui.get("/start").status, 404);
        let go_on = |_: &_| {
            server.signal(Signal::CONT);
            false
        };
        let states = ui.events(&dir, go_on);
        let last = states.last().unwrap();
        assert!(last["ended"] == true && last["verdict"].as_str().unwrap().starts_with("verdict: "), "{last}");
        if hold {
            assert_eq!(ui.get(&format!("/result?dir={dir}")).status, 200);
            ui.signal(Signal::INT);
        }
        assert_eq!(ui.ended(), Some(0));
        assert_eq!(fs::metadata(&dir).is_ok(), hold, "a directory without --out is temporary");
    }
}
