//! A self-contained HTML page: head, style sheet, body, "Copy as Markdown", and results for reading the page again. It loads
//! nothing from the network.

use crate::format::escaped;
use crate::report::charts::COLOURS;
use crate::run_directory::embedded::OPENING;
use std::fmt::Write;

const TEMPLATE: &str = include_str!("assets/page.html");
const STYLES: [&str; 2] = [include_str!("assets/uPlot.min.css"), include_str!("assets/page.css")];
const COPY: &str = include_str!("assets/copy.js");

pub(crate) struct Document {
    pub title: String,
    /// The contents of `main`, as markup.
    pub body: String,
    /// Elements after `main`, as markup.
    pub tail: String,
    /// JSON of [`embedded`](crate::run_directory::embedded).
    pub results: Option<String>,
}

impl Document {
    pub(crate) fn html(&self) -> String {
        let results =
            self.results.as_ref().map_or(String::new(), |json| format!("{}{}</script>\n", OPENING, in_script(json)));
        let tail = format!("{results}{}<script>{}</script>\n", self.tail, lean(COPY));
        let styles = colours() + &lean(&STYLES.join("\n"));
        let parts =
            [("{title}", escaped(&self.title)), ("{styles}", styles), ("{body}", self.body.clone()), ("{tail}", tail)];
        filled(TEMPLATE, &parts)
    }
}

/// A template with its places filled in their order. What is filled in is not searched for places.
pub(super) fn filled(template: &str, parts: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    for (place, text) in parts {
        let (before, after) = rest.split_once(place).expect("the template has every part, in this order");
        out.push_str(before);
        out.push_str(text);
        rest = after;
    }
    out + rest
}

/// JSON as the contents of a `script` element, which a `<` in a string must not end.
pub(super) fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Without indentation, empty lines and comments.
pub(super) fn lean(text: &str) -> String {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.map(|line| line.to_owned() + "\n").collect()
}

/// Title, the answer in the first lines below it, other lines, and the button that copies the page.
pub(crate) fn header(title: &str, answers: &[String], lines: &[(&str, &str)]) -> String {
    let mut out = format!("<h1>{}</h1>\n", escaped(title));
    let answers = answers.iter().map(|line| ("answer", line.as_str()));
    for (class, line) in answers.chain(lines.iter().copied()).filter(|(_, line)| !line.is_empty()) {
        let _ = writeln!(out, "<p class=\"{class}\">{}</p>", escaped(line));
    }
    out + "<p class=\"needs-script\"><button id=\"copy\">Copy as Markdown</button> <span id=\"copied\" role=\"status\"></span></p>\n"
}

/// Notes as a list; empty without any.
pub(crate) fn list(lines: &[String]) -> String {
    let items: String = lines.iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
    if items.is_empty() { items } else { format!("<ul class=\"notes\">\n{items}</ul>\n") }
}

/// Command lines by what they started; empty without any.
pub(crate) fn commands(commands: &[(String, String)]) -> String {
    let item =
        |(name, command): &(String, String)| format!("<li>{}: <code>{}</code></li>\n", escaped(name), escaped(command));
    let items: String = commands.iter().map(item).collect();
    if items.is_empty() { items } else { format!("<h2>Commands</h2>\n<ul class=\"notes\">\n{items}</ul>\n") }
}

/// A table of texts. `is_number` says of a column whether it is aligned to the right; a cell that begins with a verdict of
/// `verdicts` has its colour.
pub(crate) fn table(label: &str, heads: &[&str], rows: &[Vec<String>], is_number: impl Fn(usize) -> bool) -> String {
    let class = |column: usize| if is_number(column) { " class=\"n\"" } else { "" };
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table aria-label=\"{0}\"><thead><tr>",
        escaped(label)
    );
    for (column, head) in heads.iter().enumerate() {
        // An empty head is no head to a screen reader.
        let tag = if head.is_empty() { "td" } else { "th" };
        let _ = write!(out, "<{tag}{}>{}</{tag}>", class(column), escaped(head));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let _ = match column {
                VERDICT if heads[VERDICT] == "verdict" => write!(out, "<td>{}</td>", verdict(cell)),
                _ => write!(out, "<td{}>{}</td>", class(column), escaped(cell)),
            };
        }
        out.push_str("</tr>\n");
    }
    out + "</tbody></table></div>\n"
}

/// Column of verdicts, in every table of a page that has them.
const VERDICT: usize = 1;

/// A verdict in its colour; what follows the word as it is.
fn verdict(text: &str) -> String {
    const WORDS: [&str; 18] = [
        "ok",
        "too-few-samples",
        "disturbed",
        "not-stationary",
        "rate-missed",
        "delayed-ack",
        "throttled",
        "client-limited",
        "errors",
        "different",
        "no difference",
        "cannot tell",
        "imprecise",
        "requests failed",
        "holds",
        "breaks",
        "generator-limited",
        "unclear",
    ];
    match WORDS.into_iter().find(|word| text.starts_with(word)) {
        None => escaped(text),
        Some(word) => {
            format!("<b class=\"v-{}\">{word}</b>{}", word.replace(' ', "-"), escaped(&text[word.len()..]))
        }
    }
}

/// Target colours as CSS variables for a light background; the style sheet may override them for a dark one.
fn colours() -> String {
    let each = COLOURS.iter().enumerate().map(|(n, c)| format!("--t{n}:#{:02x}{:02x}{:02x};", c.0, c.1, c.2));
    let marks = (0..COLOURS.len()).map(|n| format!(".c{n} {{ fill: var(--t{n}) }}\n"));
    format!(":root {{ {} }}\n{}", each.collect::<String>(), marks.collect::<String>())
}
