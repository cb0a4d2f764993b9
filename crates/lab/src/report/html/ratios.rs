//! The comparison of a sliced experiment: ratios to the baseline with their intervals, and a place for the plot of their rounds.

use crate::format::escaped;
use crate::report::charts::{Body, COLOURS, Chart, RatioMark, Ratios};
use brunt_slices::LoadComparison;
use std::fmt::Write;

/// The section; empty without slices.
pub fn comparison(charts: &[Chart], comparisons: &[LoadComparison]) -> String {
    if comparisons.is_empty() {
        return String::new();
    }
    let mut out = "<section class=\"comparison\">\n".to_owned();
    for chart in charts {
        if let Body::Ratios(ratios) = &chart.body {
            out.push_str(&ratio_card(&chart.title, &chart.load, ratios));
        }
    }
    out + "<figure class=\"card needs-script\" id=\"rounds\"><figcaption><b>Ratio by round</b>\
           <span>in the order of time; band: the margin; dashed: a new start of the targets</span></figcaption>\
           <div class=\"picker\"><label for=\"rounds-load\">load</label><select id=\"rounds-load\" autocomplete=\"off\"></select>\
           <label for=\"rounds-figure\">figure</label><select id=\"rounds-figure\" autocomplete=\"off\"></select></div>\
           <div class=\"plot\"></div></figure>\n</section>\n"
}

/// A chart of ratios as a card.
pub fn ratio_card(title: &str, subtitle: &str, ratios: &Ratios) -> String {
    let count = ratios.groups.iter().map(|group| group.figures.len()).max().unwrap_or(1);
    let mut out = format!(
        "<figure class=\"card ratios\" style=\"--panels:{count}\"><figcaption><b>{}</b><span>{}; log scale</span></figcaption>\n",
        escaped(title),
        escaped(subtitle)
    );
    for group in &ratios.groups {
        if !group.heading.is_empty() {
            let _ = writeln!(out, "<h4>{}</h4>", escaped(&group.heading));
        }
        let figures: String = group.figures.iter().map(|figure| format!("<span>{}</span>", escaped(figure))).collect();
        let _ = writeln!(out, "<div class=\"ratio names\"><span></span>{figures}</div>");
        for row in &group.rows {
            let tracks: String = row.marks.iter().map(|mark| track(mark.as_ref(), ratios)).collect();
            let _ = writeln!(
                out,
                "<div class=\"bar ratio\" data-target=\"{}\" style=\"--mark:var(--t{})\"><span>{}</span>{tracks}</div>",
                row.number,
                row.number % COLOURS.len(),
                escaped(&row.name),
            );
        }
    }
    let tick = |(ratio, label): (f64, String)| {
        format!("<em style=\"left:{:.1}%\">{label}</em>", ratios.scale.place(ratio) * 100.0)
    };
    let ticks: String = ratios.scale.ticks().into_iter().map(tick).collect();
    let axis = format!("<span class=\"scale\">{ticks}</span>").repeat(count);
    let _ = writeln!(out, "<div class=\"ratio axis\"><span></span>{axis}</div>");
    out + "</figure>\n"
}

/// The margin as a band, a line at 1, the interval, the ratio; positions are percent of the track.
fn track(mark: Option<&RatioMark>, ratios: &Ratios) -> String {
    let place = |ratio: f64| ratios.scale.place(ratio) * 100.0;
    let (from, to) = (place(1.0 / (1.0 + ratios.margin)), place(1.0 + ratios.margin));
    let mut out = format!(
        "<span class=\"span\"><i class=\"band\" style=\"left:{from:.1}%;width:{:.1}%\"></i><i class=\"one\" style=\"left:{:.1}%\"></i>",
        to - from,
        place(1.0)
    );
    if let Some(mark) = mark {
        let (low, high) = (place(mark.low), place(mark.high));
        let hollow = if mark.is_answered { "" } else { " class=hollow" };
        let _ = write!(
            out,
            "<u style=\"left:{low:.1}%;width:{:.1}%\"></u><b{hollow} style=\"left:{:.1}%\"></b><em>{}</em>",
            high - low,
            place(mark.ratio),
            escaped(&mark.label)
        );
    }
    out + "</span>"
}
