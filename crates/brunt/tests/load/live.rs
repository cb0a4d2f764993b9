//! `brunt watch`, `brunt load --live` and SIGUSR1, as typed: in pipes, and on a screen of 80x24 in tmux.

use crate::shared::screen::Screen;
use crate::shared::target::{Run, Target, load};
use brunt_testkit::{Running, Signal, assert_code, judge, told, until};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

fn watch(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.arg("watch").arg(directory).stdin(Stdio::null());
    command
}

/// A load that has announced itself in the directory, for which `brunt watch` waits three seconds.
fn begun(flags: &str, target: &Target, out: &Path) -> Run {
    let mut command = load(&target.url(), flags);
    command.arg(out);
    let running = Run::start(command);
    until("the load begins", || out.join("load.json").exists());
    running
}

#[test]
fn a_finished_load_in_a_pipe_is_its_last_second_and_its_page() {
    let (target, home) = (Target::start(), brunt_testkit::home());
    let mut command = load(&target.url(), "-R 1k -n 100 --warmup 0s -c 4 --quiet --out");
    assert_code(&command.arg(home.path()).output().unwrap(), &[0, 1, 3]);
    let output = watch(home.path()).output().unwrap();
    let (page, _) = told(&output, 0);
    let lines: Vec<&str> = page.lines().collect();
    assert!(lines[0].contains(" requests/s  p50 ") && lines[0].contains("4 connections"), "{page}");
    assert_eq!(lines[1], format!("{}, 4 connections, open loop 1000/s", target.url()));
    assert!(lines[2].starts_with("ended after 0:0") && page.contains("\n  verdict: "), "{page}");
}

#[test]
fn a_running_load_in_a_pipe_is_lines_until_it_ends_or_is_killed() {
    let (target, home) = (Target::start(), brunt_testkit::home());
    for is_killed in [false, true] {
        let out = home.path().join(is_killed.to_string());
        let error = home.path().join(format!("{is_killed}.err"));
        let running = begun("-R 1k -d 10m --warmup 0s -c 2 --quiet --out", &target, &out);
        let mut command = watch(&out);
        command.stdout(Stdio::piped()).stderr(File::create(&error).unwrap());
        let mut watching = Running::start(&mut command);
        watching.line_after("/600 s ");
        running.signal(if is_killed { Signal::KILL } else { Signal::INT });
        drop(running.end());
        let page: String = std::iter::from_fn(|| watching.line()).map(|line| line + "\n").collect();
        let (code, error) = (watching.end().code(), fs::read_to_string(&error).unwrap());
        assert_eq!(code, Some(i32::from(is_killed)), "{page}{error}");
        assert!(page.contains("2 connections, open loop 1000/s\n"), "{page}");
        assert_eq!(page.contains("  verdict so far: "), is_killed, "{page}");
        assert_eq!(error.contains("ended without a result"), is_killed, "{error}");
    }
}

