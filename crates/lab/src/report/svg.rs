//! Charts as SVG files: a white background of their own (GitHub shows them in dark mode too), title, load and machine.
//!
//! Text widths are estimated, because the fonts are those of the viewer. The same rows give the same bytes.

mod bars;
mod cost;
mod heat;
mod knee;
mod lines;
mod plot;
mod ratios;
mod timeline;

use super::charts::{Body, COLOURS, Chart, SHAPES};
use crate::format::escaped;
use crate::run_directory::CHART_MARK;
use plotters::coord::Shift;
use plotters::prelude::{
    Circle, Color, DrawingArea, DrawingAreaErrorKind, FontStyle, IntoDrawingArea, PathElement, Polygon, RGBColor,
    Rectangle, SVGBackend, TextStyle,
};
use plotters::style::IntoFont;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::io;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<io::Error>>;

/// About the width of a column of text on GitHub.
const WIDTH: i32 = 860;
const MARGIN: i32 = 20;

const FOOT: i32 = 34;
const BACKGROUND: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);
const INK: RGBColor = RGBColor(0x1F, 0x23, 0x28);
const FAINT_INK: RGBColor = RGBColor(0x59, 0x63, 0x6E);
const GRID: RGBColor = RGBColor(0xE3, 0xE7, 0xEB);
const LINE: RGBColor = RGBColor(0x8C, 0x95, 0x9F);

#[derive(Debug, Clone, Copy)]
struct Type {
    size: i32,
    bold: bool,
    colour: RGBColor,
}

const TITLE: Type = Type { size: 18, bold: true, colour: INK };
const SUBTITLE: Type = Type { size: 12, bold: false, colour: FAINT_INK };
const SMALL: Type = Type { size: 10, bold: false, colour: FAINT_INK };
/// Target names and values.
const LABEL: Type = Type { size: 12, bold: false, colour: INK };
/// Tick labels and remarks.
const FAINT: Type = Type { size: 12, bold: false, colour: FAINT_INK };
const HEADING: Type = Type { size: 13, bold: true, colour: INK };

impl Type {
    /// Width in pixels, estimated generously.
    fn width(self, text: &str) -> i32 {
        text.chars().map(|c| self.advance(c)).sum::<f64>().ceil() as i32
    }

    fn advance(self, c: char) -> f64 {
        let of_size = match c {
            'i' | 'j' | 'l' | 't' | 'f' | 'r' | ' ' | '.' | ',' | ':' | ';' | '-' | '(' | ')' | '\'' => 0.38,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
            c if c.is_ascii_uppercase() => 0.72,
            c if c.is_ascii() => 0.61,
            _ => 1.0,
        };
        of_size * f64::from(self.size) * if self.bold { 1.08 } else { 1.0 }
    }

    /// Plotters divides font sizes by 1.24 when it writes SVG.
    fn style(self) -> TextStyle<'static> {
        let style = if self.bold { FontStyle::Bold } else { FontStyle::Normal };
        let size = f64::from(self.size) * 1.24;
        let font = ("Helvetica, Arial, sans-serif", size, style).into_font();
        TextStyle { color: self.colour.to_backend_color(), ..font.into() }
    }

    fn cut(self, text: &str, width: i32) -> String {
        const END: &str = "...";
        let text = printable(text);
        if self.width(&text) <= width {
            return text;
        }
        let mut left = f64::from(width - self.width(END));
        let fits = |c: &char| {
            left -= self.advance(*c);
            left >= 0.0
        };
        let beginning: String = text.chars().take_while(fits).collect();
        format!("{}{END}", beginning.trim_end())
    }
}

/// Draws one line of text, vertically centred on `place`.
fn text(area: &Area, place: (i32, i32), text: &str, kind: Type, side: HPos) -> Drawn {
    area.draw_text(&printable(text), &kind.style().pos(Pos::new(side, VPos::Center)), place)
}

fn line(area: &Area, from: (i32, i32), to: (i32, i32), colour: RGBColor, width: u32) -> Drawn {
    area.draw(&PathElement::new(vec![from, to], colour.stroke_width(width)))
}

impl Chart {
    pub fn svg(&self) -> io::Result<String> {
        let titles = Titles {
            title: &self.title,
            subtitle: &self.subtitle,
            footer: &self.footer,
            description: self.body.description(),
        };
        match &self.body {
            Body::Lines(lines) | Body::Published(lines) => {
                frame(&titles, lines::height(lines), |area, top| lines::draw(lines, area, top))
            }
            Body::Ratios(of) => frame(&titles, ratios::height(of), |area, top| ratios::draw(of, area, top)),
            Body::Knee(of) => frame(&titles, knee::height(), |area, top| knee::draw(of, area, top)),
            Body::Heat(heat) => frame(&titles, heat::height(heat), |area, top| heat::draw(heat, area, top)),
            Body::Timeline(of) => frame(&titles, timeline::height(), |area, top| timeline::draw(of, area, top)),
            Body::Bars(bars) => frame(&titles, bars::height(bars), |area, top| bars::draw(bars, area, top)),
        }
    }
}

