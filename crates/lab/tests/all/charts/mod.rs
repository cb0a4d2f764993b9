//! Charts: which ones are selected, that each is well-formed XML with titles, axes and units, and that arbitrary rows
//! can be drawn.

mod xml;

use crate::common::model::{Figures, plan, report_of, result, run};
use brunt_lab::plan::settings::Amount;
use brunt_lab::plan::{Style, builtin, read};
use brunt_lab::report::{self, Chart, Report, Row, charts};
use brunt_lab::run_directory::{CHART_MARK, Failure, RunDirectory, TrialOutcome};
use brunt_lab::schedule::{Cell, Cells, Machine, cells};
use proptest::prelude::*;
use std::{collections::BTreeMap, fs, sync::LazyLock};
use xml::texts;

/// Draws all charts, checks properties common to them, and returns title, texts and SVG of each.
#[track_caller]
fn drawn(report: &Report) -> Vec<(String, Vec<String>, String)> {
    let charts = charts(report);
    let mut files: Vec<&str> = charts.iter().map(|chart| chart.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    assert_eq!(files.len(), charts.len(), "two charts have one file");
    charts.iter().map(draw).collect()
}

#[track_caller]
fn draw(chart: &Chart) -> (String, Vec<String>, String) {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    assert!(chart.file.chars().all(plain) && chart.file.ends_with(".svg") && chart.file.len() < 140, "{}", chart.file);
    let svg = chart.svg().unwrap();
    assert_eq!(svg, chart.svg().unwrap());
    // Text alternatives.
    let (_, words) = svg.split_once(CHART_MARK).unwrap();
    assert!(svg.starts_with("<svg role=\"img\"") && svg.contains("<title>"), "{svg}");
    assert!(words.starts_with(". ") && words.split_once("</desc>").unwrap().0.len() > 10, "{svg}");
    // A background of its own, for dark pages.
    assert!(svg.lines().any(|line| line.starts_with("<rect x=\"0\" y=\"0\"") && line.contains("#FFFFFF")), "{svg}");
    (chart.title.clone(), texts(&svg), svg)
}

fn titles(report: &Report) -> Vec<String> {
    drawn(report).into_iter().map(|(title, ..)| title).collect()
}

#[test]
fn swept_numbers_give_line_charts() {
    let report = run(
        &plan("[sweep]\nconnections = [10, 80, 500]\nsize = [\"100B\", \"1KiB\"]", &["uring", "epoll", "go-1.26"]),
        2,
    );
    let drawn = drawn(&report);
    assert_eq!(drawn.len(), 6, "two sizes, three figures");
    let svg = &drawn[0].2;
    assert!(svg.contains("a run. uring: ") && svg.contains(" at 10 to ") && svg.contains(" at 500. epoll: "), "{svg}");
    for (title, texts, _) in &drawn {
        let has =
            |word: &str| assert!(texts.iter().any(|text| text.contains(word)), "'{word}' is not in {title}: {texts:?}");
        ["uring", "epoll", "go-1.26", "connections (log scale)", "10", "80", "500"].into_iter().for_each(has);
        [
            "p: 1 server core, 1 generator core, closed loop",
            "of 3 repeats",
            "A CPU <of some kind> & more",
            "Linux 6.18.0 #1 SMP",
        ]
        .into_iter()
        .for_each(has);
        assert!(title.ends_with(": 100 B") || title.ends_with(": 1 KiB"), "{title}");
    }
    let unit = |what: &str, units: &[&str]| {
        let (title, texts, _) = drawn.iter().find(|(title, ..)| title.starts_with(what)).unwrap();
        assert!(units.iter().all(|unit| texts.iter().any(|text| text == unit)), "{title}: {texts:?}");
    };
    unit("Throughput by connections", &["k req/s"]);
    unit("Response time by connections", &["p50", "p99", "log scale", "1 ms", "10 ms"]);
    unit("CPU time per request by connections", &["us per request"]);
}

#[test]
fn an_open_loop_shows_cpu_and_throughput_only_where_a_rate_was_missed() {
    let load = "[load]\nconnections = 80\n[sweep]\nrate = [\"20k\", \"50k\"]";
    assert_eq!(
        titles(&run(&plan(load, &["a", "b"]), 2)),
        ["Response time by offered rate", "Server CPU by offered rate"]
    );
    let load = "[load]\nconnections = 80\n[sweep]\nrate = [\"20k\", \"150k\", \"900k\"]";
    let drawn = drawn(&run(&plan(load, &["a", "b"]), 2));
    let (title, texts, svg) = &drawn[0];
    assert_eq!(title, "Throughput by offered rate");
    for word in ["20k", "150k", "900k", "offered rate, req/s (log scale)", "k req/s", "grey: offered"] {
        assert!(texts.iter().any(|text| text.contains(word)), "{word}: {texts:?}");
    }
    // Missed rates have a verdict and a hollow marker.
    assert!(
        texts.iter().any(|text| text.contains("hollow"))
            && svg.contains("<circle")
            && svg.contains("fill=\"none\" stroke=\"#0072B2\"")
    );
    assert!(drawn[2].1.iter().any(|text| text == "%"), "{:?}", drawn[2].1);
}

#[test]
fn without_a_sweep_there_are_bars() {
    let report = run(builtin::text("quick").unwrap(), 2);
    let drawn = drawn(&report);
    let titles: Vec<&str> = drawn.iter().map(|(title, ..)| title.as_str()).collect();
    // Throughput equals the rate if all targets reach it.
    assert_eq!(titles, ["Throughput: closed loop", "Response time: 20k req/s offered", "CPU time per request"]);
    for (title, texts, _) in &drawn {
        for target in ["uring", "epoll", "tokio"] {
            assert!(texts.iter().any(|text| text == target), "{title}: {texts:?}");
        }
    }
    let says = |index: usize, words: &[&str]| {
        let texts = &drawn[index].1;
        assert!(words.iter().all(|word| texts.iter().any(|text| text.contains(word))), "{words:?}: {texts:?}");
    };
    says(0, &["k req/s", "median and range of 3 repeats"]);
    says(1, &["us .. ", "from p50 (marker) to p99 (end)"]);
    says(2, &["closed loop", "20k req/s offered", "us per request"]);
}

#[test]
fn builtin_plans_give_charts_of_limited_size() {
    for (name, cores, count) in
        [("ping-pong-peak", 100, 24), ("ping-pong-fixed-rate", 100, 24), ("ping-pong-scaling", 100, 48)]
    {
        let report = run(builtin::text(name).unwrap(), cores);
        let drawn = drawn(&report);
        assert_eq!(drawn.len(), count, "{name}: {:?}", titles(&report));
        for (title, _, svg) in drawn {
            assert!(svg.len() < 60_000, "{title} of {name} has {} bytes", svg.len());
        }
    }
}

/// The test above draws the other charts of this plan.
#[test]
fn core_scaling_shows_the_best_and_starts_at_zero() {
    let charts = charts(&run(builtin::text("ping-pong-scaling").unwrap(), 100));
    let (title, texts, _) = draw(&charts[0]);
    assert_eq!(title, "Best throughput over connections, by server cores: 4 generator cores a server core");
    assert!(texts.iter().any(|text| text == "server cores") && texts.iter().any(|text| text == "20"), "{texts:?}");
    assert!(charts[0].table == 0 && charts.last().unwrap().table == 1);
}

#[test]
fn charts_without_information_are_omitted() {
    let one = |load: &str, targets: &[&str]| titles(&run(&plan(load, targets), 2));
    assert_eq!(one("[load]\nconnections = 80", &["alone"]), [""; 0]);
    assert_eq!(one("[load]\nconnections = 80\nrate = \"20k\"", &["a", "b"]), ["Response time", "CPU time per request"]);
    assert_eq!(one("[sweep]\nconnections = [10, 80]", &["alone"]).len(), 3);
    // One point per target is no line, although connections differ.
    let mut report = run(&plan("[sweep]\nconnections = [10, 80]", &["a", "b"]), 2);
    report.rows.retain(|row| (row.cell.target == "a") == (row.cell.connections() == 10));
    assert!(titles(&report).iter().all(|title| !title.contains(" by ")), "{:?}", titles(&report));
    report.rows.clear();
    assert!(charts(&report).is_empty());
}

#[test]
fn failed_cells_interrupt_lines_and_have_no_bar() {
    let mut report = run(&plan("[sweep]\nconnections = [10, 80, 500]", &["a", "b"]), 2);
    let lines = |report: &Report| {
        drawn(report)[0]
            .2
            .matches("<polyline fill=\"none\" opacity=\"1\" stroke=\"#0072B2\" stroke-width=\"2\"")
            .count()
    };
    // In the legend and in the plot.
    assert_eq!(lines(&report), 2);
    let failure = |row: &Row| {
        Row::new(row.cell.clone(), vec![(1, TrialOutcome::Failed(Failure { why: "it died".into(), log: vec![] }))])
    };
    report.rows[2] = failure(&report.rows[2]);
    assert_eq!(lines(&report), 1, "{:?}", report.rows[2].cell.id());

    let mut report = run(&plan("[load]\nconnections = 10", &["a", "b", "c"]), 2);
    report.rows[1] = failure(&report.rows[1]);
    assert!(drawn(&report)[0].1.contains(&"failed".to_owned()));
}

#[test]
fn outdated_charts_are_removed() {
    let home = brunt_testkit::home();
    let store = RunDirectory::at(home.path());
    let report = run(builtin::text("quick").unwrap(), 2);
    let folder = home.path().join(brunt_lab::run_directory::CHARTS_FOLDER);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("mine.svg"), "<svg/>").unwrap();
    fs::write(folder.join("old.svg"), format!("<svg>{CHART_MARK}</svg>")).unwrap();
    let place = report::write(&report, &store).unwrap();
    let markdown = fs::read_to_string(place).unwrap();
    let links: Vec<&str> = markdown.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert_eq!(links.len(), 3, "{markdown}");
    for link in links {
        texts(&fs::read_to_string(home.path().join(link)).unwrap());
    }
    assert!(!folder.join("old.svg").exists() && folder.join("mine.svg").exists());
    store.clear().unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "only what is not ours is left");
}

