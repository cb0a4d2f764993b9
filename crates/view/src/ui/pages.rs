//! The pages as HTML: each is whole without scripts, apart from the figures of a running load.

use super::form;
use super::results::Found;
use brunt_lab::compare::{self, Comparison};
use brunt_lab::format::{date, escaped};
use brunt_lab::history::Run;
use brunt_results::comparison::Verdict;
use std::fmt::Write as _;
use std::path::Path;

/// What of the site a page leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Menu {
    /// Whether there is a history, or one load alone.
    pub has_history: bool,
}

/// The links of the head; the text is where the page stands.
fn frame(menu: Menu, here: &str, title: &str, body: &str) -> String {
    let link = |target: &str, text: &str| {
        let current = if text == here { " aria-current=\"page\"" } else { "" };
        format!("<a href=\"{target}\"{current}>{text}</a>")
    };
    let links = if menu.has_history {
        [link("/history", "History"), link("/start", "Start a load")].join("\n")
    } else {
        String::new()
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{} - brunt</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/ui.css\">\n\
         <script src=\"/ui.js\" defer></script>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n\
         <header>\n<span class=\"name\">brunt</span>\n<nav aria-label=\"Pages\">{links}</nav>\n</header>\n\
         <main id=\"main\" tabindex=\"-1\">\n{body}</main>\n</body>\n</html>\n",
        escaped(title)
    )
}

/// A page that says one thing.
pub(super) fn message(menu: Menu, title: &str, text: &str) -> String {
    let body = format!("<h1>{}</h1>\n<p class=\"alarm\">{}</p>\n", escaped(title), escaped(text));
    frame(menu, "", title, &body)
}

/// Percent-encoded, for a query.
pub(super) fn encoded(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => out.push(char::from(byte)),
            _ => _ = write!(out, "%{byte:02X}"),
        }
    }
    out
}

pub(super) fn live_link(dir: &Path) -> String {
    format!("/live?dir={}", encoded(&dir.display().to_string()))
}

/// What `brunt list` shows, and the loads that run.
pub(super) fn history(menu: Menu, title: &str, found: &Found) -> String {
    let mut body = format!("<h1>History</h1>\n<p class=\"faint\">Newest first: {}.</p>\n", escaped(title));
    if !found.running.is_empty() {
        body.push_str("<h2>Running</h2>\n<ul class=\"plain\">\n");
        for dir in &found.running {
            let _ =
                writeln!(body, "<li><a href=\"{}\">{}</a></li>", live_link(dir), escaped(&dir.display().to_string()));
        }
        body.push_str("</ul>\n");
    }
    if found.runs.is_empty() {
        body.push_str(
            "<p>No results yet: brunt run and brunt find add theirs, brunt list --rebuild ROOT those below ROOT.</p>\n",
        );
        return frame(menu, "History", "History", &body);
    }
    body.push_str(
        "<form action=\"/compare\" method=\"get\">\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Results\">\n\
         <table>\n<thead><tr><th scope=\"col\"><span class=\"hidden\">Compare</span></th><th scope=\"col\">Started</th>\
         <th scope=\"col\">Plan</th><th scope=\"col\">Targets</th><th scope=\"col\">Trials</th>\
         <th scope=\"col\">Verdicts</th><th scope=\"col\">Directory</th></tr></thead>\n<tbody>\n",
    );
    found.runs.iter().for_each(|run| body.push_str(&row(run)));
    body.push_str("</tbody>\n</table>\n</div>\n<p><button>Compare the chosen</button> <span class=\"faint\">Two or more: the newer ones with the oldest.</span></p>\n</form>\n");
    if found.all > found.runs.len() {
        let more = found.all - found.runs.len();
        let _ = writeln!(body, "<p><a href=\"/history?all=1\">{more} more</a></p>");
    }
    frame(menu, "History", "History", &body)
}

