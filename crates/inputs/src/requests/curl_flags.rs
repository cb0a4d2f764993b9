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
const LETTERS: [(u8, &str); 44] = [
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
    (b'N', "buffer"),
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
    (b'0', "http1.0"),
    (b'1', "tlsv1"),
    (b'q', "disable"),
    (b'R', "remote-time"),
    (b'Z', "parallel"),
    (b'C', "continue-at"),
    (b'U', "proxy-user"),
    (b'Y', "speed-limit"),
    (b'y', "speed-time"),
    (b'z', "time-cond"),
];

const WITH_VALUE: [&str; 17] = [
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
    "form",
    "form-string",
];

const ALONE: [&str; 5] = ["head", "get", "globoff", "compressed", "basic"];

const IGNORED: [&str; 60] = [
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
    "progress-bar",
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
    "tlsv1",
    "tlsv1.2",
    "tlsv1.3",
    "raw",
    "parallel",
    "ssl-no-revoke",
    "tlsv1.0",
    "tlsv1.1",
    "http0.9",
    "http3-only",
    "tcp-fastopen",
    "compressed-ssh",
    "ssl",
    "ssl-reqd",
    "ssl-allow-beast",
    "retry-all-errors",
    "retry-connrefused",
    "create-dirs",
    "remote-time",
    "remove-on-error",
    "styled-output",
    "junk-session-cookies",
    "suppress-connect-headers",
    "parallel-immediate",
    "post301",
    "post302",
    "post303",
    "tr-encoding",
    "cert-status",
    "false-start",
    "keepalive",
    "sessionid",
    "alpn",
    "npn",
    "buffer",
    "progress-meter",
];

const IGNORED_WITH_VALUE: [&str; 36] = [
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
    "ciphers",
    "tls13-ciphers",
    "curves",
    "interface",
    "dns-servers",
    "noproxy",
    "max-filesize",
    "speed-limit",
    "speed-time",
    "trace",
    "trace-ascii",
    "output-dir",
    "expect100-timeout",
    "happy-eyeballs-timeout-ms",
    "parallel-max",
    "alt-svc",
    "hsts",
    "local-port",
    "proto",
    "proto-default",
    "proto-redir",
    "rate",
];

const REFUSED: [(&str, &str); 24] = [
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
    ("aws-sigv4", "is not supported: its requests differ from one another"),
    ("anyauth", "is not supported: a load sends no request twice; give --basic-auth FILE to brunt load"),
    ("negotiate", "is not supported: its requests differ from one another"),
    ("socks5", "is not supported: brunt load connects to the host itself, or with --connect-to to another"),
    ("socks5-hostname", "is not supported: brunt load connects to the host itself, or with --connect-to to another"),
    ("proxy-user", "is not supported: give --proxy-auth FILE to brunt load"),
    ("request-target", "is not supported: write the path in the URL"),
    ("variable", "is not supported: write its value"),
    ("continue-at", "is not supported: write the bytes with -r"),
    ("time-cond", "is not supported: write If-Modified-Since with -H"),
];

/// The name of a flag of one letter.
pub(super) fn of_letter(letter: u8) -> Option<&'static str> {
    LETTERS.iter().find(|(known, _)| *known == letter).map(|(_, name)| *name)
}

/// What a flag is for; `None` if it is unknown. Each that takes no value has one with `no-` before it.
pub(super) fn of_name(name: &str) -> Option<Use> {
    if let Some(positive) = name.strip_prefix("no-") {
        let is_switch = ALONE.contains(&positive) || IGNORED.contains(&positive);
        return is_switch.then_some(Use::Ignored(false));
    }
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
