//! Splits a file into commands and words as `cmd.exe` and the C runtime of Windows do, which is how browsers write "copy as cURL
//! (cmd)".
//!
//! `cmd.exe` first: outside quotes `^` takes the next character as it is, and a line end behind it joins two lines. Then the runtime:
//! blanks outside quotes separate words, `\"` is a quote, and `""` within quotes is one too.

use super::shell::Command;
use super::{Wrong, wrong};

/// Whether a text is written for `cmd.exe`: `^` joins its lines, or nothing does and it has `^` before a quote that begins a word.
pub(super) fn is_one(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let joined_by = |end: &[&str]| text.lines().any(|line| end.iter().any(|end| line.ends_with(end)));
    joined_by(&[" ^", "\"^"]) || text.contains(" ^\"") && !joined_by(&["\\"])
}

pub(super) fn commands(text: &[u8]) -> Result<Vec<Command>, Wrong> {
    let text: Vec<u8> = text.iter().copied().filter(|byte| *byte != b'\r').collect();
    let (mut all, mut line, mut rest) = (Vec::new(), 1, &text[..]);
    while !rest.is_empty() {
        let (bytes, length) = one(rest);
        let (command, behind) = rest.split_at(length);
        let first = command.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
        let begins = line + newlines(&command[..first]);
        let words = words(&bytes).map_err(|why| Wrong { place: begins, why })?;
        if !words.is_empty() {
            all.push(Command { line: begins, words });
        }
        line += newlines(command);
        rest = behind;
    }
    if all.is_empty() { wrong(1, "there is no command") } else { Ok(all) }
}

fn newlines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

/// The bytes of the first command as `cmd.exe` hands them on, and how many of the text they are with the end of the line.
fn one(text: &[u8]) -> (Vec<u8>, usize) {
    let (mut bytes, mut at, mut is_quoted) = (Vec::new(), 0, false);
    while let Some(byte) = text.get(at).copied() {
        at += 1;
        match byte {
            b'^' if !is_quoted => {
                // A line end is taken away; what is behind it is as it is.
                at += usize::from(text.get(at) == Some(&b'\n'));
                bytes.extend(text.get(at));
                at += 1;
            }
            b'\n' | b'&' if !is_quoted => return (bytes, at.min(text.len())),
            byte => {
                is_quoted ^= byte == b'"';
                bytes.push(byte);
            }
        }
    }
    (bytes, text.len())
}

/// The words of a command line, as the C runtime makes them.
fn words(line: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let (mut words, mut word, mut is_quoted, mut at) = (Vec::new(), None::<Vec<u8>>, false, 0);
    while let Some(byte) = line.get(at).copied() {
        at += 1;
        match byte {
            b' ' | b'\t' | b'\n' if !is_quoted => words.extend(word.take()),
            b'\\' => {
                let slashes = 1 + line[at..].iter().take_while(|byte| **byte == b'\\').count();
                at += slashes - 1;
                let is_before_quote = line.get(at) == Some(&b'"');
                let kept = if is_before_quote { slashes / 2 } else { slashes };
                let word = word.get_or_insert_default();
                word.extend(std::iter::repeat_n(b'\\', kept));
                if is_before_quote && slashes % 2 == 1 {
                    word.push(b'"');
                    at += 1;
                }
            }
            b'"' if is_quoted && line.get(at) == Some(&b'"') => {
                word.get_or_insert_default().push(b'"');
                at += 1;
            }
            b'"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            byte => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    if is_quoted { Err("a quote is open at the end of the command: close it".to_owned()) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<(usize, Vec<String>)> {
        let text_of = |words: Vec<Vec<u8>>| words.into_iter().map(|word| String::from_utf8(word).unwrap()).collect();
        commands(text.as_bytes()).unwrap().into_iter().map(|command| (command.line, text_of(command.words))).collect()
    }

    /// As browsers write a word.
    fn quoted(word: &str) -> String {
        let mut text = String::new();
        for c in word.replace('"', "\\\"").chars() {
            match c {
                '\n' => text += "^\n\n",
                c if c.is_ascii_alphanumeric() || " _-:=+~'/.',?;()*`".contains(c) => text.push(c),
                c => text.extend(['^', c]),
            }
        }
        format!("^\"{text}^\"")
    }

    proptest! {
        #[test]
        fn what_was_quoted_is_what_is_read(all in proptest::collection::vec("[ -\\[\\]-~\n\u{e9}]{0,20}", 1..5)) {
            let text = all.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ^\r\n  ");
            prop_assert_eq!(read(&text), [(1, all)], "{}", text);
        }

        #[test]
        fn any_bytes_end(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = commands(&text);
        }
    }

    #[test]
    fn commands_end_at_line_ends_and_have_lines() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            read("curl ^\"a^\" ^\n -s &\n\ncurl \"b^&\" \"\"\"x\"\"\"\n"),
            [(1, words(&["curl", "a", "-s"])), (4, words(&["curl", "b^&", "\"x\""]))]
        );
        assert_eq!(read(r#"a\b "c\\" "d\\\"e" f\\g"#), [(1, words(&[r"a\b", r"c\", r#"d\"e"#, r"f\\g"]))]);
        assert!(is_one(b"curl \"a\" ^\r\n -s") && is_one(b"curl ^\"a^\"") && !is_one(b"curl 'a' \\\n -H 'x: ^\"'"));
        assert!(commands(b"curl ^\"a").unwrap_err().why.contains("open"));
    }
}
