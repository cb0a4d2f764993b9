//! Requests from a file: curl command lines, HAR, vegeta's targets as JSON or text.
//!
//! The format is recognised from the first bytes. Every error names the file, the line or entry, the thing and the remedy.

mod curl;
mod curl_flags;
mod curl_form;
mod form;
mod har;
mod list;
mod shell;
mod vegeta;
mod windows;

use crate::address::{Protocol, Url};
use crate::usage;
use brunt_results::secrets::without_users;
use brunt_results::{Error, named};
use std::path::Path;
use std::{fmt, fs};

/// A request as a file describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Line, or entry of a HAR file, from 1.
    pub place: usize,
    pub method: String,
    /// A path alone belongs to the host of the URL that is given with the file.
    pub url: String,
    /// `Host`, if it is not that of the URL.
    pub host: Option<String>,
    pub fields: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
}

/// Fields that belong to a connection or a message rather than to a request, in lower case.
const LEFT_OUT: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "http2-settings",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl Recorded {
    /// Adds a field, unless it is set by the load.
    fn add_field(&mut self, name: &str, value: &str) {
        let lower = name.to_ascii_lowercase();
        if lower == "host" {
            self.host = Some(value.to_owned());
        } else if !lower.starts_with(':') && !LEFT_OUT.contains(&&*lower) {
            self.fields.push((name.to_owned(), value.to_owned()));
        }
    }

    pub fn has_field(&self, name: &str) -> bool {
        self.fields.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }
}

/// Requests and the order in which they are sent.
#[derive(Debug, Default)]
pub struct RequestFile {
    /// Its name as given.
    pub name: String,
    /// Whether places are entries instead of lines.
    pub has_entries: bool,
    pub requests: Vec<Recorded>,
    /// Numbers of requests; `None`: each once, as they come.
    pub order: Option<Vec<usize>>,
    /// Whether each has a time of its own.
    pub replay: bool,
    /// What was left out, one line each.
    pub notes: Vec<String>,
}

impl RequestFile {
    /// Where a request comes from, for messages: `calls.txt:3: `.
    pub fn origin(&self, place: usize) -> String {
        if self.has_entries { format!("{}: entry {place}: ", self.name) } else { format!("{}:{place}: ", self.name) }
    }
}

/// What is wrong at a line or entry.
#[derive(Debug, PartialEq, Eq)]
struct Wrong {
    place: usize,
    why: String,
}

fn wrong<T>(place: usize, why: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { place, why: why.into() })
}

/// A part of a file, for messages: shortened, on one line.
fn shown(bytes: &[u8]) -> Shown<'_> {
    Shown(bytes)
}

struct Shown<'a>(&'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 60;
        let text = without_users(&String::from_utf8_lossy(self.0));
        // A line that is no header may hold the value of one.
        let lower = text.to_ascii_lowercase();
        let secret = ["authorization", "cookie", "bearer", "basic"].map(|word| Some(lower.find(word)? + word.len()));
        if let Some(at) = secret.into_iter().flatten().min() {
            return write!(f, "'{} [hidden]'", text[..at].chars().take(LONGEST).collect::<String>().escape_debug());
        }
        let short: String = text.chars().take(LONGEST).collect();
        let dots = if short.len() < text.len() { "..." } else { "" };
        write!(f, "'{}{dots}'", short.escape_debug())
    }
}

/// Reads the requests of a file; `over` is the URL given with it, whose host they go to.
pub fn read(path: &Path, over: Option<&Url>) -> Result<RequestFile, Error> {
    let name = path.display().to_string();
    if let Some(Url { protocol: Protocol::Http { target, .. }, .. }) = over
        && target != "/"
    {
        return usage(format!(
            "the URL has the path '{target}', and --requests {name} has paths: give http://HOST:PORT/"
        ));
    }
    let text = named::place(path).and_then(fs::read);
    let text = text.map_err(|error| Error::Usage(format!("cannot read the requests from {name}: {error}")))?;
    let mut file = RequestFile { name, ..RequestFile::default() };
    let parsed = parse(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text), &mut file);
    parsed.map_err(|Wrong { place, why }| Error::Usage(format!("{}{why}", file.origin(place))))?;
    match &file.requests[..] {
        [] if file.notes.is_empty() => usage(format!("{} holds no request: give it at least one", file.name)),
        [] => usage(format!("{} holds no request that can be sent: {}", file.name, left_out(&file))),
        _ => Ok(file),
    }
}

