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
}

impl Capabilities {
    const fn new(
        name: &'static str,
        supports_rate: bool,
        corrects_coordinated_omission: bool,
        supports_no_keepalive: bool,
    ) -> Self {
        Self { name, supports_rate, corrects_coordinated_omission, supports_no_keepalive }
    }
}

pub static WRK: Capabilities = Capabilities::new("wrk", false, false, true);
pub static AB: Capabilities = Capabilities::new("ab", false, false, true);
pub static FORTIO: Capabilities = Capabilities::new("fortio", true, false, true);
pub static HEY: Capabilities = Capabilities::new("hey", true, false, true);
pub static H2LOAD: Capabilities = Capabilities::new("h2load", true, false, false);
pub static OHA: Capabilities = Capabilities::new("oha", true, true, true);

pub static EXTERNAL: [&Capabilities; 6] = [&WRK, &AB, &FORTIO, &HEY, &H2LOAD, &OHA];

pub fn names() -> Vec<&'static str> {
    std::iter::once(BRUNT).chain(EXTERNAL.iter().map(|tester| tester.name)).collect()
}

pub fn external(name: &str) -> Option<&'static Capabilities> {
    EXTERNAL.into_iter().find(|tester| tester.name == name)
}
