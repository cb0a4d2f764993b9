//! Settings that the generator takes as they are, since its options contain [`Direct`], and plans too if they have a description
//! for them.

use crate::row;
use crate::setting::{Heading, Setting};
use crate::value::words;
use brunt_results::{Count, Size};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Direct {
    /// Replies of an echo server are counted and not compared.
    pub no_verify: bool,
    /// TCP_NODELAY of the connections; `None` is on.
    pub nodelay: Option<OnOff>,
    /// HTTP replies that break a rule are refused, also where a user agent may accept them.
    pub strict_http: bool,
    /// Most bytes of the head of a reply.
    pub max_header: Option<Size>,
    /// Most fields of a reply.
    pub max_fields: Option<Count>,
    /// Redirects on the same host and port are followed.
    pub location: bool,
    /// Most redirects in a row that are followed.
    pub max_redirs: Option<Count>,
}

/// Size of the head of a reply.
const MAX_HEADER: RangeInclusive<u64> = 64..=16 << 20;
/// Fields of a reply.
const MAX_FIELDS: RangeInclusive<u64> = 1..=100_000;

impl Direct {
    /// # Errors
    /// A limit of replies is out of range.
    pub fn check(&self) -> Result<(), String> {
        if let Some(size) = self.max_header.filter(|size| !MAX_HEADER.contains(&size.0)) {
            return Err(format!("--max-header {size}: must be from 64B to 16MiB"));
        }
        match self.max_fields.filter(|count| !MAX_FIELDS.contains(&count.0)) {
            Some(count) => Err(format!("--max-fields {count}: must be from 1 to 100000")),
            None => Ok(()),
        }
    }
}

words! {
    OnOff { On = "on", Off = "off" }
}

pub const DIRECT: &[Setting] = &[
    row!(direct.no_verify).long("no-verify").help("", "Count the bytes of tcp:// replies without comparing them"),
    row!(direct.nodelay)
        .long("nodelay")
        .help("ON|OFF", "TCP_NODELAY: off lets the kernel hold a small request back until earlier ones are acknowledged [default: on]")
        .plan("TCP_NODELAY of the generator's connections: on or off. Default on.")
        .field("TCP_NODELAY", ""),
    row!(direct.strict_http)
        .under(Heading::Http)
        .long("strict-http")
        .help(
            "",
            "Refuse replies that break a rule of HTTP/1 also where a client may accept them: bare LF, folded lines, a repeated \
             Content-Length and others",
        )
        .plan("HTTP: whether replies that break a rule of HTTP/1 are refused also where a client may accept them."),
    row!(direct.max_header)
        .under(Heading::Http)
        .long("max-header")
        .help("SIZE", "Maximum size of the head of a reply; beyond it is refused [default: 256KiB]")
        .plan("HTTP: maximum size of the head of a reply. Default 256KiB."),
    row!(direct.max_fields)
        .under(Heading::Http)
        .long("max-fields")
        .help("COUNT", "Maximum number of header fields of a reply; beyond it is refused [default: 1000]")
        .plan("HTTP: maximum number of header fields of a reply. Default 1000."),
    row!(direct.location)
        .under(Heading::Http)
        .short('L')
        .long("location")
        .help(
            "",
            "Follow redirects on the same host and port: where one leads is the next request of its connection, with a time of \
             its own, and one of -n and -R. Others are errors",
        )
        .plan("HTTP: whether redirects on the same host and port are followed, each as a request of its own; others are errors."),
    row!(direct.max_redirs)
        .under(Heading::Http)
        .long("max-redirs")
        .help("COUNT", "Maximum number of redirects in a row with -L; another is an error [default: 10]")
        .requires("location")
        .plan("HTTP: maximum number of redirects in a row where they are followed; another is an error. Default 10."),
];
