//! Flags of curl: which take a value, and what they mean for a request.

/// What a flag is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Describes the request; the second is whether it takes a value.
    Request(bool),
    /// About curl's output, time limits or connection.
    Ignored(bool),
    /// Not supported, with the remedy.
    Refused(&'static str),
}

/// Letters and the names that they stand for.
const LETTERS: [(u8, &str); 34] = [
    (b'X', "request"),
    (b'H', "header"),
    (b'd', "data"),
    (b'u', "user"),
    (b'A', "user-agent"),
    (b'e', "referer"),
    (b'b', "cookie"),
    (b'I', "head"),
    (b'G', "get"),
    (b'g', "globoff"),
    (b'r', "range"),
    (b'k', "insecure"),
    (b's', "silent"),
    (b'S', "show-error"),
    (b'v', "verbose"),
    (b'L', "location"),
    (b'i', "include"),
    (b'f', "fail"),
    (b'O', "remote-name"),
    (b'J', "remote-header-name"),
    (b'N', "no-buffer"),
    (b'#', "progress-bar"),
    (b'4', "ipv4"),
    (b'6', "ipv6"),
    (b'o', "output"),
    (b'w', "write-out"),
    (b'm', "max-time"),
    (b'D', "dump-header"),
    (b'c', "cookie-jar"),
    (b'F', "form"),
    (b'T', "upload-file"),
    (b'x', "proxy"),
    (b'K', "config"),
    (b'E', "cert"),
];

const WITH_VALUE: [&str; 15] = [
    "request",
    "header",
    "data",
    "data-ascii",
    "data-raw",
    "data-binary",
    "data-urlencode",
    "json",
    "user",
    "user-agent",
    "referer",
    "cookie",
    "range",
    "url",
    "oauth2-bearer",
];

const ALONE: [&str; 5] = ["head", "get", "globoff", "compressed", "basic"];

const IGNORED: [&str; 34] = [
    "insecure",
    "silent",
    "show-error",
    "verbose",
    "location",
    "location-trusted",
    "include",
    "show-headers",
    "fail",
    "fail-early",
    "fail-with-body",
    "remote-name",
    "remote-header-name",
    "no-buffer",
    "progress-bar",
    "no-progress-meter",
    "ipv4",
    "ipv6",
    "http1.0",
    "http1.1",
    "http2",
    "http2-prior-knowledge",
    "http3",
    "path-as-is",
    "disable",
    "tcp-nodelay",
    "no-keepalive",
    "tlsv1",
    "tlsv1.2",
    "tlsv1.3",
    "raw",
    "parallel",
    "ssl-no-revoke",
    "no-alpn",
];

const IGNORED_WITH_VALUE: [&str; 14] = [
    "output",
    "write-out",
    "max-time",
    "connect-timeout",
    "retry",
    "retry-delay",
    "retry-max-time",
    "dump-header",
    "cookie-jar",
    "stderr",
    "limit-rate",
    "max-redirs",
    "keepalive-time",
    "tls-max",
];

const REFUSED: [(&str, &str); 16] = [
    ("form", "is not supported: give the body with --data-binary @FILE and its Content-Type with -H"),
    ("form-string", "is not supported: give the body with --data-binary @FILE and its Content-Type with -H"),
    ("upload-file", "is not supported: use -X PUT --data-binary @FILE"),
    ("proxy", "is not supported: brunt load connects to the host itself, or with --connect-to to another"),
    ("config", "is not supported: write the flags of that file in the command"),
    ("cert", "belongs to brunt load: leave it out here and give --cert and --key there"),
    ("key", "belongs to brunt load: leave it out here and give --cert and --key there"),
    ("cacert", "belongs to brunt load: leave it out here and give --cacert there"),
    ("unix-socket", "belongs to brunt load: leave it out here and give --connect-to unix:PATH there"),
    ("resolve", "belongs to brunt load: leave it out here and give --connect-to there"),
    ("connect-to", "belongs to brunt load: leave it out here and give --connect-to there"),
    ("netrc", "is not supported: give --basic-auth FILE to brunt load"),
    ("digest", "is not supported: its requests differ from one another"),
    ("ntlm", "is not supported: its requests differ from one another"),
    ("url-query", "is not supported: write the query in the URL"),
    ("next", "is not supported: write each request as a command of its own"),
];

/// The name of a flag of one letter.
pub(super) fn of_letter(letter: u8) -> Option<&'static str> {
    LETTERS.iter().find(|(known, _)| *known == letter).map(|(_, name)| *name)
}

/// What a flag is for; `None` if it is unknown.
pub(super) fn of_name(name: &str) -> Option<Use> {
    let refused = REFUSED.iter().find(|(known, _)| *known == name).map(|(_, remedy)| Use::Refused(remedy));
    let lists = [
        (&WITH_VALUE[..], Use::Request(true)),
        (&ALONE, Use::Request(false)),
        (&IGNORED, Use::Ignored(false)),
        (&IGNORED_WITH_VALUE, Use::Ignored(true)),
    ];
    refused.or_else(|| lists.iter().find(|(names, _)| names.contains(&name)).map(|(_, of)| *of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_stands_for_a_known_flag_and_none_is_listed_twice() {
        let refused: Vec<&str> = REFUSED.iter().map(|(name, _)| *name).collect();
        let all = [&WITH_VALUE[..], &ALONE, &IGNORED, &IGNORED_WITH_VALUE, &refused].concat();
        for (letter, name) in LETTERS {
            assert!(of_name(name).is_some(), "-{}", char::from(letter));
        }
        for name in &all {
            assert_eq!(all.iter().filter(|other| other == &name).count(), 1, "{name}");
        }
    }
}
