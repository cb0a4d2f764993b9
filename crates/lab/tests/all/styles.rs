//! Rows and columns of the printed layouts, with modelled figures.

use crate::common::model::run;
use brunt_lab::plan::{Style, builtin};
use brunt_lab::report::{Width, markdown, text};

/// The blocks of a report: title and table lines.
fn blocks(text: &str) -> Vec<(&str, Vec<&str>)> {
    let parts: Vec<&str> = text.split("\n\n").collect();
    let is_table = |part: &str| part.contains("verdict") && part.lines().count() > 1;
    let titled = parts.windows(2).filter(|pair| !is_table(pair[0]) && is_table(pair[1]));
    titled.map(|pair| (pair[0].lines().last().unwrap(), pair[1].lines().collect())).collect()
}

/// The first cells of a block's rows, below two header lines.
fn steps<'a>(block: &[&'a str]) -> Vec<&'a str> {
    block[2..].iter().map(|line| line.trim_start().split("  ").next().unwrap()).collect()
}

#[test]
fn ping_pong_has_a_block_for_each_server_and_a_row_for_each_rate() {
    let report = run(builtin::text("ping-pong-fixed-rate").unwrap(), 20);
    let text = text(&report, Style::PingPong, Width::Within(None));
    let blocks = blocks(&text);
    let named = |words: &[&str]| {
        let mut found = blocks.iter().filter(|(title, _)| words.iter().all(|word| title.contains(word)));
        let block = found.next().unwrap_or_else(|| panic!("{words:?}: {text}"));
        assert!(found.next().is_none(), "{words:?} is in two titles");
        &block.1
    };
    let block = named(&["monoio: 1 server core,", "1 KiB", "4 x 250 connections", "4 generator cores"]);
    assert_eq!(
        block[0].split_whitespace().collect::<Vec<_>>(),
        ["gen.", "cores", "x", "latency", "CPU", "%", "CPU", "%"]
    );
    let header: Vec<&str> = block[1].split_whitespace().collect();
    assert_eq!(header, ["rate", "req/s", "mean", "us", "user+kernel", "user", "verdict"]);
    assert_eq!(steps(block), ["4 x 10k", "4 x 15k", "4 x 20k", "4 x 30k", "4 x 40k", "4 x 50k", "4 x 60k"]);
    assert_eq!(steps(named(&["glommio: 1 server core,", "4 x 80 connections", "4 generator cores"])).len(), 4);
    assert_eq!(steps(named(&["glommio: 4 server cores", "16 x 80 connections", "16 generator cores"])).len(), 5);
    assert_eq!(steps(named(&["glommio: 4 server cores", "16 x 250 connections", "16 generator cores"])).len(), 8);
}

#[test]
fn ping_pong_steps_through_connections_where_no_rate_is_given() {
    let report = run(builtin::text("ping-pong-peak").unwrap(), 80);
    let text = text(&report, Style::PingPong, Width::Within(None));
    let blocks = blocks(&text);
    let of = |words: &[&str]| {
        let found = blocks.iter().find(|(title, _)| words.iter().all(|word| title.contains(word)));
        steps(&found.unwrap_or_else(|| panic!("{words:?}: {text}")).1)
    };
    let one = of(&["monoio: 1 server core,", "1 KiB", "4 generator cores"]);
    assert_eq!((one.len(), one[0], one[9]), (10, "4 x 80", "4 x 170"));
    let sixteen = of(&["monoio: 16 server cores", "100 B", "64 generator cores"]);
    assert_eq!((sixteen.len(), sixteen[0], sixteen[10]), (11, "64 x 50", "64 x 150"));
}