/// The texts around a chart.
struct Titles<'a> {
    title: &'a str,
    subtitle: &'a str,
    footer: &'a str,
    /// Text alternative.
    description: String,
}

/// Draws titles and footer around a body of that height. The body is passed the area and its own top.
fn frame(chart: &Titles, body_height: i32, body: impl FnOnce(&Area, i32) -> Drawn) -> io::Result<String> {
    let (titles, subtitles) = (wrapped(chart.title, TITLE), wrapped(chart.subtitle, SUBTITLE));
    let head = 16 + 24 * titles.len() as i32 + 17 * subtitles.len() as i32 + 8;
    let height = head + body_height + FOOT;
    let mut out = String::new();
    let drawn = (|| {
        let area = SVGBackend::with_string(&mut out, (WIDTH as u32, height as u32)).into_drawing_area();
        area.draw(&Rectangle::new([(0, 0), (WIDTH, height)], BACKGROUND.filled()))?;
        let mut y = 27;
        for title in &titles {
            text(&area, (MARGIN, y), title, TITLE, HPos::Left)?;
            y += 24;
        }
        y -= 2;
        for subtitle in &subtitles {
            text(&area, (MARGIN, y), subtitle, SUBTITLE, HPos::Left)?;
            y += 17;
        }
        body(&area, head)?;
        text(&area, (MARGIN, height - 14), &SMALL.cut(chart.footer, WIDTH - 2 * MARGIN), SMALL, HPos::Left)?;
        area.present()
    })();
    drawn.map_err(|e| io::Error::other(format!("the chart '{}' cannot be drawn: {e}", chart.title)))?;
    // Screen readers look for title and description right after the opening tag.
    let at = out.find(">\n").map_or(out.len(), |at| at + 2);
    let [title, words] = [chart.title, &chart.description].map(|text| escaped(&printable(text)));
    out.insert_str(at, &format!("<title>{title}</title>\n{CHART_MARK}. {words}</desc>\n"));
    Ok(out.replacen("<svg", "<svg role=\"img\"", 1))
}

/// Wraps a text to at most two lines.
fn wrapped(text: &str, kind: Type) -> Vec<String> {
    let room = WIDTH - 2 * MARGIN;
    let text = printable(text);
    if text.is_empty() {
        return Vec::new();
    }
    let mut first = String::new();
    for word in text.split_inclusive(' ') {
        if kind.width(&first) + kind.width(word.trim_end()) > room {
            break;
        }
        first.push_str(word);
    }
    let rest = text[first.len()..].trim();
    let lines = [first.trim().to_owned(), kind.cut(rest, room)];
    lines.into_iter().filter(|line| !line.is_empty()).collect()
}

/// Replaces line breaks and characters that XML 1.0, section 2.2, forbids by spaces.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') { ' ' } else { c }).collect()
}

const RADIUS: i32 = 4;

fn colour(number: usize) -> RGBColor {
    let (red, green, blue) = COLOURS[number % COLOURS.len()];
    RGBColor(red, green, blue)
}

/// Draws the marker of a target; a hollow one marks an untrusted figure.
fn marker(area: &Area, number: usize, (x, y): (i32, i32), radius: i32, is_hollow: bool) -> Drawn {
    let colour = colour(number);
    // Rounded away from the centre to keep markers symmetric.
    let scaled = |tenths: &i32| (f64::from(tenths * radius) / 10.0).round() as i32;
    let corners = SHAPES[number % SHAPES.len()].iter().map(|(dx, dy)| (x + scaled(dx), y + scaled(dy)));
    let corners: Vec<(i32, i32)> = corners.collect();
    let ground = if is_hollow { RGBColor(255, 255, 255) } else { colour };
    for (style, fill) in [(ground.filled(), true), (colour.stroke_width(2), false)] {
        match corners.as_slice() {
            _ if !fill && !is_hollow => {}
            [] => area.draw(&Circle::new((x, y), radius, style))?,
            &[low, _, high, _] if low.0 < high.0 && low.1 < high.1 && low.0 - x == low.1 - y => {
                area.draw(&Rectangle::new([low, high], style))?;
            }
            _ if fill => area.draw(&Polygon::new(corners.clone(), ground))?,
            _ => area.draw(&PathElement::new([&corners[..], &corners[..1]].concat(), style))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_wrapped_to_two_lines() {
        let one = wrapped("short", TITLE);
        assert_eq!(one, ["short"]);
        let many = wrapped(&"many words ".repeat(100), TITLE);
        assert!(many.len() == 2 && many[1].ends_with("..."), "{many:?}");
        assert!(many.iter().all(|line| TITLE.width(line) <= WIDTH - 2 * MARGIN));
        let unbroken = wrapped(&"x".repeat(500), TITLE);
        assert!(unbroken.len() == 1 && TITLE.width(&unbroken[0]) <= WIDTH, "{unbroken:?}");
        assert_eq!(wrapped("", TITLE), Vec::<String>::new());
    }

    #[test]
    fn characters_xml_forbids_are_replaced() {
        assert_eq!(printable("a<b>&\u{1}\u{FFFF}\n"), "a<b>&   ");
    }
}
