//! Every output that has figures, of results that have all of them: what scripts and readers of older versions know stays as it
//! is, and a new figure shows where it is added.

mod scene;

use crate::common::golden;
use brunt_lab::compare::{self, ResultSet, compare_with};
use brunt_lab::export;
use brunt_lab::history::{self, Filter, Index};
use brunt_lab::plan::Style;
use brunt_lab::report::{self, Width};
use brunt_results::figure::{self, Compared, Figure, Unit};
use brunt_results::{Error, RunResult, Slo, Threshold, directory::Directory};
use std::fmt::{Debug, Write};
use std::{fs, path::Path};

/// What a function says: its text, or the error.
fn said<T: Debug>(result: Result<T, impl ToString>) -> String {
    result.map_or_else(|error| format!("error: {}", error.to_string()), |value| format!("{value:?}"))
}

#[test]
fn the_result_as_written() {
    let home = brunt_testkit::home();
    let written = |result: &RunResult| {
        Directory::create(home.path()).unwrap().write_result(result).unwrap();
        fs::read_to_string(home.join("result.json")).unwrap()
    };
    golden("figures/result-http.json", &written(&scene::http(1.0, Some(20_000.0))));
    golden("figures/result-echo.json", &written(&scene::echo(1.0)));
}

#[test]
fn the_report() {
    let home = brunt_testkit::home();
    for store in [scene::write_http(&home.join("http")), scene::write_echo(&home.join("echo"))] {
        let name = store.path().file_name().unwrap().to_str().unwrap().to_owned();
        let read = report::read(store.path()).unwrap();
        golden(&format!("figures/report-{name}.md"), &report::markdown(&read, Style::Plain));
        golden(&format!("figures/report-{name}.txt"), &report::text(&read, Style::Plain, Width::Within(None)));
        golden(&format!("figures/wide-{name}.txt"), &report::text(&read, Style::Plain, Width::Wide));
        golden(&format!("figures/upstreams-{name}.txt"), &report::text(&read, Style::Upstreams, Width::Wide));
        golden(&format!("figures/ping-pong-{name}.txt"), &report::text(&read, Style::PingPong, Width::Wide));
        let mut charts = String::new();
        for chart in report::charts(&read) {
            let _ = writeln!(charts, "{}\n{}", chart.file, chart.svg().unwrap());
        }
        golden(&format!("figures/charts-{name}.txt"), &charts);
        let page = report::page(&read, &store, false).unwrap();
        let body = page.split("<body").nth(1).unwrap().split("<svg").next().unwrap();
        let data = page.split("type=\"application/json\"").last().unwrap().split("</script>").next().unwrap();
        golden(&format!("figures/page-{name}.txt"), &format!("{body}\n{data}\n"));
    }
}

fn index(home: &Path) -> Index {
    scene::write_http(&home.join("http"));
    scene::write_echo(&home.join("echo"));
    let mut index = Index::open(&home.join("state")).unwrap();
    index.rebuild(&[home.to_owned()]).unwrap();
    index
}

#[test]
fn the_history() {
    let home = brunt_testkit::home();
    let mut index = index(home.path());
    let here = home.path().canonicalize().unwrap();
    let (trials, _) = index.trials(&Filter::default(), 100).unwrap();
    let json = serde_json::to_string_pretty(&trials).unwrap().replace(here.to_str().unwrap(), "HOME");
    golden("figures/history.json", &json);
    golden("figures/history.txt", &history::trials_text(&trials, &here));
    let mut filters = String::new();
    for text in &bounds() {
        let found = history::bound(text).map(|bound| {
            let filter = Filter { bounds: vec![bound], ..Filter::default() };
            let (trials, _) = index.trials(&filter, 100).unwrap();
            trials.iter().map(|trial| format!("{}/{}", trial.target, trial.repeat)).collect::<Vec<_>>().join(" ")
        });
        let _ = writeln!(filters, "{text}: {}", said(found));
    }
    golden("figures/filters.txt", &filters);
}

/// Every figure above and below, percentiles that no result has, and what is no bound.
const BOUNDS: [&str; 44] = [
    "mean>1us",
    "mean<1us",
    "max>1us",
    "max<1us",
    "p50>1us",
    "p50<210us",
    "p90>1us",
    "p95<1us",
    "p99>1us",
    "p99<400us",
    "p99.9>1us",
    "p999<1us",
    "p97.5>1us",
    "p97.5<1us",
    "p99.99>1us",
    "p75>1us",
    "rate>95k",
    "rate<95k",
    "cost>10us",
    "cost<10us",
    "failed>22",
    "failed>23",
    "failed<23",
    "errors>0",
    "errors<0.1%",
    "errors>0.01%",
    "/cart:p99>1us",
    "/cart:errors>0.01%",
    "/cart:rate<1k",
    "/cart:failed>1",
    "/home:p99>1us",
    "/cart:cost>1us",
    "p100>5ms",
    "pace>5ms",
    "p99>5",
    "rate<x",
    "errors>0.1",
    "errors>101%",
    ">",
    "",
    "cost>5",
    "failed>x",
    "p99",
    "cpu>5",
];

