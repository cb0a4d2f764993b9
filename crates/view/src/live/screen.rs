//! Draws the model: verdict, rate and response time over the load, figures, keys. Readable from 80x24 on; a smaller screen
//! has the upper rows. Marks and words carry every difference that a colour shows.

use super::model::{Model, Phase};
use super::plot::{Curve, GUTTER, Piece, Plot, Scale};
use super::points::Point;
use super::rows;
use crate::format::{amount, time};
use brunt_results::verdict::Kind;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Wrap};

/// Shortest time that the plots of a running load span.
const LEAST_SPAN_S: f64 = 5.0;
/// Lines of the issues of a verdict.
const LEAST_ISSUES: u16 = 3;
const MOST_ISSUES: u16 = 8;
/// Height from which more issues are shown.
const TALL: u16 = 30;

/// How a screen is drawn, besides the model.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Look {
    pub colours: bool,
    pub help: bool,
    /// Screens that were kept with s.
    pub kept: usize,
    /// What q does.
    pub quit: &'static str,
}

impl Look {
    fn colour(self, colour: Color) -> Style {
        if self.colours { Style::default().fg(colour) } else { Style::default() }
    }

    fn verdict(self, model: &Model) -> Style {
        let kind = model.verdict().map(|verdict| verdict.kind);
        let style = match kind {
            None => return Style::default(),
            Some(Kind::Ok) => self.colour(Color::Green),
            Some(Kind::Errors | Kind::AgentLost) => self.colour(Color::Red),
            Some(_) => self.colour(Color::Yellow),
        };
        style.add_modifier(Modifier::BOLD)
    }
}

pub(super) fn draw(frame: &mut Frame, model: &Model, look: Look) {
    let area = frame.area();
    let issues = if area.height >= TALL { (area.height / 5).min(MOST_ISSUES) } else { LEAST_ISSUES };
    let rows = rows::rows(model);
    let [title, verdict, why, rate, times, axis, figures, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(issues),
        Constraint::Fill(4),
        Constraint::Fill(6),
        Constraint::Length(1),
        Constraint::Length(rows.len() as u16 + 1),
        Constraint::Length(1),
    ])
    .areas(area);
    self::title(frame, title, model);
    self::verdict(frame, [verdict, why], model, look);
    let span_s = span_s(model);
    frame.render_widget(Paragraph::new(axis_text(axis.width, span_s)), axis);
    let offered = if model.window.is_offered() { "- offered  " } else { "" };
    plot(frame, rate, &format!("requests/s: {offered}o answered "), &rates(model, look, span_s));
    plot(frame, times, "response time: . p50  o p99  * p99.9 ", &self::times(model, look, span_s));
    let block = Block::new().borders(Borders::TOP).title(since(model) + " ");
    let text: Vec<String> = rows.iter().map(|(name, text)| format!("{name:<10} {text}")).collect();
    frame.render_widget(Paragraph::new(text.join("\n")).block(block), figures);
    let kept = if look.kept > 0 { format!("   {} kept", look.kept) } else { String::new() };
    frame.render_widget(Paragraph::new(format!("q {}   s keep this screen   ? help{kept}", look.quit)), keys);
    if look.help {
        help(frame, look);
    }
}

/// Where the load is stands at the right, and hides the end of a long URL.
fn title(frame: &mut Frame, area: Rect, model: &Model) {
    let bold = Style::default().add_modifier(Modifier::BOLD);
    frame.render_widget(Paragraph::new(rows::headline(model)).style(bold), area);
    let state = format!("  {}", rows::state(model));
    let width = (state.chars().count() as u16).min(area.width);
    let right = Rect { x: area.x + area.width - width, width, ..area };
    frame.render_widget(Clear, right);
    frame.render_widget(Paragraph::new(state).alignment(Alignment::Right), right);
}

fn verdict(frame: &mut Frame, [line, below]: [Rect; 2], model: &Model, look: Look) {
    let (word, issues) = rows::verdict(model);
    frame.render_widget(Paragraph::new(word).style(look.verdict(model)), line);
    let text: Vec<String> = issues.iter().flatten().map(|text| format!("  {text}")).collect();
    frame.render_widget(Paragraph::new(text.join("\n")).wrap(Wrap { trim: false }), below);
}

fn plot(frame: &mut Frame, area: Rect, title: &str, plot: &Plot) {
    let block = Block::new().borders(Borders::TOP).title(title.to_owned());
    frame.render_widget(plot, block.inner(area));
    frame.render_widget(block, area);
}

fn since(model: &Model) -> String {
    match model.phase() {
        Phase::Ended => "the whole window".to_owned(),
        _ => format!("since the window opened, {}", rows::clock(model.window.length_s())),
    }
}

/// Time at the right edge of the plots: the end of the load, or a little more than has passed.
fn span_s(model: &Model) -> f64 {
    let now = model.points.end_s();
    if model.is_ended() {
        return now;
    }
    model.end_s().unwrap_or(1.25 * now).max(now).max(LEAST_SPAN_S)
}

fn axis_text(width: u16, span_s: f64) -> String {
    let (gutter, room) = (usize::from(GUTTER), usize::from(width.saturating_sub(GUTTER)));
    let end = rows::clock(span_s);
    format!("{:gutter$}{:<half$}{end:>rest$}", "", "0:00", half = room / 2, rest = room - room / 2)
}

fn pieces(model: &Model, value: impl Fn(&Point) -> Option<f64>) -> Vec<Piece> {
    let piece = |point: &Point| Some((point.from_s, point.to_s, value(point).filter(|value| value.is_finite())?));
    model.points.all().iter().filter_map(piece).collect()
}

fn rates(model: &Model, look: Look, span_s: f64) -> Plot {
    let curve = |mark, colour, pieces| Curve { mark, style: look.colour(colour), pieces };
    let curves = vec![
        curve('-', Color::Blue, pieces(model, |point| point.per_second(point.offered))),
        curve('o', Color::Green, pieces(model, |point| point.per_second(point.completed))),
    ];
    Plot { curves, scale: Scale::Linear, span_s, label: amount }
}

fn times(model: &Model, look: Look, span_s: f64) -> Plot {
    let curve = |mark, colour, pieces| Curve { mark, style: look.colour(colour), pieces };
    let curves = vec![
        curve('.', Color::Green, pieces(model, |point| point.p50_us)),
        curve('*', Color::Red, pieces(model, |point| point.p999_us)),
        curve('o', Color::Yellow, pieces(model, |point| point.p99_us)),
    ];
    Plot { curves, scale: Scale::Log, span_s, label: time }
}

fn help(frame: &mut Frame, look: Look) {
    let text = format!(
        "q       {}\n\
         s       keep this screen; printed when the view closes\n\
         ?       this help, any key closes it\n\
         Ctrl-L  draw everything again\n\n\
         A column of a plot has the highest value of its time.\n\
         Of equal values the plots show o before * before . and -\n\
         Percentiles over time are of one second each, those in\n\
         the rows below of the whole window.",
        look.quit
    );
    let area = frame.area();
    let (width, height) = (62.min(area.width), 11.min(area.height));
    let middle = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    frame.render_widget(Clear, middle);
    frame.render_widget(Paragraph::new(text).block(Block::bordered().title("keys")), middle);
}

/// The screen as text, without the spaces at the ends of lines.
pub(super) fn text(buffer: &Buffer) -> String {
    let area = buffer.area;
    let row = |y| (area.left()..area.right()).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (area.top()..area.bottom()).map(|y| row(y).trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests;
