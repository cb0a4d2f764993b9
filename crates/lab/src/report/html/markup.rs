//! The page's body: header, legend, cards, tables, notes.

use super::document::{self, commands, header, list};
use super::{FAILED, data::PageData, ratios::comparison, views::View};
use crate::format::{escaped, plural};
use crate::report::charts::{self, Bar, Bars, Body, COLOURS, Chart, Lines, SHAPES};
use crate::report::tables::columns::{Column, columns};
use crate::report::tables::{RenderedTable, Selection, by_agent, by_name, selections};
use crate::report::{Report, Row, Run, answers::first_lines, notes};
use crate::run_directory::CHARTS_FOLDER;

use brunt_results::verdict::Kind;
use std::{collections::BTreeMap, fmt::Write, io};

/// The contents of `main`. SVG charts are added while the body stays below `room` bytes.
pub fn body(
    report: &Report,
    runs: &[Run],
    charts: &[Chart],
    views: &[View],
    data: &PageData,
    room: usize,
) -> io::Result<String> {
    let experiment = &report.experiment;
    let common = notes::common(report);
    let lines = [("lead", experiment.description.as_str()), ("faint", &common)];
    let mut out = format!("<header>\n{}", header(&experiment.name, &first_lines(report), &lines));
    out.push_str(&tally(report));
    out.push_str("</header>\n");
    if report.rows.is_empty() {
        out.push_str("<p>No trial was run.</p>\n");
    } else {
        out.push_str(&legend(data));
        out.push_str(&comparison(charts, &report.comparisons));
        let _ = writeln!(out, "<section class=\"grid\">\n{}</section>", cards(charts, views)?);
        out.push_str(&loads(data));
        out.push_str(&tables(report, &data.targets));
        by_name(report).chain(by_agent(report)).for_each(|table| out.push_str(&rendered(&table)));
    }
    out.push_str(&commands(&started(runs)));
    out.push_str("<h2>How to read it, and where it was measured</h2>\n");
    if let [run] = runs {
        out.push_str(&list(&notes::concerns(run.report)));
    }
    out.push_str(&list(&notes::legend(report, true)));
    for run in runs {
        if runs.len() > 1 {
            let _ = writeln!(out, "<h3>{}</h3>", escaped(&run.name));
            out.push_str(&list(&notes::concerns(run.report)));
        }
        out.push_str(&list(&notes::circumstances(run.report)));
    }
    let room = room.saturating_sub(out.len());
    out.push_str(&still(charts, room)?);
    out.push_str("<footer>Hover over a point for its interval, verdict and machine; click it for its trials. Drag across a plot to zoom in, double-click to zoom out. With the keyboard: Tab to a plot, arrow keys from point to point, Enter for the trials, + and - to zoom, 0 for all of it. Hollow markers: most trials have a verdict other than ok.</footer>");
    Ok(out)
}

/// How each target was started, and the commands that measured.
fn started(runs: &[Run]) -> Vec<(String, String)> {
    let mut commands = Vec::new();
    for run in runs {
        let experiment = &run.report.experiment;
        let name = |name: &str| if run.name.is_empty() { name.to_owned() } else { format!("{}: {name}", run.name) };
        for target in charts::targets(run.report) {
            let command = run.store.command(experiment, &target);
            commands.extend(command.map(|words| (name(&target), words.join(" "))));
        }
        if !experiment.command.is_empty() {
            commands.push((name("measured by"), experiment.command.join(" ")));
        }
    }
    commands
}

fn tally(report: &Report) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &report.rows {
        for (kind, count) in &row.verdicts {
            *kinds.entry(kind.word()).or_default() += count;
        }
        if !row.failures.is_empty() {
            *kinds.entry(FAILED).or_default() += row.failures.len();
        }
    }
    let done: usize = kinds.values().sum();
    let mut kinds: Vec<(&str, usize)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(kind, count)| (*kind != "ok", std::cmp::Reverse(*count)));
    let strip: String = kinds
        .iter()
        .map(|(kind, count)| {
            format!("<span class=\"v-{kind}\" style=\"flex:{count}\" title=\"{count} {kind}\"></span>")
        })
        .collect();
    let words: String = kinds.iter().map(|(kind, count)| chip(kind, *count, usize::MAX)).collect();
    let rest = if report.not_run > 0 { format!(" of {}", done + report.not_run) } else { String::new() };
    format!(
        "<div class=\"tally\"><div class=\"strip\">{strip}</div>{words} <span class=\"faint\">&nbsp; {}{rest}</span></div>\n",
        plural(done, "trial")
    )
}

fn legend(data: &PageData) -> String {
    let each = data.targets.iter().enumerate().map(|(number, name)| {
        format!("<button data-target=\"{number}\" aria-pressed=\"true\">{}{}</button>\n", marker(number), escaped(name))
    });
    format!("{}<nav id=\"targets\" aria-label=\"targets\">\n{}</nav>\n", shapes(), each.collect::<String>())
}

