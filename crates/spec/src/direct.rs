//! Settings that the generator takes as they are, since its options contain [`Direct`], and plans too if they have a description
//! for them.

use crate::row;
use crate::setting::{Heading, Setting};
use crate::value::words;
use brunt_results::{Count, Size, Span};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::time::Duration;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Direct {
    /// Replies of an echo server are counted and not compared.
    pub no_verify: bool,
    /// TCP_NODELAY of the connections; `None` is on.
    pub nodelay: Option<OnOff>,
    /// Which connection takes the next request of an open loop.
    pub spread: Option<Spread>,
    /// Requests of an open loop are sent at multiples of this time after its start only.
    pub send_tick: Option<Span>,
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
/// Times between two sends of what is due.
const SEND_TICK: RangeInclusive<Duration> = Duration::from_micros(10)..=Duration::from_secs(1);
/// Fields of a reply.
const MAX_FIELDS: RangeInclusive<u64> = 1..=100_000;

impl Direct {
    /// Which connection takes the next request of an open loop.
    pub fn spread(&self) -> Spread {
        self.spread.unwrap_or(Spread::DEFAULT)
    }

    /// # Errors
    /// A limit of replies, or the time between sends, is out of range.
    pub fn check(&self) -> Result<(), String> {
        if let Some(size) = self.max_header.filter(|size| !MAX_HEADER.contains(&size.0)) {
            return Err(format!("--max-header {size}: must be from 64B to 16MiB"));
        }
        if let Some(tick) = self.send_tick.filter(|tick| !SEND_TICK.contains(&tick.0)) {
            return Err(format!("--send-tick {tick}: must be from 10us to 1s"));
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

words! {
    /// Which of several idle connections takes the next request.
    Spread {
        /// The one that has been idle longest.
        Turns = "turns",
        /// Any, with equal probability.
        Random = "random",
    }
}

impl Spread {
    /// With turns, each connection rests for connections / rate, and a delay that needs a shorter rest is in no request.
    pub const DEFAULT: Self = Self::Random;

    pub fn word(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::Random => "random",
        }
    }
}

pub const DIRECT: &[Setting] = &[
    row!(direct.no_verify).long("no-verify").help("", "Count the bytes of tcp:// replies without comparing them"),
    row!(direct.nodelay)
        .long("nodelay")
        .help("ON|OFF", "TCP_NODELAY: off lets the kernel hold a small request back until earlier ones are acknowledged [default: on]")
        .plan("TCP_NODELAY of the generator's connections: on or off. Default on.")
        .field("TCP_NODELAY", ""),
    row!(direct.spread)
        .long("spread")
        .help(
            "ORDER",
            "Open loop: the connection that takes the next request is the one idle longest, or any idle one at random \
             [default: random]",
        )
        .plan("Which idle connection takes the next request of a rate: turns (the one idle longest) or random. Default random.")
        .field("Idle connections of an open loop take requests", ""),
    row!(direct.send_tick)
        .long("send-tick")
        .help(
            "TIME",
            "Open loop: send at multiples of this time only, all that is due at once, as generators with a timer do; to see what \
             that changes [default: each request when it is due]",
        )
        .plan("At a rate: requests are sent at multiples of this time only, all that is due at once. Default: each when it is due."),
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
