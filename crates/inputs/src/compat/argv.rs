//! Parsers for other tools' command lines, in getopt and Go syntax. Unknown flags are errors.

use super::{ArgError, go_format::switch};
use base64::{Engine, prelude::BASE64_STANDARD};
use brunt_results::{Count, Span};

pub(super) struct Flag {
    /// Spellings, the canonical one first: `-c, --connections`.
    names: &'static str,
    /// Name of the value in help; empty for a switch.
    value: &'static str,
    help: &'static str,
    /// Equivalent flags of `brunt load`; `{}` is the value. Empty if there are none, or if they depend on other flags.
    load: &'static [&'static str],
}

/// A flag without an equivalent of its own.
pub(super) const fn flag(names: &'static str, value: &'static str, help: &'static str) -> Flag {
    Flag { names, value, help, load: &[] }
}

/// A flag that is replaced by flags of `brunt load`.
pub(super) const fn same(
    names: &'static str,
    value: &'static str,
    help: &'static str,
    load: &'static [&'static str],
) -> Flag {
    Flag { names, value, help, load }
}

impl Flag {
    fn name(&self) -> &'static str {
        self.names.split(',').next().unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// `-kc100`, `-c 100`, `--header=x`.
    Getopt,
    /// `-c 100`, `-c=100`, `--c 100`; switches take `=false`.
    Go,
}

/// A parsed command line.
pub(super) struct Given {
    tool: &'static str,
    flags: &'static [Flag],
    /// Names and values of flags (`true` for a switch), and positional arguments under an empty name.
    pub args: Vec<(&'static str, String)>,
}

impl Given {
    pub(super) fn read(
        tool: &'static str,
        syntax: Syntax,
        flags: &'static [Flag],
        words: &[String],
    ) -> Result<Self, ArgError> {
        let mut args = Vec::new();
        let mut words = words.iter();
        let unknown = |word: &str| {
            let known: Vec<&str> = flags.iter().map(Flag::name).collect();
            ArgError::Usage(format!("brunt as {tool} has no flag '{word}'; it has {}", known.join(" ")))
        };
        let find = |name: &str| flags.iter().find(|flag| flag.names.split(", ").any(|known| known == name));
        while let Some(word) = words.next() {
            let mut next = |flag: &Flag| {
                let (name, value) = (flag.name(), flag.value);
                let lacks = || ArgError::Usage(format!("brunt as {tool}: {name} needs a value, {value}"));
                words.next().cloned().ok_or_else(lacks)
            };
            if word == "--" {
                args.extend(words.map(|word| ("", word.clone())));
                break;
            }
            if matches!(word.as_str(), "--help" | "-help" | "-h") {
                return Err(ArgError::Help(help(tool, flags)));
            }
            if word.len() < 2 || !word.starts_with('-') {
                args.push(("", word.clone()));
            } else if syntax == Syntax::Go || word.starts_with("--") {
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
                args.push((flag.name(), checked(tool, syntax, flag, value)?));
            } else {
                let mut rest = word[1..].chars();
                while let Some(letter) = rest.next() {
                    let flag = find(&format!("-{letter}")).ok_or_else(|| unknown(word))?;
                    let value = match (flag.value.is_empty(), rest.as_str()) {
                        (true, _) => "true".to_owned(),
                        (false, "") => next(flag)?,
                        (false, attached) => attached.to_owned(),
                    };
                    args.push((flag.name(), value));
                    if !flag.value.is_empty() {
                        break;
                    }
                }
            }
        }
        Ok(Self { tool, flags, args })
    }