const PUBLISHED: &str = "
source = 'A document'
machine = 'another machine'
[[table]]
title = '1 KiB'
load = { server_cores = 1, size = '1KiB' }
axis = 'connections'
figures = ['requests', 'latency_us', 'cpu_percent']
series = [
    { name = 'Theirs', target = 'epoll', rows = [[10, 5000, 210.5, 40], [80, 9000, nan, 99.5]] },
    { name = 'Another', rows = [[10, 4000, 400, 50]] },
]
[[table]]
title = 'eight cores'
load = { server_cores = 8 }
axis = 'connections'
figures = ['requests']
series = [{ name = 'Theirs', rows = [[10, 5000], [80, 9000]] }]
";

#[test]
fn published_figures_stand_beside_those_of_the_same_load() {
    let home = brunt_testkit::home();
    let file = home.path().join("document.toml");
    let with = |text: &str| {
        fs::write(&file, text).unwrap();
        report::Published::read(&file)
    };
    let plan = plan("[sweep]\nconnections = [10, 80]\nsize = [\"100B\", \"1KiB\"]", &["uring", "epoll"]);
    let mut report = run(&plan, 2);
    report.published = vec![with(PUBLISHED).unwrap()];
    let drawn = drawn(&report);
    let added: Vec<_> = drawn.iter().filter(|(title, ..)| title.contains("published and here")).collect();
    let added_titles: Vec<&str> = added.iter().map(|(title, ..)| title.as_str()).collect();
    assert_eq!(
        added_titles,
        [
            "Throughput by connections, published and here: 1 KiB",
            "Response time by connections, published and here: 1 KiB",
            "Server CPU by connections, published and here: 1 KiB",
            "Throughput by connections, published and here: eight cores"
        ]
    );
    for (title, texts, svg) in &added {
        let is_measured = title.ends_with("1 KiB");
        let has = |word: &str| texts.iter().any(|text| text.contains(word));
        assert!(has("published") && has("A document, another machine"), "{title}: {texts:?}");
        // One entry of the legend for a published series and the target that it is.
        let entries = |name: &str| texts.iter().filter(|text| *text == name).count();
        let expected = if is_measured { (0, 1) } else { (1, 0) };
        assert_eq!((entries("Theirs"), entries("epoll")), expected, "{title}: {texts:?}");
        assert_eq!(
            (has("this run"), has("uring")),
            (is_measured || has("no such load"), is_measured),
            "{title}: {texts:?}"
        );
        assert_eq!(has("no such load"), !is_measured, "{title}: {texts:?}");
        assert!(svg.len() < 30_000);
    }
    // The published line has the colour of the target that it names, in legend and plot.
    let epoll = added[0].2.matches("#D55E00").count();
    assert!(epoll >= 4, "{}", added[0].2);
    assert_eq!(report::markdown(&report, Style::Plain).matches("-published-and-here-").count(), 4);

    let why = |from: &str, to: &str| with(&PUBLISHED.replacen(from, to, 1)).unwrap_err().to_string();
    for (from, to, expected) in [
        ("[10, 4000, 400, 50]", "[10, 4000]", "table '1 KiB', series 'Another': [10.0, 4000.0] has to be 4 numbers"),
        ("axis = 'connections'", "axis = 'time'", "unknown variant `time`"),
        ("machine = ", "computer = ", "unknown field `computer`"),
        ("[[table]]", "[[table", "line 4"),
    ] {
        let why = why(from, to);
        assert!(why.starts_with(file.to_str().unwrap()) && why.contains(expected), "{why}");
    }
    fs::remove_file(&file).unwrap();
    assert!(report::Published::read(&file).unwrap_err().to_string().contains("No such file"));
}