#[test]
fn directories_without_a_load_are_usage_errors() {
    let home = brunt_testkit::home();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    for (directory, words) in
        [(home.path().join("missing"), "No such file"), (home.path().to_owned(), "holds no load"), (file, "is a file")]
    {
        let output = watch(&directory).output().unwrap();
        let (_, error) = told(&output, 2);
        assert!(error.contains(words) && error.contains("brunt load --out") && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn sigusr1_prints_the_page_so_far_and_the_load_goes_on() {
    let mut target = Target::start();
    let mut run = Run::start(load(&target.url(), "-R 1k -d 10m --warmup 0s -c 4 --quiet --allow-untrusted"));
    target.until_asked();
    let mut page = || {
        run.signal(Signal::USR1);
        let mut page = String::new();
        while !page.contains("\n  verdict so far: ") {
            page += &(run.line().expect("the page so far") + "\n");
        }
        page
    };
    // Before the end of the first second there is no figure.
    let so_far = loop {
        let page = page();
        if !page.contains("the window has not begun") {
            break page;
        }
    };
    let headline = format!("{}, 4 connections, open loop 1000/s\n", target.url());
    for words in [&headline[..], " of 10:00 left\n", "  response    p50 ", "  server      CPU ", "  errors      none\n"]
    {
        assert!(so_far.contains(words), "{words}: {so_far}");
    }
    run.signal(Signal::INT);
    let (page, _) = told(&run.end(), 0);
    assert!(page.contains(", INTERRUPTED\n"), "{page}");
}

#[test]
fn without_a_terminal_live_has_lines() {
    let target = Target::start();
    let output = load(&target.url(), "--live -n 2k -c 2 --warmup 0s --allow-untrusted").output().unwrap();
    let (_, progress) = told(&output, 0);
    assert!(progress.starts_with("127.0.0.1:") && !progress.contains('\u{1b}'), "{progress}");
}

#[test]
fn the_live_view_ends_with_q_and_leaves_the_result_on_the_screen() {
    let target = Target::start();
    let brunt = env!("CARGO_BIN_EXE_brunt");
    let command = format!("{brunt} load {} --live -R 1k -d 60s --warmup 0s -c 4 --allow-untrusted", target.url());
    let Some(screen) = Screen::start(&command) else { return };
    let seen = screen.until(&["verdict so far: ", "response time: . p50", " of 1:00 left", "q stop the load"]);
    assert!(seen.lines().count() <= 24, "{seen}");
    screen.keys("?");
    screen.until(&["keep this screen; printed when the view closes"]);
    screen.keys("x");
    screen.keys("s");
    screen.until(&["1 kept"]);
    screen.keys("q");
    let seen = screen.until(&["EXIT 0 icanon"]);
    assert!(seen.contains("INTERRUPTED") && seen.contains("  verdict     "), "{seen}");
    assert!(seen.contains("q stop the load, keep its results   s keep this screen"), "the kept screen: {seen}");
}

#[test]
fn the_terminal_is_restored_by_errors_and_signals() {
    let mut target = Target::start();
    let brunt = env!("CARGO_BIN_EXE_brunt");
    let home = brunt_testkit::home();
    let variables = format!("TMPDIR={}", home.path().display());
    let command = format!("{variables} {brunt} load {} --live -d 60s -T 30s -c 2", target.url());
    // Whether the second signal came before the load ended by the first.
    let mut is_killed = || {
        let screen = Screen::start(&command)?;
        target.until_asked();
        screen.until(&["response time: . p50"]);
        target.signal(Signal::STOP);
        // The first stops, which waits for replies; the second ends the process.
        screen.keys("C-c");
        screen.until(&["stopping"]);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
        screen.keys("C-c");
        let seen = screen.until(&["EXIT ", " icanon"]);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "the temporary directory is left");
        target.signal(Signal::CONT);
        Some(seen.contains("EXIT 130 icanon"))
    };
    judge("a second signal ends it", || match is_killed() {
        Some(false) => Err("it ended by the first one".to_owned()),
        _ => Ok(()),
    });

    let refused = format!("{brunt} load tcp://127.0.0.1:1 --live");
    let Some(screen) = Screen::start(&refused) else { return };
    let seen = screen.until(&["EXIT 1 icanon"]);
    assert!(seen.contains("error: "), "{seen}");
}

#[test]
fn a_load_elsewhere_is_watched_until_it_has_ended_and_colours_can_be_left_out() {
    let (target, home) = (Target::start(), brunt_testkit::home());
    let directory = home.path().display();
    let brunt = env!("CARGO_BIN_EXE_brunt");
    let running = begun("-R 1k -d 10m --warmup 0s -c 4 --quiet --out", &target, home.path());
    for (variables, has_colours) in [("", true), ("NO_COLOR=1", false)] {
        let Some(screen) = Screen::start(&format!("{variables} {brunt} watch {directory}")) else { return };
        if has_colours {
            screen.until(&[" of 10:00 left", "verdict so far: "]);
            running.signal(Signal::INT);
        }
        screen.until(&["interrupted after 0:0", "verdict: ", "q quit"]);
        let colours = screen.tmux(&["capture-pane", "-p", "-e"]);
        assert_eq!(colours.contains("\u{1b}[38;5;"), has_colours, "{colours:?}");
        screen.keys("q");
        let seen = screen.until(&["EXIT 0 icanon"]);
        assert!(seen.contains("open loop") && !seen.contains("q quit"), "{seen}");
    }
    drop(running.end());
}

#[test]
fn a_view_ends_with_its_terminal() {
    let (target, home) = (Target::start(), brunt_testkit::home());
    let (directory, noted) = (home.path().join("load"), home.path().join("pid"));
    let output =
        load(&target.url(), "-n 100 -c 2 --warmup 0s --quiet --allow-untrusted --out").arg(&directory).output();
    assert_code(&output.unwrap(), &[0]);
    let brunt = env!("CARGO_BIN_EXE_brunt");
    let watch = format!("sh -c 'echo $$ > {}; exec {brunt} watch {}'", noted.display(), directory.display());
    let Some(screen) = Screen::start(&watch) else { return };
    screen.until(&["q quit"]);
    let process = format!("/proc/{}", fs::read_to_string(noted).unwrap().trim());
    assert!(fs::exists(&process).unwrap());
    drop(screen);
    until("it ends without a terminal", || !fs::exists(&process).unwrap());
}