/// These, and one on every figure that can have one.
fn bounds() -> Vec<String> {
    let of_table = figure::all().filter(|one| one.bound.is_some()).map(|one| match one.unit {
        Unit::Us => format!("{}>1.5us", one.key),
        Unit::Percent => format!("{}>0.02%", one.key),
        Unit::Ratio => format!("{}>1.2", one.key),
        _ => format!("{}>2", one.key),
    });
    BOUNDS.iter().map(|text| (*text).to_owned()).chain(of_table).collect()
}

#[test]
fn bounds_and_objectives() {
    let results = [scene::http(1.0, Some(20_000.0)), scene::http(0.9, None), scene::echo(1.0)];
    let mut text = String::new();
    for bound in &bounds() {
        let parsed: Result<Threshold, String> = bound.parse();
        let _ = writeln!(text, "{bound}: {}", said(parsed.clone().map(|bound| (bound.figure, bound.bound))));
        for result in &results {
            let Ok(bound) = &parsed else { continue };
            let _ = writeln!(text, "    crossed {:?}, missed {:?}", bound.crossed(result), bound.missed(result));
        }
        let is = parsed.map(|bound| (bound.is_time(), bound.limits_failures(), bound.percentile().is_some()));
        let objective: Result<Slo, String> = bound.parse();
        let _ = writeln!(text, "    {is:?}, objective {}", said(objective.map(|slo| slo.min_requests())));
    }
    golden("figures/bounds.txt", &text);
}

#[test]
fn the_comparison() {
    let home = brunt_testkit::home();
    scene::write_http(&home.join("http"));
    let all = ResultSet::read(&home.join("http")).unwrap();
    let [a, b] = ["a", "b"].map(|target| all.of_target(target).unwrap());
    let asked: Vec<&Figure> = figure::all().filter(|one| one.compared == Compared::Asked).collect();
    let comparison = compare_with(&a, &b, compare::MARGIN, &asked).unwrap();
    golden("figures/compare.json", &serde_json::to_string_pretty(&comparison).unwrap());
    let mut text = compare::text(&comparison);
    compare::answers(&comparison).iter().for_each(|line| text += &format!("{line}\n"));
    let bounds = [
        "rate<-5%",
        "rate>5%",
        "p50>1%&10us",
        "p99>5%",
        "p99>5%&50us",
        "cost>1%",
        "cost>1%&50us",
        "pace>1%",
        "rate>1%&5us",
    ];
    let of_asked = asked.iter().map(|one| format!("{}>1%", one.key));
    for bound in bounds.into_iter().map(str::to_owned).chain(of_asked) {
        let parsed: Result<compare::Bound, String> = bound.parse();
        let judged = parsed.map(|bound| (bound.crossed(&comparison), bound.undecided(&comparison)));
        let _ = writeln!(text, "{bound}: {}", said(judged));
    }
    golden("figures/compare.txt", &text);
}

#[test]
fn the_exports() {
    let home = brunt_testkit::home();
    scene::write_http(&home.join("http"));
    scene::write_echo(&home.join("echo"));
    let mut figures = format!("{:?}\n", export::figures());
    for name in ["http", "echo"] {
        let dir = home.join(name);
        golden(&format!("figures/{name}.csv"), &export::csv(&dir).unwrap());
        let prometheus = export::prometheus(&dir).unwrap();
        let lines: Vec<&str> = prometheus.lines().filter(|line| !line.contains("_bucket{")).collect();
        golden(&format!("figures/{name}.prom"), &(lines.join("\n") + "\n"));
        golden(&format!("figures/bencher-{name}.json"), &export::bencher(&dir, "response").unwrap());
        let of_all = export::TAGS.iter().flat_map(|tag| export::figures().into_iter().map(move |of| (*tag, of)));
        for (tag, figure) in of_all.filter(|(tag, figure)| *tag == "response" || *figure == "p99") {
            let plain = |text: Result<String, Error>| {
                let text = text.unwrap_or_else(|error| format!("error: {error}"));
                let lines: String = text.lines().map(str::trim).collect();
                lines.replace(home.to_str().unwrap(), "HOME")
            };
            let github = plain(export::github(&dir, tag, figure));
            let hyperfine = plain(export::hyperfine(&dir, tag, figure));
            let _ = writeln!(figures, "{name} {tag} {figure}\n{github}\n{hyperfine}");
        }
    }
    golden("figures/figure.txt", &figures);
}