/// Arbitrary rows.
fn odd_rows() -> impl Strategy<Value = Vec<Row>> {
    let number = prop_oneof![
        4 => 0.0f64..2e6,
        1 => prop_oneof![Just(0.0), Just(f64::NAN), Just(f64::INFINITY), Just(-1.0), Just(1e300), Just(5e-324)],
    ];
    let figures =
        (number.clone(), number.clone(), number).prop_map(|(rate, p50_us, cpu_us)| Figures { rate, p50_us, cpu_us });
    let kept = prop_oneof![
        5 => (figures, proptest::option::of(1.0f64..1e6)).prop_map(|(figures, rate)| TrialOutcome::Done(Box::new(result(figures, rate)))),
        1 => Just(TrialOutcome::Failed(Failure { why: "it <died> & went".into(), log: vec![] })),
    ];
    // Few distinct values, so that rows share a line.
    let amount = prop_oneof![
        4 => (1u64..5).prop_map(|n| Amount::Total(n * n * 20)),
        1 => (1u64..1_000_000).prop_map(Amount::Total),
        1 => (1u64..1000).prop_map(Amount::PerCore),
    ];
    let rate = prop_oneof![4 => (1u32..4).prop_map(|n| f64::from(n) * 2e4), 1 => 1e-3f64..1e9];
    let offered = proptest::option::weighted(0.5, rate.prop_map(Amount::Total));
    let target = prop_oneof![6 => "[ab]", 1 => "[ -~]{1,40}", 1 => "\\PC{1,12}"];
    let row = (
        (
            target,
            proptest::option::weighted(0.9, amount),
            offered,
            1usize..3,
            prop_oneof![5 => Just(0usize), 1 => Just(1)],
        ),
        proptest::collection::vec(kept, 0..4),
    );
    proptest::collection::vec(row, 0..24)
        .prop_map(|rows| rows.into_iter().map(|(cell, kept)| odd_row(cell, kept)).collect())
}

