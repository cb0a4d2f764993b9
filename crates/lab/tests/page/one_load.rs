//! The page of one load: its heat map, its knee, its figures by name, its results, and copying it.

use crate::browser::{self, Browser};
use crate::{data, nothing_went_wrong};
use brunt_lab::plan::Style;
use brunt_lab::report;
use brunt_lab::run_directory::{RunDirectory, embedded::Opened};
use brunt_results::hlog::Hlog;
use brunt_results::latency::new_histogram;
use brunt_results::result::{Named, Outage, PartFigures, Step};
use brunt_results::{LatencySummary, RunResult, directory::Directory, env::Env, series::Second};
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Response times of a second, in microseconds: slower every second, and a stall in the seventh.
fn times(second: u32) -> impl Iterator<Item = u64> {
    let slow = if second == 7 { 400_000 } else { 900 + u64::from(second) * 20 };
    (0..200).map(move |request| if request % 50 == 0 { slow } else { 80 + request % 20 + u64::from(second) })
}

fn summary(values: impl Iterator<Item = u64>) -> LatencySummary {
    let mut histogram = new_histogram();
    values.for_each(|us| histogram.record(us * 1000).unwrap());
    LatencySummary::of(&histogram)
}

fn result(seconds: u32, rate: f64) -> RunResult {
    let mut result = RunResult::new("brunt");
    result.load.url = "http://127.0.0.1:1/".to_owned();
    result.load.connections = 10;
    result.load.measured_s = f64::from(seconds);
    result.requests.completed = (rate * f64::from(seconds)) as u64;
    result.requests.rate = rate;
    result.requests.offered_rate = Some(rate);
    result.latency.response =
        summary((0..seconds.min(20)).flat_map(times).map(|us| (us as f64 * 2000.0 / rate) as u64));
    result.latency.response.count = result.requests.completed;
    result.server.cpu_us_per_request = Some(2e4 / rate);
    let part = |rate: f64, p99_us: f64| PartFigures {
        completed: 5000,
        rate,
        response: LatencySummary {
            count: 5000,
            p50_us: Some(p99_us / 9.0),
            p99_us: Some(p99_us),
            max_us: Some(p99_us * 2.0),
            ..LatencySummary::default()
        },
        ..PartFigures::default()
    };
    let named = |name: &str, p99_us| Named { name: name.to_owned(), figures: part(rate / 2.0, p99_us) };
    result.names = vec![named("check<out>", 900.0), named("/search", 4500.0)];
    let step = |number: u32, p99_us: f64| Step {
        start_s: f64::from(number),
        end_s: f64::from(number + 1),
        offered_rate: Some(f64::from(number + 1) * 1000.0),
        connections: None,
        figures: part(f64::from(number + 1) * 1000.0, p99_us),
    };
    result.steps = (0..6).zip([200.0, 210.0, 2000.0, 230.0, 1500.0, 9000.0]).map(|(n, p99)| step(n, p99)).collect();
    result
}

/// Writes the files of a load.
pub fn leave(place: &Path, seconds: u32, rate: f64) {
    let directory = Directory::create(place).unwrap();
    let command = format!("brunt load http://127.0.0.1:1/ -R {}k", rate / 1000.0);
    let env = Env {
        brunt: "0.1.0".into(),
        cpu: Some("A CPU".into()),
        command: command.split(' ').map(str::to_owned).collect(),
        ..Default::default()
    };
    directory.write_env(&env).unwrap();
    let mut log = Hlog::new(SystemTime::UNIX_EPOCH);
    let mut series = directory.series().unwrap();
    for second in 0..seconds {
        let mut values = new_histogram();
        times(second).for_each(|us| values.record(us * 1000).unwrap());
        log.add("response", &values, Duration::from_secs(second.into()), Duration::from_secs(1));
        let second =
            Second { at_s: f64::from(second + 1), completed: rate as u64, p99_us: Some(900.0), ..Default::default() };
        series.push(&second).unwrap();
    }
    directory.write_hlog(&log.bytes).unwrap();
    directory.write_result(&result(seconds, rate)).unwrap();
}

/// The page of a load in `home`/`name`.
pub fn page(home: &Path, name: &str) -> PathBuf {
    let place = home.join(name);
    leave(&place, 20, 2000.0);
    written(&place)
}

fn written(place: &Path) -> PathBuf {
    let store = RunDirectory::of_load(place);
    let page = report::page(&report::read_from(&store).unwrap(), &store, false).unwrap();
    let file = place.with_extension("html");
    fs::write(&file, page).unwrap();
    file
}