/// The notes, without the name of the file.
fn left_out(file: &RequestFile) -> String {
    let origin = format!("{}: ", file.name);
    file.notes.iter().map(|note| note.trim_start_matches(&*origin)).collect::<Vec<_>>().join("; ")
}

fn parse(text: &[u8], file: &mut RequestFile) -> Result<(), Wrong> {
    let (line, first) = first_line(text);
    let word = first.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    match word {
        b"" => Ok(()),
        [b'{', ..] if har::is_one(text) => har::parse(text, file),
        [b'{', ..] => vegeta::parse(text, file),
        b"curl" | b"curl.exe" => curl::parse(text, file),
        word if list::is_method(word) || list::is_url(word) => list::parse(text, file),
        word => wrong(
            line,
            format!(
                "{} begins no request: a line is a curl command, vegeta's JSON or 'GET URL', or all is HAR",
                shown(word)
            ),
        ),
    }
}

/// The first line that is neither blank nor a comment, without blanks around it, and its number.
fn first_line(text: &[u8]) -> (usize, &[u8]) {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).enumerate();
    let mut told = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(b"#"));
    told.next().map_or((1, &[]), |(number, line)| (number + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a file of this text holds, or the error.
    pub fn parsed(text: &str) -> Result<RequestFile, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        let name = file.path().display().to_string();
        read(file.path(), None).map_err(|error| error.to_string().replace(&name, "FILE"))
    }

    #[test]
    fn a_format_is_recognised_from_its_beginning() {
        for text in [
            "# all of them\n\ncurl http://a/x",
            "{\"log\": {\"entries\": [{\"request\": {\"method\": \"GET\", \"url\": \"http://a/x\", \"headers\": []}}]}}",
            "\u{feff}{\"method\": \"GET\", \"url\": \"http://a/x\"}\n",
            "GET http://a/x\n",
            "http://a/x\n",
        ] {
            let file = parsed(text).unwrap();
            let [Recorded { method, url, .. }] = &file.requests[..] else { panic!("{text}: {file:?}") };
            assert_eq!((&method[..], &url[..]), ("GET", "http://a/x"), "{text}");
        }
    }

    #[test]
    fn an_error_names_file_place_thing_and_remedy() {
        for (text, says) in [
            ("", "FILE holds no request"),
            ("\n# nothing\n", "FILE holds no request"),
            ("\nwget http://a/", "FILE:2: 'wget' begins no request"),
            ("curl http://a/\nwget http://b/", "FILE:2: 'wget' is no curl command"),
            ("curl http://a/ -F x=y -d z", "FILE:1: -F and -d"),
            ("curl http://a/ --frobnicate", "FILE:1: '--frobnicate'"),
            ("curl 'http://a/", "FILE:1: a quote is open"),
            ("curl http://a/$HOME", "FILE:1: '$'"),
            ("curl http://a/ | jq", "FILE:1: '|'"),
            ("curl -X", "FILE:1: -X needs a value"),
            ("curl -s", "FILE:1: the command names no URL"),
            ("curl http://a/\ncurl http://a/ -d @/no/such/file", "FILE:2: '/no/such/file' cannot be read"),
            (
                "{\"log\": {\"entries\": [{\"request\": {\"method\": 1}}]}}",
                "FILE holds no request that can be sent: 1 of 1 entries",
            ),
            ("{\"log\": {\"entries\": []}}", "FILE holds no request"),
            ("{\"method\": \"GET\"}", "FILE:1: 'url'"),
            ("{\"method\": \"GET\", \"url\": \"http://a/\"}\n{", "FILE:2: "),
            ("{\"method\": \"GET\", \"url\": \"http://a/\", \"body\": \"%\"}", "FILE:1: 'body'"),
            ("GET http://a/\nno colon\n", "FILE:2: 'no colon'"),
            ("GET\n", "FILE:1: 'GET'"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(says) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
