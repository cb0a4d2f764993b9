//! Status codes, reason phrases and status lines.

/// Defines phrases and complete lines for the registered codes.
macro_rules! statuses {
    ($($code:literal $phrase:literal,)*) => {
        /// The reason phrase that the IANA registry gives for a status code; empty for others.
        pub fn reason(status: u16) -> &'static str {
            match status {
                $($code => $phrase,)*
                _ => "",
            }
        }

        /// The whole line of a registered code.
        #[inline]
        fn line(status: u16) -> Option<&'static str> {
            match status {
                $($code => Some(concat!("HTTP/1.1 ", $code, " ", $phrase, "\r\n")),)*
                _ => None,
            }
        }
    };
}

statuses! {
    100 "Continue",
    101 "Switching Protocols",
    102 "Processing",
    103 "Early Hints",
    200 "OK",
    201 "Created",
    202 "Accepted",
    203 "Non-Authoritative Information",
    204 "No Content",
    205 "Reset Content",
    206 "Partial Content",
    207 "Multi-Status",
    208 "Already Reported",
    226 "IM Used",
    300 "Multiple Choices",
    301 "Moved Permanently",
    302 "Found",
    303 "See Other",
    304 "Not Modified",
    305 "Use Proxy",
    307 "Temporary Redirect",
    308 "Permanent Redirect",
    400 "Bad Request",
    401 "Unauthorized",
    402 "Payment Required",
    403 "Forbidden",
    404 "Not Found",
    405 "Method Not Allowed",
    406 "Not Acceptable",
    407 "Proxy Authentication Required",
    408 "Request Timeout",
    409 "Conflict",
    410 "Gone",
    411 "Length Required",
    412 "Precondition Failed",
    413 "Content Too Large",
    414 "URI Too Long",
    415 "Unsupported Media Type",
    416 "Range Not Satisfiable",
    417 "Expectation Failed",
    418 "I'm a teapot",
    421 "Misdirected Request",
    422 "Unprocessable Content",
    423 "Locked",
    424 "Failed Dependency",
    425 "Too Early",
    426 "Upgrade Required",
    428 "Precondition Required",
    429 "Too Many Requests",
    431 "Request Header Fields Too Large",
    451 "Unavailable For Legal Reasons",
    500 "Internal Server Error",
    501 "Not Implemented",
    502 "Bad Gateway",
    503 "Service Unavailable",
    504 "Gateway Timeout",
    505 "HTTP Version Not Supported",
    506 "Variant Also Negotiates",
    507 "Insufficient Storage",
    508 "Loop Detected",
    511 "Network Authentication Required",
}

/// Appends the status line. The version is HTTP/1.1 whatever the client's: it is that of the server (RFC 9110, 2.5).
#[inline]
pub(crate) fn write_line(out: &mut Vec<u8>, status: u16) {
    match line(status) {
        Some(line) => out.extend_from_slice(line.as_bytes()),
        None => {
            out.extend_from_slice(b"HTTP/1.1 ");
            super::write_decimal(out, status.into());
            // RFC 9112, 4: the space is required also with an empty phrase.
            out.extend_from_slice(b" \r\n");
        }
    }
}