#[test]
fn a_load_begins_with_its_answer_and_has_its_heat_map_knee_and_names() {
    let home = brunt_testkit::home();
    let file = page(home.path(), "today");
    let text = fs::read_to_string(&file).unwrap();
    let (_, answer) = text.split_once("<p class=\"answer\">").unwrap();
    // The third step is a disturbance, those from the fifth on are beyond the knee.
    let expected = "2.0 k/s answered of 2.0 k/s offered; response p50 ";
    let answer = answer.split_once("</p>").unwrap().0;
    assert!(answer.starts_with(expected) && answer.contains("knee between 4.0 k/s and 5.0 k/s offered"), "{answer}");
    assert!(text.contains("Response time by offered rate") && text.contains("p99 230 us at 4k/s, 4k; "), "the curve");
    assert!(text.contains("<code>brunt load http://127.0.0.1:1/ -R 2k</code>"), "the command");
    assert!(text.contains("<td>check&lt;out&gt;</td><td class=\"n\">5000</td>"), "figures by name");
    let report = report::read_from(&RunDirectory::of_load(home.path().join("today"))).unwrap();
    let printed = report::text(&report, Style::Plain, report::Width::Wide);
    assert!(printed.contains("check<out>") && printed.contains("4.50 ms"), "figures by name: {printed}");
    let markdown = report::markdown(&report, Style::Plain);
    assert_eq!(markdown.matches("check&lt;out>").count(), 1, "{markdown}");
    let heat = &data(&text)["rows"][0]["heat"];
    assert_eq!((&heat["from"], &heat["width"]), (&json!(0.0), &json!(1.0)));
    assert_eq!(heat["columns"].as_array().unwrap().len(), 20);
    let Some(mut browser) = browser::start(home.path()) else { return };
    browser.open(&file);
    browser.wait("document.querySelectorAll('#heats canvas').length === 4");
    let words = browser.value("[...document.querySelectorAll('#heats .plot')].pop().getAttribute('aria-label')");
    let words = words.as_str().unwrap();
    assert!(words.contains("at 0.5 s most took about 8") && words.contains("the slowest of all about 3"), "{words}");
    assert!(words.ends_with("at 7.5 s"), "{words}");
    // The stall: a cell at the top of the eighth second.
    let place = browser.value(
        "(() => { const box = [...document.querySelectorAll('#heats .u-over')].pop().getBoundingClientRect();
        [...document.querySelectorAll('#heats .u-over')].pop().scrollIntoView({ block: 'center' });
        const at = [...document.querySelectorAll('#heats .u-over')].pop().getBoundingClientRect();
        return [at.left + box.width * (0.5 + (7.5 / 20 - 0.5) / 1.08), at.top + 14]; })()",
    );
    browser.point(place[0].as_f64().unwrap(), place[1].as_f64().unwrap(), false);
    browser.wait("!document.getElementById('tip').hidden");
    let told = browser.value("document.getElementById('tip').innerText");
    let told = told.as_str().unwrap();
    assert!(told.contains("share of the requests") && told.contains("7.0 .. 8.0"), "{told}");
    nothing_went_wrong(&browser);
}

#[test]
fn times_in_which_the_server_was_down_or_stopped_are_marked() {
    let home = brunt_testkit::home();
    let place = home.path().join("stopped");
    leave(&place, 8, 2000.0);
    let directory = Directory::open(&place);
    let mut result = directory.read_result().unwrap();
    let outage = Outage { at_s: 2.25, down_s: 0.5, failed: 7, is_over: true, back_as: Some(42), ..Outage::default() };
    result.connections.outages = Some(vec![outage]);
    directory.write_result(&result).unwrap();
    let mut series = directory.series().unwrap();
    for at in 1..=8 {
        let server_throttled_percent = (5..=6).contains(&at).then_some(f64::from(at) * 10.0);
        let (at_s, p99_us) = (f64::from(at), Some(900.0));
        series.push(&Second { at_s, completed: 2000, p99_us, server_throttled_percent, ..Default::default() }).unwrap();
    }
    let file = written(&place);
    let stops = &data(&fs::read_to_string(&file).unwrap())["rows"][0]["seconds"]["stops"];
    let times: Vec<_> = stops.as_array().unwrap().iter().map(|stop| (&stop["from"], &stop["until"])).collect();
    assert_eq!(times, [(&json!(2.25), &json!(2.75)), (&json!(4.0), &json!(6.0))]);
    let words = |index: usize| stops[index]["words"].as_str().unwrap();
    assert!(words(0).contains("back as pid 42") && words(1).contains("quota, in up to 60 %"), "{stops}");
    let Some(mut browser) = browser::start(home.path()) else { return };
    browser.open(&file);
    browser.wait("document.querySelectorAll('[data-detail] canvas').length > 0");
    nothing_went_wrong(&browser);
}