fn row(run: &Run) -> String {
    let (directory, started) = (escaped(&run.directory), date(run.started_unix_s));
    let link = encoded(&run.directory);
    let chips = run.verdicts.iter().map(|(word, count)| chip(word, &format!("{count} {word}")));
    let trials = match (run.finished, run.missing) {
        (true, _) => run.trials.to_string(),
        (false, 0) => format!("{}, unfinished", run.trials),
        (false, missing) => format!("{}, {missing} to come", run.trials),
    };
    let targets: Vec<String> = run.targets.iter().map(|target| escaped(target)).collect();
    let (choice, place) = match run.gone {
        true => (String::new(), format!("{directory} (gone)")),
        false => {
            let live = if run.finished { String::new() } else { format!(" <a href=\"/live?dir={link}\">live</a>") };
            let choice = format!(
                "<input type=\"checkbox\" name=\"dir\" value=\"{directory}\" aria-label=\"Compare {} of {started}\">",
                escaped(&run.plan)
            );
            (choice, format!("<a href=\"/result?dir={link}\">{directory}</a>{live}"))
        }
    };
    format!(
        "<tr><td>{choice}</td><td class=\"nowrap\">{started}</td><td>{}</td><td>{}</td><td class=\"number\">{trials}</td><td>{}</td>\
         <td class=\"path\">{place}</td></tr>\n",
        escaped(&run.plan),
        targets.join(", "),
        chips.collect::<Vec<_>>().join(" "),
    )
}

/// A verdict: its colour repeats its word.
fn chip(word: &str, text: &str) -> String {
    format!("<span class=\"chip v-{}\">{}</span>", escaped(&word.replace(' ', "-")), escaped(text))
}

/// The words and intervals of `brunt compare`.
pub(super) fn comparison(menu: Menu, comparisons: &[Result<Comparison, String>]) -> String {
    let mut body = String::from("<h1>Comparison</h1>\n");
    for comparison in comparisons {
        match comparison {
            Ok(comparison) => body.push_str(&compared(comparison)),
            Err(why) => _ = writeln!(body, "<p class=\"alarm\">{}</p>", escaped(why)),
        }
    }
    frame(menu, "", "Comparison", &body)
}

fn compared(comparison: &Comparison) -> String {
    let [a, b] = &comparison.sides;
    let mut out = format!(
        "<section>\n<dl class=\"sides\"><dt>A</dt><dd>{}</dd><dt>B</dt><dd>{}</dd></dl>\n",
        escaped(a),
        escaped(b)
    );
    for pair in &comparison.cells {
        let title = escaped(&compare::title(pair));
        let head = |head: &'static str| {
            if head.is_empty() { "<span class=\"hidden\">Conclusion or figure</span>" } else { head }
        };
        let heads = compare::header(pair).map(|text| format!("<th scope=\"col\">{}</th>", head(text))).concat();
        let _ = writeln!(
            out,
            "<h2>{title}</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\"><table>\n\
             <thead><tr>{heads}</tr></thead>\n<tbody>"
        );
        for (cells, finding) in compare::rows(pair, comparison.margin).iter().zip(&pair.figures) {
            let kind = match finding.verdict() {
                // Has the colour of the other.
                Verdict::Imprecise { needed } => Verdict::CannotTell { needed: *needed }.key(),
                verdict => verdict.key(),
            };
            let last = cells.len() - 1;
            let cell = |(number, text): (usize, &String)| match number {
                0 => format!("<th scope=\"row\">{}</th>", escaped(text)),
                number if number == last => format!("<td>{}</td>", chip(kind, text)),
                _ => format!("<td class=\"number\">{}</td>", escaped(text)),
            };
            let _ = writeln!(out, "<tr>{}</tr>", cells.iter().enumerate().map(cell).collect::<String>());
        }
        out.push_str("</tbody></table></div>\n");
    }
    let legend: String =
        compare::legend(comparison).iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
    let _ = writeln!(out, "<ul class=\"faint\">\n{legend}</ul>\n</section>");
    out
}