    fn values(&self, name: &str) -> impl DoubleEndedIterator<Item = &str> {
        self.args.iter().filter(move |(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn last(&self, name: &str) -> Option<&str> {
        self.values(name).next_back()
    }

    /// Whether a switch is given, and not with `=false`.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.last(name).and_then(switch) == Some(true)
    }

    /// The last value of a flag, parsed. Every value must be valid.
    pub(super) fn parsed<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ArgError> {
        let parsed = self.values(name).map(parse).collect::<Result<Vec<T>, String>>();
        let parsed = parsed.map_err(|why| ArgError::Usage(format!("brunt as {} {name}: {why}", self.tool)))?;
        Ok(parsed.into_iter().next_back())
    }

    /// A whole number with an optional suffix k, M or G.
    pub(super) fn count(&self, name: &str) -> Result<Option<u64>, ArgError> {
        self.parsed(name, |value| Ok(value.parse::<Count>().map_err(|why| why.to_string())?.0))
    }

    /// A duration as `brunt load` takes it; a bare number is seconds.
    pub(super) fn time(&self, name: &str) -> Result<Option<Span>, ArgError> {
        self.parsed(name, |value| {
            let unit = if value.bytes().all(|byte| byte.is_ascii_digit()) { "s" } else { "" };
            format!("{value}{unit}").parse::<Span>().map_err(|why| why.to_string())
        })
    }

    /// Flags of `brunt load` that stand for the given ones. A switch with `=false` has none.
    pub(super) fn translated(&self) -> Vec<String> {
        let mut load = Vec::new();
        for (name, value) in &self.args {
            let flag = self.flags.iter().find(|flag| flag.name() == *name);
            let flag = flag.filter(|flag| !flag.value.is_empty() || switch(value) != Some(false));
            load.extend(flag.iter().flat_map(|flag| flag.load).map(|word| match *word {
                "{basic}" => format!("Authorization: Basic {}", BASE64_STANDARD.encode(value)),
                word => word.replace("{}", value),
            }));
        }
        load
    }

    /// The only positional argument, a URL.
    pub(super) fn url(&self) -> Result<String, ArgError> {
        let tool = self.tool;
        match self.values("").collect::<Vec<_>>()[..] {
            [url] if url.starts_with("http://") || url.starts_with("https://") => Ok(url.to_owned()),
            // These tools assume http:// if the scheme is missing.
            [url] if !url.contains("://") => Ok(format!("http://{url}")),
            [url] => Err(ArgError::Usage(format!("brunt as {tool}: '{url}' is not an http:// address"))),
            [] => Err(ArgError::Usage(format!("brunt as {tool}: no address; add http://HOST:PORT/"))),
            [_, more, ..] => Err(ArgError::Usage(format!("brunt as {tool}: one address is enough, what is '{more}'?"))),
        }
    }
}

/// In Go's syntax the value of a switch is a boolean.
fn checked(tool: &str, syntax: Syntax, flag: &Flag, value: String) -> Result<String, ArgError> {
    match syntax {
        Syntax::Go if flag.value.is_empty() && switch(&value).is_none() => {
            let name = flag.name();
            Err(ArgError::Usage(format!("brunt as {tool} {name}: '{value}' is not true or false")))
        }
        _ => Ok(value),
    }
}

fn help(tool: &str, flags: &[Flag]) -> String {
    let line = |flag: &Flag| format!("  {:<32} {}\n", format!("{} {}", flag.names, flag.value), flag.help);
    let lines: String = flags.iter().map(line).collect();
    format!("Usage: brunt as {tool} [FLAGS] URL\n\nFlags of {tool} that are known:\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: &[Flag] = &[flag("-c, --connections", "N", ""), flag("-k", "", ""), flag("-qps", "N", "")];

    fn given(syntax: Syntax, line: &str) -> Result<Vec<(&'static str, String)>, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Given::read("t", syntax, FLAGS, &words).map(|given| given.args).map_err(|refusal| match refusal {
            ArgError::Help(text) | ArgError::Usage(text) => text,
        })
    }

    #[test]
    fn both_syntaxes_are_parsed_and_errors_name_the_flag() {
        for line in ["-kc100 u", "-k -c 100 u", "-k --connections=100 u", "-k --connections 100 -- u"] {
            let expected = [("-k", "true"), ("-c", "100"), ("", "u")].map(|(n, v)| (n, v.to_owned()));
            assert_eq!(given(Syntax::Getopt, line).unwrap(), expected, "{line}");
        }
        for line in ["-k=false -qps 5 u", "--k=false --qps=5 u"] {
            let expected = [("-k", "false"), ("-qps", "5"), ("", "u")].map(|(n, v)| (n, v.to_owned()));
            assert_eq!(given(Syntax::Go, line).unwrap(), expected, "{line}");
        }
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
