//! Description of the requests of a load, before they are rendered.

/// Parts common to all requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Any token but CONNECT.
    pub method: String,
    /// Headers other than `Host`, `Connection` and those that frame the body, in order.
    pub fields: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    pub http10: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestTarget {
    /// `Host` header: `host[:port]`.
    pub host: String,
    /// Path and query, %-encoded.
    pub target: String,
    /// Relative frequency; at least 1.
    pub weight: u32,
}