/// The form; `outcome` is the command that it stands for, or what is wrong with it.
pub(super) fn start(
    menu: Menu,
    values: &[(String, String)],
    outcome: Option<&Result<String, String>>,
    may_start: bool,
) -> String {
    let (command, error) = match outcome {
        None => ("brunt load URL", ""),
        Some(Ok(command)) => (command.as_str(), ""),
        Some(Err(error)) => ("", error.as_str()),
    };
    let button = match may_start {
        true => "<button class=\"main\">Start the load</button>\n".to_owned(),
        false => "<p class=\"faint\">This page only shows the command: brunt ui --allow-start adds the button that starts it.</p>\n".to_owned(),
    };
    let action = if may_start { "/start" } else { "/command" };
    let body = format!(
        "<h1>Start a load</h1>\n<form id=\"start\" action=\"{action}\" method=\"post\">\n{}\
         <h2 id=\"command-title\">The command that this stands for</h2>\n\
         <pre id=\"command\" tabindex=\"0\" aria-labelledby=\"command-title\">{}</pre>\n\
         <p id=\"command-error\" class=\"alarm\" role=\"status\">{}</p>\n\
         <p class=\"buttons\">{button}<button class=\"needs-no-script\" formaction=\"/command\">Show the command</button></p>\n</form>\n",
        form::fields(values),
        escaped(command),
        escaped(error),
    );
    frame(menu, "Start a load", "Start a load", &body)
}

/// The page of a running load; its script fills it.
pub(super) fn live(menu: Menu, dir: &Path, may_stop: bool) -> String {
    let path = dir.display().to_string();
    let stop = format!(
        "<form id=\"stop\" action=\"/stop\" method=\"post\" hidden><input type=\"hidden\" name=\"dir\" value=\"{}\">\
         <button>Stop the load, keep its results</button></form>\n",
        escaped(&path)
    );
    let chart = |id: &str, title: &str, names: &[&str]| {
        let names = names.iter().enumerate().map(|(number, name)| {
            format!(
                "<span class=\"key s{number}\"><svg viewBox=\"0 0 24 8\" aria-hidden=\"true\"><path d=\"M0 4H24\"/></svg>{name} \
                 <b data-last=\"{number}\"></b></span>"
            )
        });
        format!(
            "<figure id=\"{id}\" class=\"chart\"><figcaption><b>{title}</b> {}</figcaption>\
             <svg role=\"img\" aria-label=\"{title} over time\"></svg></figure>\n",
            names.collect::<String>()
        )
    };
    let body = format!(
        "<div id=\"live\" data-events=\"/events?dir={link}\">\n<h1 id=\"headline\">A load</h1>\n\
         <p id=\"state\">waiting for figures</p>\n<progress id=\"progress\" aria-label=\"Time of the load\" max=\"1\" value=\"0\"></progress>\n\
         <div class=\"buttons\">{}<a id=\"result\" href=\"/result?dir={link}\" hidden>The page of its result</a></div>\n\
         <section id=\"verdict\" aria-label=\"Verdict\"><h2>verdict</h2><ul></ul></section>\n\
         <dl id=\"figures\"></dl>\n<div class=\"charts\">\n{}{}</div>\n\
         <pre id=\"job\" tabindex=\"0\" aria-label=\"The command, and its messages\" hidden></pre>\n\
         <p class=\"faint\">Read from <code>{}</code>, as brunt watch does.</p>\n\
         <p class=\"hidden\" id=\"spoken\" aria-live=\"polite\"></p>\n</div>\n\
         <noscript><p class=\"alarm\">The figures of a running load need JavaScript. Without it: brunt watch {}</p></noscript>\n",
        if may_stop { &stop } else { "" },
        chart("rate", "Requests per second", &["offered", "answered"]),
        chart("times", "Response time", &["p50", "p99", "p99.9"]),
        escaped(&path),
        escaped(&path),
        link = encoded(&path),
    );
    frame(menu, "", "A load", &body)
}
