//! Splits a file into commands and words as a POSIX shell does, with `$'...'` as browsers write it.
//!
//! Nothing is expanded: variables, commands and pipes are errors, as their results are not in the file.

use super::{Wrong, shown, wrong};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command {
    /// Of its first word, from 1.
    pub line: usize,
    pub words: Vec<Vec<u8>>,
}

pub(super) fn commands(text: &[u8]) -> Result<Vec<Command>, Wrong> {
    let mut lexer = Lexer { text, at: 0, line: 1 };
    let (mut all, mut command) = (Vec::new(), Command { line: 1, words: Vec::new() });
    loop {
        lexer.skip_blanks();
        match lexer.peek() {
            Some(b'#') => lexer.skip_comment(),
            Some(byte @ (b'|' | b'<' | b'>' | b'(' | b')')) => {
                let byte = char::from(byte);
                return wrong(
                    lexer.line,
                    format!("'{byte}' outside quotes: only the command itself is read; leave it out"),
                );
            }
            None | Some(b'\n' | b';' | b'&') => {
                if !command.words.is_empty() {
                    all.push(command);
                }
                command = Command { line: 1, words: Vec::new() };
                if lexer.next().is_none() {
                    return Ok(all);
                }
            }
            Some(_) => {
                if command.words.is_empty() {
                    command.line = lexer.line;
                }
                command.words.push(lexer.word()?);
            }
        }
    }
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        self.line += usize::from(byte == b'\n');
        Some(byte)
    }

    fn take(&mut self, text: &[u8]) -> bool {
        let is_here = self.text[self.at..].starts_with(text);
        if is_here {
            self.at += text.len();
            self.line += text.iter().filter(|byte| **byte == b'\n').count();
        }
        is_here
    }

    fn continuation(&mut self) -> bool {
        self.take(b"\\\n") || self.take(b"\\\r\n")
    }

    fn skip_blanks(&mut self) {
        while self.continuation() || matches!(self.peek(), Some(b' ' | b'\t' | b'\r')) && self.next().is_some() {}
    }

    fn skip_comment(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    fn word(&mut self) -> Result<Vec<u8>, Wrong> {
        let mut word = Vec::new();
        loop {
            if self.continuation() {
                continue;
            }
            match self.peek() {
                None | Some(b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')') => {
                    return Ok(word);
                }
                Some(b'\'') => self.single(&mut word)?,
                Some(b'"') => self.double(&mut word)?,
                Some(b'$') if self.text[self.at..].starts_with(b"$'") => self.escaped(&mut word)?,
                Some(b'$' | b'`') => self.dollar(&mut word)?,
                Some(b'\\') => {
                    self.at += 1;
                    word.push(self.next().unwrap_or(b'\\'));
                }
                Some(byte) => {
                    self.at += 1;
                    word.push(byte);
                }
            }
        }
    }

    /// Up to the next quote.
    fn single(&mut self, word: &mut Vec<u8>) -> Result<(), Wrong> {
        let open = self.line;
        self.at += 1;
        loop {
            match self.next() {
                None => return unclosed(open),
                Some(b'\'') => return Ok(()),
                Some(byte) => word.push(byte),
            }
        }
    }

    fn double(&mut self, word: &mut Vec<u8>) -> Result<(), Wrong> {
        let open = self.line;
        self.at += 1;
        loop {
            if self.continuation() {
                continue;
            }
            match self.peek() {
                None => return unclosed(open),
                Some(b'$' | b'`') => self.dollar(word)?,
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    let is_special = matches!(self.peek(), Some(b'$' | b'`' | b'"' | b'\\'));
                    word.push(if is_special { self.next().unwrap_or(b'\\') } else { b'\\' });
                }
                Some(_) => word.extend(self.next()),
            }
        }
    }

    /// A dollar sign or backtick, which must not begin something that a shell expands.
    fn dollar(&mut self, word: &mut Vec<u8>) -> Result<(), Wrong> {
        let rest = &self.text[self.at + 1..];
        let begins = |byte: &u8| byte.is_ascii_alphanumeric() || b"_{(@*#?$!-".contains(byte);
        if self.text[self.at] == b'`' || rest.first().is_some_and(begins) {
            let end = rest.iter().position(|byte| b" \t\r\n\"'/".contains(byte)).unwrap_or(rest.len());
            let what = shown(&self.text[self.at..self.at + 1 + end]).to_string();
            let name = char::from(self.text[self.at]);
            return wrong(
                self.line,
                format!("'{name}' begins {what}, which is not expanded: write its value, or put it in single quotes"),
            );
        }
        self.at += 1;
        word.push(b'$');
        Ok(())
    }

    /// `$'...'`, with the escapes of C.
    fn escaped(&mut self, word: &mut Vec<u8>) -> Result<(), Wrong> {
        let open = self.line;
        self.at += 2;
        loop {
            match self.next() {
                None => return unclosed(open),
                Some(b'\'') => return Ok(()),
                Some(b'\\') => self.escape(word),
                Some(byte) => word.push(byte),
            }
        }
    }

    /// What follows a backslash within `$'...'`.
    fn escape(&mut self, word: &mut Vec<u8>) {
        let Some(byte) = self.next() else { return word.push(b'\\') };
        match byte {
            b'a' => word.push(7),
            b'b' => word.push(8),
            b'e' | b'E' => word.push(27),
            b'f' => word.push(12),
            b'n' => word.push(b'\n'),
            b'r' => word.push(b'\r'),
            b't' => word.push(b'\t'),
            b'v' => word.push(11),
            b'\\' | b'\'' | b'"' | b'?' => word.push(byte),
            b'c' => word.extend(self.next().map(|byte| byte & 0x1f)),
            b'0'..=b'7' => {
                self.at -= 1;
                word.extend(self.number(8, 3).map(|number| number as u8));
            }
            b'x' => match self.number(16, 2) {
                Some(number) => word.push(number as u8),
                None => word.extend(b"\\x"),
            },
            b'u' | b'U' => self.unicode(byte, word),
            other => word.extend([b'\\', other]),
        }
    }

    fn unicode(&mut self, kind: u8, word: &mut Vec<u8>) {
        let digits = if kind == b'u' { 4 } else { 8 };
        let Some(mut code) = self.number(16, digits) else { return word.extend([b'\\', kind]) };
        // Browsers write two halves for a character beyond 16 bits.
        if (0xd800..0xdc00).contains(&code) && self.take(b"\\u") {
            let low = self.number(16, 4).unwrap_or(0xdc00);
            code = 0x10000 + ((code - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff);
        }
        let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        word.extend(character.encode_utf8(&mut [0; 4]).bytes());
    }

    /// A number of at most so many digits; `None` if there is none.
    fn number(&mut self, radix: u32, most: usize) -> Option<u32> {
        let digit = |byte: u8| char::from(byte).to_digit(radix);
        let mut number = self.peek().and_then(digit)?;
        self.at += 1;
        for _ in 1..most {
            let Some(next) = self.peek().and_then(digit) else { break };
            self.at += 1;
            number = number.wrapping_mul(radix) | next;
        }
        Some(number)
    }
}

