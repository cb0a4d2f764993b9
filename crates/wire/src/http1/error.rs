//! Errors of received messages ([`ParseError`], with their status) and of messages to be sent ([`EncodeError`]).

/// Defines an enum of errors from a table of variants, messages and sources; with `rule`, a function of this name.
macro_rules! errors {
    ($(#[$attribute:meta])* $type:ident $($rule:ident)? { $($name:ident $(($value:ident: $of:ty))?: $text:literal, $source:literal;)* }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(rustdoc::broken_intra_doc_links, reason = "some messages hold brackets")]
        pub enum $type {
            $(#[doc = concat!($text, " (", $source, ").")] $name $(($of))?,)*
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$name $(($value))? => write!(f, $text $(, $value = $value)?),)*
                }
            }
        }

        impl std::error::Error for $type {}

        errors! { @ $($rule)? $type { $($name: $text, $source;)* } }
    };
    (@ rule $type:ident { $($name:ident: $text:literal, $source:literal;)* }) => {
        impl $type {
            /// The message and its source, which names this error among all.
            pub fn rule(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($text, " (", $source, ")"),)*
                }
            }
        }
    };
    (@ $type:ident { $($row:tt)* }) => {};
}

errors! {
    /// Why a received message is invalid. The connection cannot be used afterwards: respond with [`ParseError::status`],
    /// close.
    ParseError rule {
        RequestLine: "the request line is malformed", "RFC 9112 3";
        StatusLine: "the status line is malformed", "RFC 9112 4";
        VersionSyntax: "the HTTP version is malformed", "RFC 9112 2.3";
        VersionUnknown: "only HTTP/1.x is supported", "RFC 9110 15.6.6";
        FieldName: "a field name is malformed, folded, or followed by white space", "RFC 9112 5.1 and 5.2";
        FieldValue: "a field value holds a control character", "RFC 9110 5.5";
        LineEnding: "a line ends in a bare CR or LF", "RFC 9112 2.2";
        HeadTooLong: "the head is too long", "the limit `head`";
        TooManyFields: "the head has too many fields", "the limit `fields`";
        TargetTooLong: "the request target is too long", "the limit `target`";
        Target: "the request target is malformed, or of a form this method does not allow", "RFC 9112 3.2";
        HostMissing: "Host is missing", "RFC 9112 3.2";
        HostRepeated: "Host is given more than once", "RFC 9112 3.2";
        HostInvalid: "Host is not host[:port]", "RFC 9112 3.2";
        LengthInvalid: "Content-Length is not a decimal number of 64 bits", "RFC 9110 8.6";
        LengthRepeated: "Content-Length is given more than once", "RFC 9112 6.3, rule 5";
        LengthsDiffer: "Content-Length is given with different values", "RFC 9110 8.6";
        LengthAndCoding: "Content-Length and Transfer-Encoding exclude each other", "RFC 9112 6.3, rule 3";
        CodingInHttp10: "Transfer-Encoding does not exist in HTTP/1.0", "RFC 9112 6.1";
        CodingInvalid: "chunked must be the last transfer coding, once", "RFC 9112 6.1";
        CodingUnknown: "the only supported transfer coding is chunked", "RFC 9112 6.1";
        BodyTooLong: "the body is too long", "the limit `body`";
        ChunkSize: "a chunk size is not a hexadecimal number of 1 to 16 digits", "RFC 9112 7.1";
        ChunkEnd: "a chunk is longer or shorter than its size", "RFC 9112 7.1";
        ChunkExtension: "a chunk extension is malformed", "RFC 9112 7.1.1";
        ChunkExtensionsTooLong: "the chunk extensions are too long", "the limit `chunk_extensions`";
        TrailersTooLong: "the trailer section is too long", "the limit `trailers`";
        TrailerForbidden: "a trailer field may not frame or route the message", "RFC 9110 6.5.1";
        Expectation: "the only supported expectation is 100-continue", "RFC 9110 10.1.1";
        TraceWithBody: "TRACE takes no body", "RFC 9110 9.3.8";
        Truncated: "the message ends too early", "RFC 9112 8";
        Unsolicited: "bytes without a request that they respond to", "RFC 9112 9.2";
        Unanswered: "the connection ended before the response", "RFC 9112 9.5";
    }
}

impl ParseError {
    /// The status with which a server responds before it closes; 400 for errors that occur in clients only.
    pub fn status(self) -> u16 {
        match self {
            Self::TargetTooLong => 414,
            Self::HeadTooLong | Self::TooManyFields | Self::TrailersTooLong => 431,
            Self::BodyTooLong => 413,
            Self::Expectation => 417,
            Self::CodingUnknown => 501,
            Self::VersionUnknown => 505,
            _ => 400,
        }
    }
}

errors! {
    /// Why a message is not sent: it is invalid or would break its framing. Nothing of it was written.
    EncodeError {
        Status(status: u16): "status {status} cannot be sent here: use 200 to 999, or 1xx for an interim one", "RFC 9110, 15";
        InterimToHttp10: "HTTP/1.0 has no 1xx responses: leave it out", "RFC 9110, 15.2";
        Method: "the method is not a token, or is CONNECT", "which is not supported";
        Target: "the target holds white space, `#`, or a byte to be %-encoded", "or is empty";
        Host: "the host is not host[:port]", "RFC 9112, 3.2";
        FieldName: "the field name is not a token", "RFC 9110, 5.1";
        FieldValue: "the field value holds a control character", "RFC 9110, 5.5";
        FieldReserved: "this field is set by the writer: leave it out", "framing, `Connection`; a client's `Host`";
        ChunksInHttp10: "HTTP/1.0 has no chunks: give the length", "RFC 9112, 6.1";
        TraceWithBody: "TRACE takes no body: leave it out", "RFC 9110, 9.3.8";
        BodyTooLong(over: u64): "the body is {over} bytes longer than announced", "nothing of the surplus is written";
        BodyTooShort(missing: u64): "the body is {missing} bytes shorter than announced", "close the connection";
        PipelineTooDeep: "HEAD behind 64 outstanding requests: wait for responses", "HEAD only";
    }
}
