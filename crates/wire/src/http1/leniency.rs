//! What a lenient client accepts in a response although the grammar has it not, and a set of such rules.

use std::fmt;

/// Defines the rules from a table of variants, what responses hold, and the source that allows to accept it.
macro_rules! rules {
    ($($name:ident: $text:literal, $source:literal;)*) => {
        /// A rule by which a lenient client accepts a response.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Leniency {
            $(#[doc = concat!($text, " (", $source, ").")] $name,)*
        }

        impl Leniency {
            const ALL: &[Self] = &[$(Self::$name),*];

            /// What the response holds, and the source.
            pub fn rule(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($text, " (", $source, ")"),)*
                }
            }
        }
    };
}

rules! {
    BlankLine: "blank lines before the status line", "RFC 9112 2.2";
    StatusLineSpace: "white space in the status line", "RFC 9112 4";
    MinorVersion: "a later minor version", "RFC 9110 2.5";
    BareLf: "bare LF", "RFC 9112 2.2";
    BareCr: "bare CR", "RFC 9112 2.2";
    Folded: "folded field lines", "RFC 9112 5.2";
    NameSpace: "white space before a colon", "RFC 9112 5.1";
    Control: "a control character in a value", "RFC 9110 5.5";
    LengthRepeated: "Content-Length repeated with the same value", "RFC 9110 8.6";
    LengthAndCoding: "Content-Length beside Transfer-Encoding", "RFC 9112 6.3";
    CodingInHttp10: "Transfer-Encoding in HTTP/1.0", "RFC 9112 6.1";
    CodingOther: "a transfer coding other than chunked", "RFC 9112 6.3";
    CodingIdentity: "the transfer coding identity", "RFC 7230 A.2";
    EmptyMember: "empty list members", "RFC 9110 5.6.1";
    ChunkSpace: "white space or a bare semicolon behind a chunk size", "RFC 9112 7.1.1";
    TrailerFraming: "a framing field in the trailer section", "RFC 9110 6.5.1";
}

/// A set of rules.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Leniencies(u16);

const _: () = assert!(Leniency::ALL.len() <= u16::BITS as usize);

impl Leniencies {
    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds a rule.
    pub fn insert(&mut self, rule: Leniency) {
        self.0 |= 1 << rule as u16;
    }

    /// Whether the set holds a rule.
    pub fn contains(self, rule: Leniency) -> bool {
        self.0 & (1 << rule as u16) != 0
    }

    /// The rules of the set.
    pub fn iter(self) -> impl Iterator<Item = Leniency> {
        Leniency::ALL.iter().copied().filter(move |rule| self.contains(*rule))
    }

    /// Whether the client must close the connection itself, because others may read the end of the response differently.
    pub fn closes(self) -> bool {
        self.contains(Leniency::LengthAndCoding) || self.contains(Leniency::CodingInHttp10)
    }

    /// Adds the rules of another set.
    pub fn add(&mut self, more: Self) {
        self.0 |= more.0;
    }
}

impl fmt::Debug for Leniencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
