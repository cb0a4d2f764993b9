//! Names and capabilities of the testers that a plan can use.

/// `brunt load`, by its name in plans.
pub const BRUNT: &str = "brunt";

/// A tester other than `brunt load`, and which loads it can make.
#[derive(Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Its name in plans, and its program.
    pub name: &'static str,
    /// Whether it sends at a given rate.
    pub supports_rate: bool,
    /// Whether at a rate its clock starts when a request was due, not when it was sent.
    pub corrects_coordinated_omission: bool,
    /// Whether it can open a connection for each request.
    pub supports_no_keepalive: bool,
    /// Whether it can end after a number of requests.
    pub supports_requests: bool,
}

const CLOSED_LOOP: Capabilities = Capabilities {
    name: "",
    supports_rate: false,
    corrects_coordinated_omission: false,
    supports_no_keepalive: true,
    supports_requests: true,
};

pub static WRK: Capabilities = Capabilities { name: "wrk", supports_requests: false, ..CLOSED_LOOP };
pub static AB: Capabilities = Capabilities { name: "ab", ..CLOSED_LOOP };
pub static FORTIO: Capabilities = Capabilities { name: "fortio", supports_rate: true, ..CLOSED_LOOP };
pub static HEY: Capabilities = Capabilities { name: "hey", supports_rate: true, ..CLOSED_LOOP };
pub static H2LOAD: Capabilities =
    Capabilities { name: "h2load", supports_rate: true, supports_no_keepalive: false, ..CLOSED_LOOP };
pub static OHA: Capabilities =
    Capabilities { name: "oha", supports_rate: true, corrects_coordinated_omission: true, ..CLOSED_LOOP };

pub static EXTERNAL: [&Capabilities; 6] = [&WRK, &AB, &FORTIO, &HEY, &H2LOAD, &OHA];

pub fn names() -> Vec<&'static str> {
    std::iter::once(BRUNT).chain(EXTERNAL.iter().map(|tester| tester.name)).collect()
}

pub fn external(name: &str) -> Option<&'static Capabilities> {
    EXTERNAL.into_iter().find(|tester| tester.name == name)
}