#[test]
fn ping_pong_begins_with_the_best_of_each_server_if_the_plan_asks_for_it() {
    let report = run(builtin::text("ping-pong-scaling").unwrap(), 40);
    let text = text(&report, Style::PingPong, Width::Within(None));
    let (title, lines) = &blocks(&text)[0];
    assert_eq!(*title, "brunt-uring: best throughput, 4 generator cores a server core");
    assert_eq!(steps(lines), ["1", "2", "4", "8"]);
    let of_one = blocks(&text).into_iter().find(|(title, _)| title.ends_with(", 1 generator core a server core"));
    assert_eq!(steps(&of_one.unwrap().1), ["1", "2", "4", "8", "12", "16", "20"]);
    let header: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(header, ["cores", "req/s", "connections", "verdict"]);
}

#[test]
fn upstreams_numbers_testers_and_servers() {
    let report = run(builtin::text("http-upstreams").unwrap(), 2);
    let printed = markdown(&report, Style::Upstreams);
    let lines: Vec<&str> = printed.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(
        lines[0],
        "| test case | OS | tester | upstream server | req/s | latency p50 | p90 /p50 | p99 /p50 | p99.9 /p50 | memory MiB | CPU % | CPU us per req | sockets used | bytes per resp | tester CPU % | failed | verdict |"
    );
    // Two tables, each with two lines of header.
    assert_eq!(lines.len() - 4, report.rows.len());
    assert!(lines[2].starts_with("| 1 | Linux 6.18.0 | ab | nginx | "), "{}", lines[2]);
    let last = lines.last().unwrap();
    assert!(last.starts_with(&format!("| {} | ", report.rows.len())), "{last}");
    let (equal, different) = printed.split_once("## 4k different requests").unwrap();
    assert!(equal.contains("## Equal requests"));
    // brunt makes three loads in each, one of them with a connection for each request, which one server is left out of.
    let of_brunt = |table: &str, load: &str| table.matches(&format!("| brunt: {load}")).count();
    let servers = report.rows.iter().filter(|row| row.cell.settings.tester.as_deref() == Some("fortio")).count();
    for table in [equal, different] {
        assert_eq!(of_brunt(table, "one connection a request"), servers - 1, "{table}");
        assert_eq!(of_brunt(table, "10k req/s offered"), servers, "{table}");
        assert_eq!(of_brunt(table, ""), 3 * servers - 1, "{table}");
    }
    // Charts do not depend on the layout.
    assert_eq!(printed.matches("](charts/").count(), markdown(&report, Style::Plain).matches("](charts/").count());
}

#[test]
fn a_layout_is_known_by_its_name() {
    assert!(Style::ALL.into_iter().all(|(name, style)| name.parse() == Ok(style)));
    assert_eq!("Plain".parse::<Style>().unwrap_err(), "'Plain' is not a style; did you mean 'plain'?");
}

#[test]
fn loads_that_a_machine_has_no_cores_for_are_named_below_the_tables() {
    let mut report = run(builtin::text("ping-pong-scaling").unwrap(), 2);
    report.skipped = report.experiment.cells.skipped.clone();
    let text = text(&report, Style::PingPong, Width::Within(None));
    assert!(blocks(&text).iter().any(|(title, _)| title.starts_with("monoio: 1 server core")), "{text}");
    let skipped: Vec<&str> = text.lines().filter(|line| line.starts_with("skipped: ")).collect();
    let cores = "1+4, 2+8, 4+16, 8+32, 12+48, 16+64, 20+80, 2+2, 4+4, 8+8, 12+12, 16+16, 20+20";
    let why = format!("11 targets: need {cores} cores (server + generator), this machine has 2");
    assert!(skipped.len() == 1 && skipped[0].ends_with(&why), "{skipped:?}");
}

#[test]
fn cost_has_a_row_for_each_rate_and_a_line_for_each_server() {
    let report = run(builtin::text("ping-pong-fixed-rate").unwrap(), 20);
    let text = text(&report, Style::Cost, Width::Within(None));
    let (points, lines) = text.split_once("CPU time a second = standing + marginal x rate\n").unwrap();
    assert!(points.contains("CPU us") && points.contains("verdict"), "{text}");
    let monoio = lines.lines().filter(|line| line.trim_start().starts_with("monoio ")).count();
    assert!(monoio > 1 && lines.contains("on the line"), "{text}");
}