fn cards(charts: &[Chart], views: &[View]) -> io::Result<String> {
    let mut out = String::new();
    for (number, chart) in charts.iter().enumerate() {
        if let Body::Bars(body) = &chart.body {
            out.push_str(&bar_card(chart, body));
        }
        if let Body::Published(_) | Body::Heat(_) | Body::Knee(_) | Body::Timeline(_) = &chart.body {
            let _ = writeln!(out, "<figure class=\"whole still\">{}</figure>", compact(&chart.svg()?));
        }
        let is_doubted = |lines: &Lines| lines.points().any(|point| point.y.is_some() && !point.is_trusted);
        let key = match &chart.body {
            Body::Lines(lines) if is_doubted(lines) => {
                "<p class=\"key\">hollow: most trials have a verdict other than ok</p>"
            }
            _ => "",
        };
        for (place, view) in views.iter().enumerate().filter(|(_, view)| view.chart == number) {
            let _ = writeln!(
                out,
                "<figure class=\"card needs-script\" data-view=\"{place}\"><figcaption><b>{}</b><span>{}</span></figcaption><div class=\"plot\"></div>{key}</figure>",
                escaped(&view.title),
                escaped(&view.subtitle)
            );
        }
    }
    Ok(out)
}

/// Distribution and time series of a selectable load; empty without such data.
fn loads(data: &PageData) -> String {
    let has_detail = |load: &usize| data.rows.iter().any(|row| row.load == *load && row.has_detail());
    let loads: Vec<usize> = (0..data.shared.loads.len()).filter(has_detail).collect();
    if loads.is_empty() {
        return String::new();
    }
    let name =
        |load: &usize| if data.shared.loads[*load].is_empty() { "the one load" } else { &data.shared.loads[*load] };
    let options: String =
        loads.iter().map(|load| format!("<option value=\"{load}\">{}</option>", escaped(name(load)))).collect();
    let card = |name: &str, title: &str, subtitle: &str| {
        format!(
            "<figure class=\"card\" data-detail=\"{name}\"><figcaption><b>{title}</b><span>{subtitle}</span></figcaption><div class=\"plot\"></div></figure>\n"
        )
    };
    let of_one = "of the repeat with the median throughput";
    format!(
        "<section class=\"needs-script\">\n<h2>Under one load</h2>\n<div class=\"picker\"><label for=\"load\">load</label><select id=\"load\" autocomplete=\"off\">{options}</select></div>\n<div class=\"grid\" id=\"heats\">\n{}{}{}{}</div>\n</section>\n",
        card("spectrum", "Latency spectrum", "response time, all repeats added up, log scale"),
        card("rate", "Throughput over time", of_one),
        card("p99", "Response p99 of each second", of_one),
        card("cpu", "Server CPU over time", of_one),
    )
}