/// The Markdown that a press on the button copies; the clipboard is replaced, because tests share it.
fn copied(browser: &mut Browser) -> String {
    browser.value("Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText: async (text) => { window.text_ = text; } } })");
    browser.tab_to("#copy");
    browser.key("Enter");
    browser.wait("document.getElementById('copied').textContent === 'copied'");
    browser.value("window.text_").as_str().unwrap().to_owned()
}

#[test]
fn a_page_is_copied_as_markdown_and_shown_where_the_clipboard_refuses() {
    let home = brunt_testkit::home();
    let file = page(home.path(), "today");
    let Some(mut browser) = browser::start(home.path()) else { return };
    browser.open(&file);
    let text = copied(&mut browser);
    let mut lines = text.lines().filter(|line| !line.is_empty());
    assert_eq!(lines.next(), Some("# today"));
    assert!(lines.next().unwrap().starts_with("**2.0 k/s answered"), "{text}");
    assert!(
        text.contains("| by name | requests |")
            && text.contains("| &lt;b&gt;") != text.contains("| check&lt;out> | 5000 |"),
        "{text}"
    );
    let heads = text.lines().find(|line| line.starts_with("| target | verdict |")).unwrap();
    assert!(heads.contains("| response p99 |") && !heads.contains("p99.9"), "the shown columns alone: {heads}");
    browser.value("Object.defineProperty(navigator, 'clipboard', { configurable: true, value: undefined })");
    browser.value("document.execCommand = () => false");
    browser.key("Enter");
    browser.wait("document.getElementById('markdown')?.open === true");
    let selected = "document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)";
    assert_eq!(browser.value(selected), text);
    browser.key("Escape");
    browser.wait("!document.getElementById('markdown') && document.activeElement.id === 'copy'");
    nothing_went_wrong(&browser);
}

#[test]
fn a_page_is_opened_as_the_directory_that_it_was_made_of() {
    let home = brunt_testkit::home();
    let file = page(home.path(), "today");
    let place = {
        let opened = Opened::open(&file).unwrap();
        let read = Directory::open(opened.path()).read_result().unwrap();
        assert_eq!(read, Directory::open(home.path().join("today")).read_result().unwrap());
        assert!(opened.is_page() && opened.path().ends_with("today"));
        opened.path().to_owned()
    };
    assert!(!place.exists(), "removed with its last use");
    let page = fs::read_to_string(&file).unwrap();
    let wrong = [
        ("\"result.json\":", "\"../result.json\":", "not the path of a file of results"),
        ("\"result.json\":", "\"/tmp/result.json\":", "not the path of a file of results"),
        ("\"result.json\":", "\"trials/../../1/result.json\":", "not the path of a file of results"),
        ("\"brunt.page/1\"", "\"brunt.page/2\"", "their format is 'brunt.page/2'"),
        ("\"measured_s\":20.0", "\"measured_s\":1e300", "measured_s is 1e+300, more than 1e15"),
        ("\"measured_s\":20.0", "\"measured_s\":\"x\"", "invalid type"),
        ("\"A CPU\"", "\"\\u001b[2J\"", "cpu has control characters"),
        ("{\"schema\":\"brunt.page/1\"", "{\"schema\":", "cannot be read"),
        ("id=\"results\"", "id=\"others\"", "nor a page with results"),
    ];
    for (from, to, why) in wrong {
        let (before, results) = page.split_once("<script type=\"application/json\" id=\"results\">").unwrap();
        let results = format!("<script type=\"application/json\" id=\"results\">{results}");
        assert!(results.contains(from), "{from}");
        let other = home.path().join("other.html");
        fs::write(&other, format!("{before}{}", results.replacen(from, to, 1))).unwrap();
        let error = Opened::open(&other).unwrap_err();
        assert!(matches!(error, brunt_results::Error::Usage(_)), "{error}");
        let error = error.to_string();
        assert!(error.contains("other.html: ") && error.contains(why) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_page_of_a_day_is_small() {
    const SECONDS: u32 = 86_400;
    let home = brunt_testkit::home();
    let place = home.path().join("day");
    leave(&place, 3, 2000.0);
    let directory = Directory::open(&place);
    directory.write_result(&result(SECONDS, 2000.0)).unwrap();
    let mut values = new_histogram();
    times(1).for_each(|us| values.record(us * 1000).unwrap());
    let line = brunt_results::hlog::encode(&values);
    let mut log = "#[Histogram log format version 1.3]\n".to_owned();
    let mut series = directory.series().unwrap();
    for second in 0..SECONDS {
        let _ = writeln!(log, "Tag=response,{second}.000,1.000,1.000,{line}");
        let second = Second { at_s: f64::from(second + 1), completed: 2000, p99_us: Some(900.0), ..Default::default() };
        series.push(&second).unwrap();
    }
    directory.write_hlog(log.as_bytes()).unwrap();
    let length = fs::metadata(written(&place)).unwrap().len();
    assert!(length < 500_000, "{length} bytes");
}
