//! History, results and comparison, and that nothing else is readable.

use super::scene::{Ui, brunt, output, result, server};
use brunt_testkit::home;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn results_are_listed_shown_and_compared() {
    let home = home();
    let (_server, url) = server(&home);
    let [a, b] = ["a", "b"].map(|name| result(&home, &url, name).display().to_string());
    let ui = Ui::start(&home, &["runs"]);
    let history = ui.get("/");
    assert!(history.status == 200 && history.body.contains("<h1>History</h1>"), "{history:?}");
    for dir in [&a, &b] {
        assert!(history.body.contains(&format!("name=\"dir\" value=\"{dir}\"")), "{}", history.body);
        assert!(history.body.contains(&format!("href=\"/result?dir={dir}\"")), "{}", history.body);
    }
    let shown = ui.get(&format!("/result?dir={a}"));
    let policy = shown.field("Content-Security-Policy").unwrap();
    assert!(policy.contains("script-src 'sha256-") && !policy.contains("script-src 'unsafe"), "{policy}");
    // The page of brunt report --html, but for the links to its files.
    assert!(output(brunt(&home, &["report", &a, "--html", "a.html"])).status.success());
    let written = fs::read_to_string(home.join("a.html")).unwrap();
    let first = |page: &str| page.split("<script type=\"application/json\"").next().unwrap().to_owned();
    assert_eq!(first(&shown.body), first(&written));

    let compared = ui.get(&format!("/compare?dir={b}&dir={a}"));
    let text = output(brunt(&home, &["compare", &a, &b, "--allow-untrusted"]));
    let text = String::from_utf8(text.stdout).unwrap();
    for name in ["rate", "p50", "p99", "cost"] {
        let row = text.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        let figure = row.split("  ").filter(|cell| !cell.trim().is_empty()).nth(1).unwrap().trim();
        assert!(compared.body.contains(&format!("<td class=\"number\">{figure}</td>")), "{row}\n{}", compared.body);
    }
    assert!(compared.body.contains("cannot tell: more repeats"), "{}", compared.body);
    assert_eq!(ui.get(&format!("/compare?dir={a}")).status, 400);
    // The one script is a file; the links and the form work without it.
    assert_eq!(history.body.matches("<script").count(), 1);
}

#[test]
fn nothing_outside_of_the_directory_is_readable() {
    let home = home();
    let (_server, url) = server(&home);
    let inside = result(&home, &url, "inside");
    fs::rename(result(&home, &url, "secret"), home.join("secret")).unwrap();
    symlink(home.join("secret"), home.join("runs/link")).unwrap();
    let ui = Ui::start(&home, &["runs"]);
    let (runs, secret) = (home.join("runs").display().to_string(), home.join("secret").display().to_string());
    for dir in [
        secret.clone(),
        format!("{runs}/../secret"),
        format!("{runs}/link"),
        format!("{runs}/inside/.."),
        format!("{runs}%2f..%2fsecret"),
        format!("{runs}/inside/"),
        "../secret".to_owned(),
        "secret".to_owned(),
        "/etc".to_owned(),
        String::new(),
        format!("{runs}/missing"),
    ] {
        for page in ["live", "result", "events"] {
            let refused = ui.get(&format!("/{page}?dir={dir}"));
            assert_eq!(refused.status, 404, "{page} {dir}: {}", refused.body);
        }
        assert_eq!(ui.get(&format!("/compare?dir={dir}&dir={}", inside.display())).status, 404, "{dir}");
    }
    for path in ["/../secret/env.json", "/..%2fsecret/env.json", "/secret/env.json", "//etc/passwd", "/ui.css/../x"] {
        assert_eq!(ui.get(path).status, 404, "{path}");
    }
    // A file of a result that is a link.
    fs::remove_file(inside.join("series.jsonl")).unwrap();
    symlink(home.join("secret/series.jsonl"), inside.join("series.jsonl")).unwrap();
    let dir = inside.display();
    let page = ui.get(&format!("/result?dir={dir}")).body;
    assert!(page.contains("leads out of the result"), "{page}");
    let events = ui.events(&dir.to_string(), |_| false);
    assert!(events[0]["error"].as_str().unwrap().contains("leads out") && events[0]["points"].is_null(), "{events:?}");
    assert!(ui.get(&format!("/compare?dir={dir}&dir={dir}")).body.contains("leads out"));
}

#[test]
fn without_a_directory_it_shows_what_brunt_list_does() {
    let home = home();
    let (_server, url) = server(&home);
    let dir = result(&home, &url, "a");
    let ui = Ui::start(&home, &[]);
    assert!(ui.get("/").body.contains("No results yet"));
    assert_eq!(ui.get(&format!("/result?dir={}", dir.display())).status, 404);
    assert!(output(brunt(&home, &["list", "--rebuild", "runs"])).status.success());
    assert!(ui.get("/").body.contains(&format!("href=\"/result?dir={}\"", dir.display())));
    assert_eq!(ui.get(&format!("/result?dir={}", dir.display())).status, 200);
}

#[test]
fn the_directory_of_a_load_is_shown_first() {
    let home = home();
    let (_server, url) = server(&home);
    let dir = result(&home, &url, "a").display().to_string();
    let ui = Ui::start(&home, &["runs/a"]);
    assert!(ui.get("/").body.contains(&format!("data-events=\"/events?dir={dir}\"")));
    let states = ui.events(&dir, |_| false);
    assert!(states.len() == 1 && states[0]["state"].as_str().unwrap().starts_with("ended after"), "{states:?}");
    assert!(ui.get("/history").body.contains(&format!("href=\"/result?dir={dir}\"")));
}
