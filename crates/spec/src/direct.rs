//! Settings that the generator takes as they are, since its options contain [`Direct`], and plans too if they have a description
//! for them. Those of HTTP have their rows in `http.rs`.

use crate::row;
use crate::setting::Setting;
use crate::value::words;
use brunt_results::{Count, Size};
use serde::{Deserialize, Serialize};

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
];