type OddCell = (String, Option<Amount<u64>>, Option<Amount<f64>>, usize, usize);

static CELL: LazyLock<Cell> = LazyLock::new(|| {
    let plan = read("p", &plan("[load]\nconnections = 1", &["t"])).unwrap();
    cells(&plan, &Machine { cores: (0..8).collect(), open_files: 1 << 20 }, &BTreeMap::new()).run.swap_remove(0)
});

fn odd_row((target, connections, rate, cores, own): OddCell, kept: Vec<TrialOutcome>) -> Row {
    let mut cell = CELL.clone();
    cell.settings.connections = connections;
    cell.settings.rate = rate;
    cell.settings.server_cores = cores;
    cell.placement.server.0 = (0..cores).collect();
    cell.settings.custom_axes.extend((0..own).map(|own| (format!("own{own}"), target.clone())));
    let load = format!("load={connections:?} {rate:?} {cores} {own}");
    let cell = Cell::new(target, load, cell.settings, cell.placement);
    Row::new(cell, (1..).zip(kept).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn whatever_the_rows_are_their_charts_are_whole(rows in odd_rows(), over in proptest::option::of("connections|rate|own0")) {
        let report = report_of("odd", Cells::default(), rows, over);
        let links = report::markdown(&report, Style::Plain).matches("](charts/").count();
        prop_assert_eq!(links, charts(&report).len());
        for (title, _, svg) in drawn(&report) {
            prop_assert!(svg.len() < 60_000, "{} has {} bytes", title, svg.len());
        }
    }
}

#[test]
fn core_scaling_is_compared_with_linear_scaling() {
    let drawn = drawn(&run(builtin::text("ping-pong-scaling").unwrap(), 40));
    let shows = |texts: &[String]| texts.iter().any(|text| text.contains("thin: in proportion to cores"));
    let held: Vec<&str> = drawn.iter().filter(|(_, texts, _)| shows(texts)).map(|(title, ..)| title.as_str()).collect();
    assert!(!held.is_empty() && held.iter().all(|title| title.starts_with("Best throughput")), "{held:?}");
}

#[test]
fn bars_of_several_testers_name_the_tester() {
    let load = "[load]\npath = \"/\"\nconnections = 8\n[sweep]\ntester = [\"wrk\", \"brunt\"]";
    let drawn = drawn(&run(&plan(load, &["a", "b"]), 2));
    assert!(!drawn.is_empty());
    for (title, texts, _) in &drawn {
        let has = |word: &str| texts.iter().any(|text| text == word);
        assert!(has("tester wrk") && has("tester brunt"), "{title}: {texts:?}");
    }
}