fn unclosed<T>(line: usize) -> Result<T, Wrong> {
    wrong(line, "a quote is open at the end of the file: close it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command as Process;

    fn words(text: &[u8]) -> Vec<Vec<u8>> {
        commands(text).unwrap().into_iter().flat_map(|command| command.words).collect()
    }

    /// The word in one of the ways of quoting.
    fn quoted(word: &[u8], way: u8) -> Vec<u8> {
        let escaped = |special: &[u8], byte: u8| match special.contains(&byte) {
            true => vec![b'\\', byte],
            false => vec![byte],
        };
        let text: Vec<u8> = match way {
            0 => word.iter().flat_map(|byte| if *byte == b'\'' { b"'\\''".to_vec() } else { vec![*byte] }).collect(),
            1 => word.iter().flat_map(|byte| escaped(b"$`\"\\", *byte)).collect(),
            2 => word.iter().flat_map(|byte| escaped(b"\\'", *byte)).collect(),
            3 => word.iter().flat_map(|byte| format!("\\x{byte:02x}").into_bytes()).collect(),
            // A backslash before a newline removes both.
            _ => {
                return word
                    .iter()
                    .flat_map(|byte| if *byte == b'\n' { b"'\n'".to_vec() } else { vec![b'\\', *byte] })
                    .collect();
            }
        };
        let (open, close): (&[u8], &[u8]) = match way {
            0 => (b"'", b"'"),
            1 => (b"\"", b"\""),
            _ => (b"$'", b"'"),
        };
        [open, &text, close].concat()
    }

    proptest! {
        #[test]
        fn what_was_quoted_is_what_is_read(
            all in proptest::collection::vec((proptest::collection::vec(1u8.., 1..30), 0u8..5), 1..6),
        ) {
            let text: Vec<u8> = all.iter().map(|(word, way)| quoted(word, *way)).collect::<Vec<_>>().join(&b" \\\n  "[..]);
            prop_assert_eq!(words(&text), all.iter().map(|(word, _)| word.clone()).collect::<Vec<_>>());
        }

        #[test]
        fn the_words_are_those_of_a_shell(text in "[a-z '\"\\\\\n;#=/]{0,40}") {
            // Each word on a line of its own, in brackets; a file that the shell refuses is not compared.
            let Ok(read) = commands(text.as_bytes()) else { return Ok(()) };
            let Some(first) = read.first() else { return Ok(()) };
            let end = text.lines().take(first.line - 1).map(|line| line.len() + 1).sum::<usize>();
            // The first command alone, as far as its words go.
            let shell = format!("show() {{ for word; do printf '[%s]\\n' \"$word\"; done; exit; }}\nshow {}", &text[end..].trim_start_matches([' ', ';']));
            let output = Process::new("sh").args(["-c", &shell]).output().unwrap();
            if output.status.success() {
                let expected: Vec<u8> = first.words.iter().flat_map(|word| [&b"["[..], word, b"]\n"].concat()).collect();
                prop_assert_eq!(String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&expected), "{:?}", text);
            }
        }

        #[test]
        fn any_bytes_end(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = commands(&text);
        }
    }

    #[test]
    fn escapes_are_those_of_browsers() {
        let line = br"curl $'a\u0021\n\'\x41\101\ud83d\ude00\U0001f600\e\q' plain\ word 'x'\''y' $ a$";
        let expected = ["curl", "a!\n'AA\u{1f600}\u{1f600}\u{1b}\\q", "plain word", "x'y", "$", "a$"];
        assert_eq!(words(line), expected.map(|word| word.as_bytes().to_vec()));
    }

    #[test]
    fn commands_end_at_newlines_and_semicolons_and_have_lines() {
        let text = b"# first\ncurl a \\\r\n  -s # rest\r\n\n  curl 'b\nc' ;\ncurl d && curl e";
        let told: Vec<(usize, usize)> =
            commands(text).unwrap().iter().map(|command| (command.line, command.words.len())).collect();
        assert_eq!(told, [(2, 3), (5, 2), (7, 2), (7, 2)]);
    }
}
