//! A browser driven over its debugging pipe: JSON messages ended by a zero byte (Chrome DevTools Protocol).

use brunt_testkit::Running;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Generous, for the first page on a slow machine.
const PATIENCE: Duration = Duration::from_secs(180);

pub struct Browser {
    /// Killed with its helpers on drop.
    _running: Running,
    input: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    last: u64,
    events: Vec<Value>,
}

/// Starts a browser with its files in that folder; `None`, with the reason printed, if there is none.
pub fn start(home: &Path) -> Option<Browser> {
    let is_there = |name: &&str| {
        Command::new(name).arg("--version").env("HOME", home).output().is_ok_and(|out| out.status.success())
    };
    let Some(program) = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(is_there) else {
        assert!(
            std::env::var("BRUNT_CHROMIUM").as_deref() != Ok("must"),
            "BRUNT_CHROMIUM=must, and there is no chromium on PATH: apt install chromium"
        );
        println!("skipped: there is no chromium on PATH (apt install chromium)");
        return None;
    };
    // The pipe is file descriptors 3 and 4.
    let mut running = Running::start(
        Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh", program])
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            .args(["--force-device-scale-factor=1", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", home.join("profile").display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .env("HOME", home),
    );
    let mut output = BufReader::new(running.child().stdout.take().unwrap());
    let (sender, messages) = channel();
    std::thread::spawn(move || {
        let mut message = Vec::new();
        while output.read_until(0, &mut message).is_ok_and(|read| read > 0) {
            message.pop();
            if sender.send(serde_json::from_slice(&message).unwrap_or(Value::Null)).is_err() {
                return;
            }
            message.clear();
        }
    });
    let input = running.child().stdin.take().unwrap();
    let mut browser =
        Browser { _running: running, input, messages, session: String::new(), last: 0, events: Vec::new() };
    let target = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
    let target = target["targetId"].as_str().unwrap().to_owned();
    let attached = browser.ask("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
    browser.session = attached["sessionId"].as_str().unwrap().to_owned();
    for domain in ["Page", "Runtime", "Log", "Network", "DOM"] {
        browser.ask(&format!("{domain}.enable"), json!({}));
    }
    let size = json!({ "width": 1400, "height": 1000, "deviceScaleFactor": 1, "mobile": false });
    browser.ask("Emulation.setDeviceMetricsOverride", size);
    Some(browser)
}

impl Browser {
    /// Sends a command and returns its result.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.input.write_all(&bytes).unwrap();
        let last = self.last;
        let answer = self.until(|message| message["id"] == last);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Returns the next message of that kind; keeps the events before it.
    #[track_caller]
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.messages.recv_timeout(PATIENCE).expect("the browser answers");
            if is_it(&message) {
                return message;
            }
            self.events.push(message);
        }
    }

    /// Opens a file; returns after scripts have run and the page is painted.
    pub fn open(&mut self, file: &Path) {
        self.visit(&format!("file://{}", file.display()));
    }

    /// As [`Self::open`], for any URL.
    pub fn visit(&mut self, url: &str) {
        self.events.clear();
        self.leave(|browser| _ = browser.ask("Page.navigate", json!({ "url": url })));
    }

    /// Does what leads to another page, or loads this one again; returns after its scripts have run. What is evaluated meanwhile would
    /// be lost.
    #[track_caller]
    pub fn leave(&mut self, by: impl FnOnce(&mut Self)) {
        let is_loaded = |event: &&Value| event["method"] == "Page.loadEventFired";
        let before = self.events.iter().filter(is_loaded).count();
        by(self);
        if self.events.iter().filter(is_loaded).count() == before {
            let loaded = self.until(|message| message["method"] == "Page.loadEventFired");
            self.events.push(loaded);
        }
    }

    /// Evaluates an expression, awaiting promises.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.ask("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn wait(&mut self, expression: &str) {
        let promise = format!(
            "new Promise((done) => {{ const look = () => ({expression}) ? done(true) : setTimeout(look, 20); look(); }})"
        );
        assert_eq!(self.value(&promise), true, "{expression}");
    }

    /// Moves the pointer, in window pixels; presses and releases if `click`.
    pub fn point(&mut self, x: f64, y: f64, click: bool) {
        let kinds: &[&str] = if click { &["mouseMoved", "mousePressed", "mouseReleased"] } else { &["mouseMoved"] };
        for kind in kinds {
            let button = if *kind == "mouseMoved" { "none" } else { "left" };
            let params = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1 });
            self.ask("Input.dispatchMouseEvent", params);
        }
    }

    /// Presses and releases a key: `Tab`, `Enter`, `Escape` or a space.
    pub fn key(&mut self, key: &str) {
        let (code, number, text) = match key {
            "Tab" => ("Tab", 9, ""),
            "Enter" => ("Enter", 13, "\r"),
            "Escape" => ("Escape", 27, ""),
            " " => ("Space", 32, " "),
            "+" => ("Equal", 187, "+"),
            "0" => ("Digit0", 48, "0"),
            "Home" => ("Home", 36, ""),
            "End" => ("End", 35, ""),
            "ArrowLeft" => ("ArrowLeft", 37, ""),
            "ArrowUp" => ("ArrowUp", 38, ""),
            "ArrowRight" => ("ArrowRight", 39, ""),
            "ArrowDown" => ("ArrowDown", 40, ""),
            other => panic!("{other}"),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut params = json!({ "type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number });
            if kind == "keyDown" && !text.is_empty() {
                params["text"] = json!(text);
            }
            self.ask("Input.dispatchKeyEvent", params);
        }
    }

    /// Presses Tab until an element that the selector matches has the focus.
    #[track_caller]
    pub fn tab_to(&mut self, selector: &str) {
        for _ in 0..200 {
            self.key("Tab");
            if self.value(&format!("document.activeElement.matches('{selector}')")) == true {
                return;
            }
        }
        panic!("Tab does not reach {selector}");
    }

    /// Errors, warnings and exceptions since the page was opened.
    pub fn complaints(&self) -> Vec<&Value> {
        let is_complaint = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => {
                event["params"]["type"] == "error" || event["params"]["type"] == "warning"
            }
            // Caused by the tests, which read canvases.
            Some("Log.entryAdded") => {
                let entry = &event["params"]["entry"];
                entry["level"] != "verbose"
                    && !entry["text"].as_str().is_some_and(|text| text.starts_with("Canvas2D: "))
            }
            _ => false,
        };
        self.events.iter().filter(is_complaint).collect()
    }

    /// URLs requested, including the page.
    pub fn requests(&self) -> Vec<&str> {
        let sent = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.filter_map(|event| event["params"]["request"]["url"].as_str()).collect()
    }
}
