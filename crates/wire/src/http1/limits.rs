//! Bounds on the memory and work that a peer can cause.

/// Maximum number of fields in a head or trailer section, whatever the [`Limits`]: they are parsed on the stack.
pub const MAX_FIELDS: usize = 100;

/// Bounds on one message. Passed by reference: connections hold no copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a whole head, request line and empty lines before it included. Beyond: 431, or 414 if it is the target
    /// that does not end (RFC 6585, section 5).
    pub head: usize,
    /// Fields in a head or trailer section, at most [`MAX_FIELDS`]. Beyond: 431.
    pub fields: usize,
    /// Bytes of the request target. Beyond: 414. RFC 9112, section 3 asks for request lines of at least 8000 bytes.
    pub target: usize,
    /// Bytes of a body without chunk overhead. Beyond: 413. Bodies are counted, never buffered.
    pub body: u64,
    /// Bytes of all chunk extensions of one body together (RFC 9112, section 7.1.1 asks for a bound). Beyond: 400.
    pub chunk_extensions: u32,
    /// Bytes of a trailer section. Beyond: 431.
    pub trailers: usize,
}

impl Limits {
    /// The value of [`Limits::default`]: a 16 KiB head, [`MAX_FIELDS`] fields, an 8 KiB target, a 16 MiB body,
    /// 4 KiB of chunk extensions and 8 KiB of trailers.
    pub const SERVER: Self = Self {
        head: 16 << 10,
        fields: MAX_FIELDS,
        target: 8 << 10,
        body: 16 << 20,
        chunk_extensions: 4 << 10,
        trailers: 8 << 10,
    };

    /// For clients that do not store bodies: heads up to 64 KiB, bodies of any length.
    pub const CLIENT: Self = Self { head: 64 << 10, body: u64::MAX, ..Self::SERVER };
}

impl Default for Limits {
    fn default() -> Self {
        Self::SERVER
    }
}