fn still(charts: &[Chart], room: usize) -> io::Result<String> {
    let mut out = String::new();
    let mut left_out = 0;
    for chart in charts.iter().filter(|chart| matches!(chart.body, Body::Lines(_))) {
        let svg = compact(&chart.svg()?);
        if out.len() + svg.len() <= room {
            out.push_str(&svg);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        let _ =
            write!(out, "<p>{} more: see the folder {CHARTS_FOLDER} beside report.md.</p>", plural(left_out, "chart"));
    }
    Ok(if out.is_empty() {
        out
    } else {
        format!("<noscript><h2>Charts</h2><div class=\"still\">{out}</div></noscript>\n")
    })
}

/// Removes attributes that are set in the style sheet or are defaults: a third of the bytes.
fn compact(svg: &str) -> String {
    const REDUNDANT: [&str; 7] = [
        " xmlns=\"http://www.w3.org/2000/svg\"",
        " font-family=\"Helvetica, Arial, sans-serif\"",
        " font-size=\"12\"",
        " text-anchor=\"start\"",
        " opacity=\"1\"",
        " stroke=\"none\"",
        " stroke-width=\"1\"",
    ];
    REDUNDANT.iter().fold(svg.to_owned(), |svg, attribute| svg.replace(attribute, ""))
}

/// The report's tables, without the optional end tags: they are most of a page.
fn tables(report: &Report, targets: &[String]) -> String {
    let mut out = String::new();
    for (number, part) in selections(report).iter().filter(|table| !table.rows.is_empty()).enumerate() {
        let title = if part.title.is_empty() { "Every cell" } else { &part.title };
        let _ = writeln!(out, "<h2>{}</h2>", escaped(title));
        if number == 0 {
            out.push_str("<label class=\"switch\"><input type=\"checkbox\" id=\"every\" autocomplete=\"off\">every figure</label>\n");
        }
        let columns = verdict_second(columns(&part.rows, part.over));
        out.push_str(&hiding(number, &columns));
        table(&mut out, report, part, (number, title), &columns, targets);
    }
    out
}

fn rendered(of: &RenderedTable) -> String {
    let heads: Vec<&str> = of.columns.iter().map(|column| column.header[1].as_str()).collect();
    let row = |place: usize| of.columns.iter().map(|column| column.cells[place].clone()).collect();
    let rows: Vec<Vec<String>> = (0..of.groups.len()).map(row).collect();
    format!(
        "<h2>{}</h2>\n{}",
        escaped(&of.title),
        document::table(&of.title, &heads, &rows, |column| of.columns[column].right)
    )
}

/// Target and verdict before the settings.
fn verdict_second(mut columns: Vec<Column>) -> Vec<Column> {
    let is_target = |column: &Column| column.header[1] == "target";
    columns.sort_by_key(|column| (!is_target(column), !column.is_verdict()));
    columns
}

/// Hides the columns that the default table lacks until the switch is on.
fn hiding(table: usize, columns: &[Column]) -> String {
    let extra = columns.iter().enumerate().filter(|(_, column)| !column.is_default);
    let places: Vec<String> = extra.map(|(index, _)| format!(":nth-child({})", index + 1)).collect();
    if places.is_empty() {
        return String::new();
    }
    let places = places.join(",");
    format!("<style>main:not(:has(#every:checked)) #cells{table} :is(th,td):is({places}){{display:none}}</style>\n")
}

fn table(
    out: &mut String,
    report: &Report,
    part: &Selection,
    (number, title): (usize, &str),
    columns: &[Column],
    targets: &[String],
) {
    let label = escaped(title);
    let _ = write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\"><table class=\"cells\" id=\"cells{number}\" aria-label=\"{label}\"><thead><tr>"
    );
    for column in columns {
        let name = column.header.join("\n");
        let class = if column.right { " class=\"n\"" } else { "" };
        let _ = write!(out, "<th{class}><button>{}</button></th>", escaped(name.trim()));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (index, row) in part.rows.iter().enumerate() {
        let is_first = index > 0 && part.groups[index] != part.groups[index - 1];
        let number = report.index_of(row);
        let _ = write!(out, "<tr{} data-row={number}>", if is_first { " class=first" } else { "" });
        for column in columns {
            let cell = &column.cells[index];
            let _ = match column.header[1].as_str() {
                _ if column.is_verdict() => write!(out, "<td class=w>{}", verdicts(row)),
                "target" => {
                    let target = targets.iter().position(|name| name == cell).unwrap_or(0);
                    write!(out, "<td class=t>{}{}", marker(target), escaped(cell))
                }
                _ => write!(out, "<td>{}", escaped(cell)),
            };
        }
        out.push('\n');
    }
    out.push_str("</tbody></table></div>\n");
}

/// A verdict in its colour, preceded by the number of trials unless all `of` them have it.
fn chip(verdict: &str, count: usize, of: usize) -> String {
    let number = if count == of { String::new() } else { format!("{count} ") };
    format!("<b class=v-{verdict}>{number}{verdict}</b>")
}

/// The verdict on the comparison, if there is one, and on the figures themselves where it is not `ok`.
fn verdicts(row: &Row) -> String {
    let all = row.done + row.failures.len();
    let compared = row.compared.as_ref();
    let mut out = compared.map_or(String::new(), |compared| {
        let word = compared.verdict();
        format!("<b class=v-{}>{word}</b>", word.replace(' ', "-"))
    });
    let shown = row.verdicts.iter().filter(|(kind, _)| compared.is_none() || **kind != Kind::Ok);
    out.extend(shown.map(|(kind, count)| chip(kind.word(), *count, all)));
    if !row.failures.is_empty() {
        out.push_str(&chip(FAILED, row.failures.len(), all));
    }
    out
}

/// The marker of a target, a reference to one of [`shapes`].
fn marker(target: usize) -> String {
    let (shape, colour) = (target % SHAPES.len(), target % COLOURS.len());
    format!("<svg class=\"c{colour}\" aria-hidden=true><use href=#m{shape} /></svg>")
}

fn shapes() -> String {
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

/// A bar chart in HTML and CSS; positions are percent of a track.
fn bar_card(chart: &Chart, bars: &Bars) -> String {
    let scale = bars.scale();
    let figure = bars.metric.0.key;
    let axis = if scale.is_log { "; log scale" } else { "" };
    let mut out = format!(
        "<figure class=\"card bars\" data-figure=\"{figure}\"><figcaption><b>{}</b><span>{}{axis}</span></figcaption>\n",
        escaped(&chart.title),
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
                "<div class=\"bar\" data-row=\"{row}\" data-target=\"{number}\" style=\"--mark:var(--t{colour})\"><span>{name}</span> <span class=\"track\">{body}</span></div>",
                number = bar.number,
                colour = bar.number % COLOURS.len(),
                name = escaped(&bar.name),
                body = track(bar, place),
            );
        }
    }
    if bars.bars().any(|bar| bar.value.is_some() && !bar.is_trusted) {
        out.push_str(
            "<p class=\"key\"><i class=\"doubtful\"></i> hatched: most trials have a verdict other than ok</p>\n",
        );
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
