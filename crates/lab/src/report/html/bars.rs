//! Bar charts in HTML and CSS; positions are percent of a track.

use crate::format::escaped;
use crate::report::charts::{Bar, Bars, COLOURS, Chart, Metric};
use std::fmt::Write;

pub fn card(chart: &Chart, bars: &Bars) -> String {
    let scale = bars.scale();
    let figure = match bars.metric {
        Metric::Throughput => "rate",
        Metric::Response => "p99",
        Metric::Cpu => "cpu",
        Metric::Cost => "cost",
    };
    let axis = if scale.is_log() { "; log scale" } else { "" };
    let mut out = format!(
        "<figure class=\"card bars\" data-figure=\"{figure}\"><figcaption><b>{}</b><span>{}{axis}</span></figcaption>\n",
        escaped(chart.title()),
        escaped(&chart.load),
    );
    // Bars are in the order of the chart's rows.
    let mut rows = chart.rows.iter();
    for group in &bars.groups {
        if !group.heading.is_empty() {
            let _ = writeln!(out, "<h4>{}</h4>", escaped(&group.heading));
        }
        for bar in &group.bars {
            let place = |value: f64| scale.place(value) * 100.0;
            let row = rows.next().copied().unwrap_or(0);
            let _ = writeln!(
                out,
                "<div class=\"bar\" data-row=\"{row}\" data-target=\"{number}\" style=\"--mark:var(--t{colour})\"><span>{name}</span><span class=\"track\">{body}</span></div>",
                number = bar.number,
                colour = bar.number % COLOURS.len(),
                name = escaped(&bar.name),
                body = track(bar, place),
            );
        }
    }
    out + "</figure>\n"
}

fn track(bar: &Bar, place: impl Fn(f64) -> f64) -> String {
    let mut out = String::new();
    let mut end = 0.0;
    if let Some(value) = bar.value {
        // A logarithmic scale has no zero: only bars between two figures use one.
        let (from, spans) = bar.from.map_or((0.0, ""), |from| (place(from), "spans "));
        end = place(value);
        let doubtful = if bar.is_trusted { "" } else { "doubtful" };
        let _ = write!(out, "<i class=\"{spans}{doubtful}\" style=\"left:{from:.1}%;width:{:.1}%\"></i>", end - from);
    }
    if let Some((low, high)) = bar.range {
        let (low, high) = (place(low), place(high));
        let _ = write!(out, "<u style=\"left:{low:.1}%;width:{:.1}%\"></u>", high - low);
        end = end.max(high);
    }
    // The verdict in parentheses is in the tooltip.
    let label = bar.label.split(" (").next().unwrap_or_default();
    let _ = write!(out, "<em style=\"left:{end:.1}%\">{}</em>", escaped(label));
    out
}
