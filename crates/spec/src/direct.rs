//! Settings that the generator takes as they are, since its options contain [`Direct`], and plans too if they have a description
//! for them.

use crate::row;
use crate::setting::Setting;
use crate::value::words;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Direct {
    /// Replies of an echo server are counted and not compared.
    pub no_verify: bool,
    /// TCP_NODELAY of the connections; `None` is on.
    pub nodelay: Option<OnOff>,
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
