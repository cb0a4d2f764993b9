//! Parsers for other tools' command lines, in getopt and Go syntax. Unknown flags are errors.

use super::ArgError;

pub(super) struct Flag {
    /// Canonical spelling.
    pub name: &'static str,
    pub also: &'static [&'static str],
    /// Name of the value in help; empty for a switch.
    pub value: &'static str,
    pub help: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// `-kc100`, `-c 100`, `--header=x`.
    Getopt,
    /// `-c 100`, `-c=100`, `--c 100`; switches take `=false`.
    Go,
}

/// A flag's name and value (`true` for a switch), or an empty name and a positional argument.
pub(super) type ParsedArg = (&'static str, String);

/// Parses the arguments of `tool`.
pub(super) fn read(
    tool: &str,
    syntax: Syntax,
    flags: &'static [Flag],
    words: &[String],
) -> Result<Vec<ParsedArg>, ArgError> {
    let mut given = Vec::new();
    let mut words = words.iter();
    let unknown = |word: &str| {
        let known: Vec<&str> = flags.iter().map(|flag| flag.name).collect();
        ArgError::Usage(format!("brunt as {tool} has no flag '{word}'; it has {}", known.join(" ")))
    };
    let find = |name: &str| flags.iter().find(|flag| flag.name == name || flag.also.contains(&name));
    while let Some(word) = words.next() {
        let mut next = |flag: &Flag| {
            let lacks = || ArgError::Usage(format!("brunt as {tool}: {} needs a value, {}", flag.name, flag.value));
            words.next().cloned().ok_or_else(lacks)
        };
        if word == "--" {
            given.extend(words.map(|word| ("", word.clone())));
            break;
        }
        if matches!(word.as_str(), "--help" | "-help" | "-h") {
            return Err(ArgError::Help(help(tool, flags)));
        }
        let is_flag = word.len() > 1 && word.starts_with('-');
        match () {
            () if !is_flag => given.push(("", word.clone())),
            () if syntax == Syntax::Go || word.starts_with("--") => {
                let (name, value) =
                    word.split_once('=').map_or((word.as_str(), None), |(n, v)| (n, Some(v.to_owned())));
                // Go treats one dash and two alike.
                let name = if syntax == Syntax::Go && name.starts_with("--") { &name[1..] } else { name };
                let flag = find(name).ok_or_else(|| unknown(word))?;
                let value = match (value, flag.value.is_empty()) {
                    (Some(value), _) => value,
                    (None, true) => "true".to_owned(),
                    (None, false) => next(flag)?,
                };
                given.push((flag.name, value));
            }
            () => {
                let mut rest = &word[1..];
                while let Some(letter) = rest.chars().next() {
                    rest = &rest[letter.len_utf8()..];
                    let flag = find(&format!("-{letter}")).ok_or_else(|| unknown(word))?;
                    if flag.value.is_empty() {
                        given.push((flag.name, "true".to_owned()));
                        continue;
                    }
                    let value = if rest.is_empty() { next(flag)? } else { rest.to_owned() };
                    given.push((flag.name, value));
                    break;
                }
            }
        }
    }
    Ok(given)
}

/// The only positional argument, a URL.
pub(super) fn url(tool: &str, given: &[ParsedArg]) -> Result<String, ArgError> {
    let plain: Vec<&String> = given.iter().filter(|(name, _)| name.is_empty()).map(|(_, word)| word).collect();
    match plain.as_slice() {
        [url] if url.starts_with("http://") || url.starts_with("https://") => Ok((*url).clone()),
        // These tools assume http:// if the scheme is missing.
        [url] if !url.contains("://") => Ok(format!("http://{url}")),
        [url] => Err(ArgError::Usage(format!("brunt as {tool}: '{url}' is not an http:// address"))),
        [] => Err(ArgError::Usage(format!("brunt as {tool}: no address; add http://HOST:PORT/"))),
        [_, more, ..] => Err(ArgError::Usage(format!("brunt as {tool}: one address is enough, what is '{more}'?"))),
    }
}

/// Parses a whole number with an optional suffix k, M or G.
pub(super) fn count(tool: &str, flag: &str, value: &str) -> Result<u64, ArgError> {
    let parsed = value.parse::<brunt_results::Count>();
    parsed.map(|count| count.0).map_err(|why| ArgError::Usage(format!("brunt as {tool} {flag}: {why}")))
}

/// Parses a duration and formats it for `brunt load`; a bare number is seconds.
pub(super) fn time(tool: &str, flag: &str, value: &str) -> Result<String, ArgError> {
    let value = if value.bytes().all(|byte| byte.is_ascii_digit()) { format!("{value}s") } else { value.to_owned() };
    let parsed = value.parse::<brunt_results::Span>();
    parsed.map(|span| span.to_string()).map_err(|why| ArgError::Usage(format!("brunt as {tool} {flag}: {why}")))
}

fn help(tool: &str, flags: &[Flag]) -> String {
    let line = |flag: &Flag| {
        let names = std::iter::once(flag.name).chain(flag.also.iter().copied()).collect::<Vec<_>>().join(", ");
        format!("  {:<32} {}\n", format!("{names} {}", flag.value), flag.help)
    };
    let lines: String = flags.iter().map(line).collect();
    format!("Usage: brunt as {tool} [FLAGS] URL\n\nFlags of {tool} that are known:\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: &[Flag] = &[
        Flag { name: "-c", also: &["--connections"], value: "N", help: "" },
        Flag { name: "-k", also: &[], value: "", help: "" },
        Flag { name: "-qps", also: &[], value: "N", help: "" },
    ];

    fn given(syntax: Syntax, line: &str) -> Result<Vec<(&'static str, String)>, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read("t", syntax, FLAGS, &words).map_err(|refusal| match refusal {
            ArgError::Help(text) | ArgError::Usage(text) => text,
        })
    }

    #[test]
    fn both_manners_are_read() {
        for line in ["-kc100 u", "-k -c 100 u", "-k --connections=100 u", "-k --connections 100 -- u"] {
            let expected = [("-k", "true"), ("-c", "100"), ("", "u")].map(|(n, v)| (n, v.to_owned()));
            assert_eq!(given(Syntax::Getopt, line).unwrap(), expected, "{line}");
        }
        for line in ["-k=false -qps 5 u", "--k=false --qps=5 u"] {
            let expected = [("-k", "false"), ("-qps", "5"), ("", "u")].map(|(n, v)| (n, v.to_owned()));
            assert_eq!(given(Syntax::Go, line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn what_is_not_known_or_not_whole_is_named() {
        for (syntax, line, needle) in [
            (Syntax::Getopt, "-x", "no flag '-x'"),
            (Syntax::Getopt, "-kx", "no flag '-kx'"),
            (Syntax::Getopt, "--nope=1", "no flag '--nope=1'"),
            (Syntax::Getopt, "-c", "-c needs a value, N"),
            (Syntax::Go, "-nope", "no flag '-nope'"),
            (Syntax::Go, "-qps", "-qps needs a value"),
            (Syntax::Getopt, "-\u{e4}", "no flag"),
        ] {
            let why = given(syntax, line).unwrap_err();
            assert!(why.contains(needle), "{line}: {why}");
        }
        assert!(given(Syntax::Getopt, "--help").unwrap_err().contains("-c, --connections N"));
    }
}
