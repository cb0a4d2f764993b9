//! Parts shared by the page's sections: verdicts, target markers and colours.

use crate::report::Row;
use crate::report::charts::{COLOURS, SHAPES};

/// Word for a trial without a result, used beside those of [`brunt_results::verdict::Kind`].
pub const FAILED: &str = "failed";

/// A verdict in its colour, preceded by the number of trials unless all `of` them have it.
pub fn chip(verdict: &str, count: usize, of: usize) -> String {
    let number = if count == of { String::new() } else { format!("{count} ") };
    format!("<b class=v-{verdict}>{number}{verdict}</b>")
}

pub fn verdicts(row: &Row) -> String {
    let all = row.done + row.failures.len();
    let mut out: String = row.verdicts.iter().map(|(kind, count)| chip(kind.word(), *count, all)).collect();
    if !row.failures.is_empty() {
        out.push_str(&chip(FAILED, row.failures.len(), all));
    }
    out
}

/// The marker of a target, a reference to one of [`shapes`].
pub fn marker(target: usize) -> String {
    let (shape, colour) = (target % SHAPES.len(), target % COLOURS.len());
    format!("<svg class=\"c{colour}\" aria-hidden=true><use href=#m{shape} /></svg>")
}

pub fn shapes() -> String {
    let shape = |corners: &[(i32, i32)]| match corners {
        [] => "<circle r=\"10\"/>".to_owned(),
        corners => {
            let points: Vec<String> = corners.iter().map(|(x, y)| format!("{x},{y}")).collect();
            format!("<polygon points=\"{}\"/>", points.join(" "))
        }
    };
    let symbol = |(number, corners): (usize, &&[(i32, i32)])| {
        format!("<symbol id=\"m{number}\" viewBox=\"-14 -14 28 28\">{}</symbol>", shape(corners))
    };
    let symbols: String = SHAPES.iter().enumerate().map(symbol).collect();
    format!("<svg width=\"0\" height=\"0\" style=\"position:absolute\">{symbols}</svg>\n")
}

/// Target colours as CSS variables for a light background; the style sheet may override them for a dark one.
pub fn colours() -> String {
    let each = COLOURS.iter().enumerate().map(|(n, c)| format!("--t{n}:#{:02x}{:02x}{:02x};", c.0, c.1, c.2));
    let marks = (0..COLOURS.len()).map(|n| format!(".c{n} {{ fill: var(--t{n}) }}\n"));
    format!(":root {{ {} }}\n{}", each.collect::<String>(), marks.collect::<String>())
}
