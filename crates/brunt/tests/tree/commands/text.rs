//! Commands in texts: in code of Markdown, in comments and strings of Rust, in shell scripts.

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Markdown,
    Rust,
    Shell,
}

/// A command that runs tests, without its first two words.
#[derive(Debug, PartialEq)]
pub struct Command {
    /// From 1.
    pub line: usize,
    pub words: Vec<String>,
}

/// What ends a command, besides the end of its line.
const ENDS: &str = "`\"'();|&<>#${,\\";

/// A line, and whether a command in it may go on in the next one.
struct Line {
    text: String,
    /// Markdown outside of fences: code between backticks goes on.
    is_prose: bool,
}

/// All of them, in their order.
pub fn commands(text: &str, kind: Kind) -> Vec<Command> {
    let lines = lines(text, kind);
    let (mut all, mut is_code) = (Vec::new(), false);
    for (number, line) in lines.iter().enumerate() {
        if line.text.trim().is_empty() || !line.is_prose {
            // A paragraph ends.
            is_code = false;
        }
        for (at, _) in line.text.match_indices("cargo") {
            let is_inside = line.is_prose && is_code != is_odd(&line.text[..at]);
            let rest = rest(&lines, number, at + "cargo".len(), is_inside);
            let mut words = rest.split_whitespace().map(|word| word.trim_end_matches(['.', ':']).to_owned());
            if words.next().as_deref() == Some("test") {
                all.push(Command { line: number + 1, words: words.filter(|word| !word.is_empty()).collect() });
            }
        }
        is_code ^= line.is_prose && is_odd(&line.text);
    }
    all
}

fn is_odd(text: &str) -> bool {
    text.matches('`').count() % 2 == 1
}

/// What stands behind a place of a line, to the end of the command. Inside of code in prose it may go on in the next line; else
/// it does behind a backslash.
fn rest(lines: &[Line], number: usize, at: usize, is_inside: bool) -> String {
    let (mut command, mut from) = (String::new(), at);
    for line in &lines[number..] {
        let (part, is_continued) = match line.text[from..].strip_suffix('\\') {
            Some(part) => (part, true),
            None => (&line.text[from..], false),
        };
        if let Some(end) = part.find(|c| ENDS.contains(c)) {
            // The number of a redirected descriptor is no word.
            let digits: &[char] = if part[end..].starts_with('>') { &['0', '1', '2'] } else { &[] };
            return command + part[..end].trim_end_matches(digits);
        }
        command += part;
        command.push(' ');
        let goes_on = is_continued || is_inside && line.is_prose && !part.trim().is_empty();
        if !goes_on {
            break;
        }
        from = 0;
    }
    command
}

fn lines(text: &str, kind: Kind) -> Vec<Line> {
    let mut is_fenced = false;
    let line = |text: &str| {
        let comment = text.trim_start().strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']));
        let (text, is_markdown) = match kind {
            Kind::Markdown => (text, true),
            Kind::Rust => (comment.unwrap_or(text), comment.is_some()),
            Kind::Shell => (text, false),
        };
        let is_fence = is_markdown && text.trim_start().starts_with("```");
        is_fenced = is_markdown && is_fenced != is_fence;
        Line { text: text.to_owned(), is_prose: is_markdown && !is_fenced && !is_fence }
    };
    text.lines().map(line).collect()
}

#[test]
fn commands_are_found_in_each_kind_of_text() {
    // Written so that it is no command itself.
    let found = |text: &str, kind| {
        let all = commands(&text.replace("CT", "cargo test"), kind);
        all.into_iter().map(|command| (command.line, command.words.join(" "))).collect::<Vec<_>>()
    };
    let one = |line: usize, words: &str| vec![(line, words.to_owned())];
    let markdown =
        "It is `code` and `A=1 CT\n--test a\nb` here.\n\n```\nCT -p x \\\n  y  # said\nother\n```\nCT z.\nwords\n";
    let expected = [one(1, "--test a b"), one(6, "-p x y"), one(10, "z")].concat();
    assert_eq!(found(markdown, Kind::Markdown), expected);
    let rust = "//! Text of `CT -p x\n//! y`.\nlet a = \"CT z\\n\";\nlet b = \"{error}: CT \\\n    -p w\";\n";
    let expected = [one(1, "-p x y"), one(3, "z"), one(4, "-p w")].concat();
    assert_eq!(found(rust, Kind::Rust), expected);
    let shell = "A=b CT -p x \"$@\" y\nCT --no-run 2>&1 | sed z\ncargo clippy --test\n";
    assert_eq!(found(shell, Kind::Shell), [one(1, "-p x"), one(2, "--no-run")].concat());
}
