//! What is told of a load while it goes on: the lines of its seconds, the page so far, doubts, and its directory as `brunt watch`
//! reads it. Seconds are exact, and so are the words.

use crate::targets::{get, reply, serve};
use crate::worlds::{SECOND, Serve, address, exact, observed, open, options};
use brunt_load::http::Pipeline;
use brunt_load::{Observer, Options, Target};
use brunt_results::directory::{Directory, SeriesWriter};
use brunt_results::series::{Line, Second};
use brunt_results::start::LoadStart;
use brunt_serve::http::handler::Response;
use brunt_view::live::{self, Lines, Source};
use brunt_view::{course::Course, progress::Describer};
use hdrhistogram::Histogram;
use std::{fs, path::Path, time::Duration};

fn echo() -> Target {
    Target::Echo { address: address().into(), size: 64, reuse: None }
}

fn start(options: &Options) -> LoadStart {
    LoadStart {
        url: options.url.clone(),
        connections: options.connections as u64,
        threads: options.threads.len() as u64,
        rate: options.rate,
        warmup_s: options.warmup.as_secs_f64(),
        duration_s: options.duration.as_secs_f64(),
        no_server: Some("it is a task".to_owned()),
        ..LoadStart::default()
    }
}

/// All that is told, by second.
struct Told {
    describer: Describer,
    course: Course,
    lines: Vec<String>,
    pages: Vec<String>,
    doubts: Vec<String>,
    watched: Option<Watched>,
}

/// The directory of the load, and what `brunt watch` tells of it.
struct Watched {
    series: SeriesWriter,
    source: Source,
    lines: Lines,
    told: String,
}

impl Told {
    fn new(options: &Options, directory: Option<&Directory>) -> Self {
        let watched = |directory: &Directory| Watched {
            series: directory.series().unwrap(),
            source: Source::new(directory.path()),
            lines: Lines::default(),
            told: String::new(),
        };
        Self {
            describer: Describer::new(Some(options.warmup + options.duration), options.warmup),
            course: Course::new(start(options)),
            lines: Vec::new(),
            pages: Vec::new(),
            doubts: Vec::new(),
            watched: directory.map(watched),
        }
    }
}

impl Observer for Told {
    fn second(&mut self, second: &mut Second) {
        let line = Line::from(&*second);
        self.lines.push(self.describer.describe(&line));
        self.course.push(line);
        self.pages.push(self.course.page(Vec::new()));
        self.doubts.extend(self.course.doubts(None));
    }

    fn recorded(&mut self, second: &Second, _: &Histogram<u64>) {
        let Some(watched) = &mut self.watched else { return };
        watched.series.push(second).unwrap();
        assert!(watched.source.poll().unwrap() && !watched.source.is_over());
        watched.told += &watched.lines.told(watched.source.model());
    }
}

fn told(options: &Options, serve: Serve) -> Told {
    let mut told = Told::new(options, None);
    observed(&exact(), options, serve, &mut told).unwrap();
    told
}

/// A warm-up of two seconds and a window of four.
fn six_seconds() -> Options {
    Options { duration: 4 * SECOND, ..open(echo(), 1000.0, 4, 1) }
}

#[test]
fn each_second_is_a_line() {
    let told = told(&six_seconds(), Serve::echo("sleep=75us", 1));
    let line = |second: u32| {
        let phase = if second <= 2 { "  warm-up" } else { "" };
        format!("   {second}/6 s{phase}  1000 requests/s  p50 99.0 us  p99 99.0 us  4 connections")
    };
    // The dispatcher learns in the first ones.
    assert_eq!(told.lines[2..], [3, 4, 5, 6].map(line));
    assert!(told.lines[0].starts_with("   1/6 s  warm-up  1000 requests/s  p50 ") && told.lines.len() == 6);
    assert_eq!(told.doubts, [""; 0]);
}

#[test]
fn the_page_so_far_has_the_seconds_of_the_window() {
    let told = told(&six_seconds(), Serve::echo("sleep=75us", 1));
    let page = "\
sim, 4 connections, open loop 1000/s
0:02 of 0:06 left

  rate        1000 offered, 1000 requests/s answered (100.0 %); 1000 now
  response    p50 99.0 us, p90 99.0 us, p99 99.0 us, p99.9 -, max 99.0 us
  server      not metered: it is a task
  generator   CPU 0.0 %, 0 ns/request, lag p99 1.00 us; 4 connections
  errors      none
  verdict so far: ok
";
    assert_eq!(told.pages[3], page);
    assert!(told.pages[1].starts_with("sim, 4 connections, open loop 1000/s\nwarm-up, 0:04 of 0:06 left\n"));
    assert!(told.pages[1].ends_with("  verdict so far: none, the window has not begun\n"), "{}", told.pages[1]);
}

/// Two connections that carry a request in ten milliseconds each.
#[test]
fn a_doubt_is_told_of_after_three_seconds_and_once() {
    let options = Options { duration: 6 * SECOND, rate: Some(1000.0), connections: 2, ..options(echo()) };
    let told = told(&options, Serve::echo("sleep=9977us", 1));
    let doubt = "verdict so far, after 3 s: rate-missed: 199 requests/s were answered of 1000 offered; 99.9 % found every \
                 connection busy; the target is the limit at this rate: lower -R, or raise -c if the target can serve more at \
                 a time";
    assert_eq!(told.doubts, [doubt]);
}

#[test]
fn failures_are_told_of_after_the_first_second_that_has_them() {
    let options = Options { duration: 3 * SECOND, ..options(get(Pipeline::NONE, None)) };
    // A reply takes a millisecond: the 1500th is half a second into the second one.
    let fails = |n| Response { status: if n < 1500 { 200 } else { 500 }, delay: Duration::from_micros(977), ..reply() };
    let told = told(&options, serve(fails, 1).0);
    assert!(told.doubts[0].starts_with("verdict so far, after 2 s: errors: "), "{:?}", told.doubts);
    assert_eq!(told.doubts.iter().filter(|doubt| doubt.contains(" s: errors: ")).count(), 1, "{:?}", told.doubts);
    assert!(!told.lines[0].contains("failure") && told.lines[1].contains("  499 failures"), "{:?}", told.lines);
}

#[test]
fn a_directory_is_watched_second_by_second_until_its_result() {
    let (options, home) = (six_seconds(), brunt_testkit::home());
    let directory = Directory::create(home.path()).unwrap();
    let lock = directory.announce(&start(&options)).unwrap();
    let mut told = Told::new(&options, Some(&directory));
    let (report, _) = observed(&exact(), &options, Serve::echo("sleep=75us", 1), &mut told).unwrap();
    let mut watched = told.watched.unwrap();
    assert_eq!(watched.told.lines().collect::<Vec<_>>(), told.lines);
    directory.write_result(&report.result).unwrap();
    drop(lock);
    assert!(watched.source.poll().unwrap() && watched.source.is_over() && !watched.source.is_dead());
    let page = live::page(watched.source.model());
    assert!(page.starts_with("sim, 4 connections, open loop 1000/s\nended after 0:06\n"), "{page}");
    assert!(page.ends_with("  verdict: ok\n"), "{page}");
    assert_eq!(lines_of(home.path()), told.lines[5..], "one that looks later is told of the last second");
}

/// What is told of a directory that is looked at once.
fn lines_of(directory: &Path) -> Vec<String> {
    let mut source = Source::new(directory);
    source.poll().unwrap();
    assert_eq!(fs::read_to_string(directory.join("series.jsonl")).unwrap().lines().count(), 6);
    Lines::default().told(source.model()).lines().map(str::to_owned).collect()
}
