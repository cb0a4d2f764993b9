//! What all charts share: a light ground of their own, for GitHub shows them in its dark mode too, a title, what was
//! measured, and where in small type. Widths of text are estimated, for the fonts are the viewer's.

use crate::format::escaped;
use crate::run_directory::CHART_MARK;
use plotters::{
    coord::Shift,
    prelude::{
        Color, DrawingArea, DrawingAreaErrorKind, FontStyle, IntoDrawingArea, PathElement, RGBColor, Rectangle,
        SVGBackend, ShapeStyle, TextStyle,
    },
    style::{
        IntoFont,
        text_anchor::{HPos, Pos, VPos},
    },
};
use std::io;

/// Where a chart is drawn, in pixels.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Whether it could be.
pub type Drawn = Result<(), DrawingAreaErrorKind<io::Error>>;

/// Pixels; about what a column of text on GitHub has.
pub const WIDTH: i32 = 860;
/// Free at the left and at the right.
pub const MARGIN: i32 = 20;

const FOOT: i32 = 34;
const GROUND: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);
/// Text.
pub const INK: RGBColor = RGBColor(0x1F, 0x23, 0x28);
const FAINT_INK: RGBColor = RGBColor(0x59, 0x63, 0x6E);
/// Lines that guide the eye.
pub const GRID: RGBColor = RGBColor(0xE3, 0xE7, 0xEB);
/// Axes and other lines that are not data.
pub const LINE: RGBColor = RGBColor(0x8C, 0x95, 0x9F);

/// Titles and small type.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// What is shown.
    pub title: String,
    /// Under which load, how often, and how to read it.
    pub subtitle: String,
    /// On which machine.
    pub foot: String,
    /// What is seen, for those who do not see it.
    pub words: String,
}

/// A kind of type.
#[derive(Debug, Clone, Copy)]
pub struct Type {
    size: i32,
    bold: bool,
    colour: RGBColor,
}

const TITLE: Type = Type { size: 18, bold: true, colour: INK };
const SUBTITLE: Type = Type { size: 12, bold: false, colour: FAINT_INK };
const SMALL: Type = Type { size: 10, bold: false, colour: FAINT_INK };
/// Names of targets, values.
pub const LABEL: Type = Type { size: 12, bold: false, colour: INK };
/// Ticks, and remarks beside labels.
pub const FAINT: Type = Type { size: 12, bold: false, colour: FAINT_INK };
/// Headings within a chart.
pub const HEADING: Type = Type { size: 13, bold: true, colour: INK };

impl Type {
    /// Pixels that the text takes, rather too many than too few.
    pub fn width(self, text: &str) -> i32 {
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

    /// For plotters, which divides sizes by this factor on their way into the file.
    pub fn style(self) -> TextStyle<'static> {
        let style = if self.bold { FontStyle::Bold } else { FontStyle::Normal };
        let size = f64::from(self.size) * 1.24;
        let font = ("Helvetica, Arial, sans-serif", size, style).into_font();
        TextStyle { color: self.colour.to_backend_color(), ..font.into() }
    }

    /// The text, or as much of its beginning as fits.
    pub fn cut(self, text: &str, width: i32) -> String {
        const END: &str = "...";
        let text = readable(text);
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

/// Where a text stands in relation to its place.
#[derive(Debug, Clone, Copy)]
pub enum Side {
    /// It begins there.
    Left,
    /// It ends there.
    Right,
    /// Its middle is there.
    Middle,
}

/// Writes one line, vertically centred on the place.
pub fn text(area: &Area, place: (i32, i32), text: &str, kind: Type, side: Side) -> Drawn {
    let side = match side {
        Side::Left => HPos::Left,
        Side::Right => HPos::Right,
        Side::Middle => HPos::Center,
    };
    area.draw_text(&readable(text), &kind.style().pos(Pos::new(side, VPos::Center)), place)
}

/// A straight line.
pub fn line(area: &Area, from: (i32, i32), to: (i32, i32), colour: RGBColor, width: u32) -> Drawn {
    area.draw(&PathElement::new(
        vec![from, to],
        ShapeStyle { color: colour.to_rgba(), filled: false, stroke_width: width },
    ))
}

/// Draws a page around a body of that height. The body is given the area and the y of its own top.
pub fn svg(page: &Page, body_height: i32, body: impl FnOnce(&Area, i32) -> Drawn) -> io::Result<String> {
    let (titles, subtitles) = (broken(&page.title, TITLE), broken(&page.subtitle, SUBTITLE));
    let head = 16 + 24 * titles.len() as i32 + 17 * subtitles.len() as i32 + 8;
    let height = head + body_height + FOOT;
    let mut out = String::new();
    let drawn = (|| {
        let area = SVGBackend::with_string(&mut out, (WIDTH as u32, height as u32)).into_drawing_area();
        area.draw(&Rectangle::new([(0, 0), (WIDTH, height)], ShapeStyle::from(GROUND).filled()))?;
        let mut y = 27;
        for title in &titles {
            text(&area, (MARGIN, y), title, TITLE, Side::Left)?;
            y += 24;
        }
        y -= 2;
        for subtitle in &subtitles {
            text(&area, (MARGIN, y), subtitle, SUBTITLE, Side::Left)?;
            y += 17;
        }
        body(&area, head)?;
        text(&area, (MARGIN, height - 14), &SMALL.cut(&page.foot, WIDTH - 2 * MARGIN), SMALL, Side::Left)?;
        area.present()
    })();
    drawn.map_err(|e| io::Error::other(format!("the chart '{}' cannot be drawn: {e}", page.title)))?;
    // After the opening tag, where a reader of the file and a screen reader look for them.
    let at = out.find(">\n").map_or(out.len(), |at| at + 2);
    let [title, words] = [&page.title, &page.words].map(|text| escaped(&readable(text)));
    out.insert_str(at, &format!("<title>{title}</title>\n{CHART_MARK}. {words}</desc>\n"));
    Ok(out.replacen("<svg", "<svg role=\"img\"", 1))
}

/// At most two lines, broken between words.
fn broken(text: &str, kind: Type) -> Vec<String> {
    let room = WIDTH - 2 * MARGIN;
    let text = readable(text);
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

/// Without what XML 1.0 (section 2.2) does not allow, and in one line.
fn readable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_takes_two_lines_and_then_ends() {
        let one = broken("short", TITLE);
        assert_eq!(one, ["short"]);
        let many = broken(&"many words ".repeat(100), TITLE);
        assert!(many.len() == 2 && many[1].ends_with("..."), "{many:?}");
        assert!(many.iter().all(|line| TITLE.width(line) <= WIDTH - 2 * MARGIN));
        let unbroken = broken(&"x".repeat(500), TITLE);
        assert!(unbroken.len() == 1 && TITLE.width(&unbroken[0]) <= WIDTH, "{unbroken:?}");
        assert_eq!(broken("", TITLE), Vec::<String>::new());
    }

    #[test]
    fn what_xml_forbids_is_left_out() {
        let page = Page { title: "a<b>&\u{1}\u{FFFF}\n".into(), ..Page::default() };
        let svg = svg(&page, 10, |_, _| Ok(())).unwrap();
        assert!(svg.contains("<title>a&lt;b&gt;&amp;   </title>"), "{svg}");
        assert!(svg.contains(CHART_MARK) && !svg.contains('\u{1}'));
    }
}
