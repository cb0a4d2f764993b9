//! Policies by name.

use super::Policy;
use super::fixed::Fixed;
use super::graded::{self, Graded};
use super::heracles::{self, Heracles};
use super::koordinator::Koordinator;
use super::parties::Parties;
use crate::allotment::{Allotment, Bounds};
use crate::objective::Objective;
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// A policy as it is named on the command line and in plans.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub enum Choice {
    Graded,
    /// The paper's, with its periods divided by this.
    Heracles(f64),
    /// Heracles with the periods and limits of its public re-implementation.
    Prototype,
    Koordinator,
    Parties,
    /// This many cores.
    Static(f64),
    /// The ceiling, and no idle class: what happens without a controller.
    None,
}

/// A name that is no policy.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "'{0}' is no policy: graded, heracles, heracles/N (its periods divided by N), heracles-prototype, koordinator, parties, static=CORES, \
     none"
)]
pub struct Unknown(String);

impl Choice {
    pub fn policy(self, objective: Objective, bounds: Bounds) -> Box<dyn Policy> {
        match self {
            Self::Graded => Box::new(Graded::new(graded::Settings::new(objective, bounds))),
            Self::Heracles(speed) => {
                Box::new(Heracles::new(heracles::Settings::paper(objective, bounds).at_speed(speed)))
            }
            Self::Prototype => Box::new(Heracles::new(heracles::Settings::prototype(objective, bounds))),
            Self::Koordinator => Box::new(Koordinator::new(bounds)),
            Self::Parties => Box::new(Parties::new(objective, bounds)),
            Self::Static(cores) => Box::new(Fixed(Allotment::cores(cores.min(bounds.ceiling)))),
            Self::None => Box::new(Fixed(Allotment::cores(bounds.ceiling))),
        }
    }

    /// Whether BE processes have the idle scheduling class, and so run only where the LC service leaves a core.
    pub fn idle_class(self) -> bool {
        self != Self::None
    }
}

impl FromStr for Choice {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        let number = |prefix| text.strip_prefix(prefix)?.parse().ok().filter(|number| f64::is_finite(*number));
        match text {
            "graded" => return Ok(Self::Graded),
            "heracles" => return Ok(Self::Heracles(1.0)),
            "heracles-prototype" => return Ok(Self::Prototype),
            "koordinator" => return Ok(Self::Koordinator),
            "parties" => return Ok(Self::Parties),
            "none" => return Ok(Self::None),
            _ => {}
        }
        let cores = number("static=").filter(|cores| *cores >= 0.0).map(Self::Static);
        let speed = || number("heracles/").filter(|speed| (0.01..=1000.0).contains(speed)).map(Self::Heracles);
        cores.or_else(speed).ok_or_else(|| Unknown(text.to_owned()))
    }
}

impl TryFrom<String> for Choice {
    type Error = Unknown;

    fn try_from(text: String) -> Result<Self, Unknown> {
        text.parse()
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Graded => f.write_str("graded"),
            Self::Heracles(1.0) => f.write_str("heracles"),
            Self::Heracles(speed) => write!(f, "heracles/{speed}"),
            Self::Prototype => f.write_str("heracles-prototype"),
            Self::Koordinator => f.write_str("koordinator"),
            Self::Parties => f.write_str("parties"),
            Self::Static(cores) => write!(f, "static={cores}"),
            Self::None => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for choice in [
            Choice::Graded,
            Choice::Heracles(1.0),
            Choice::Heracles(2.5),
            Choice::Prototype,
            Choice::Koordinator,
            Choice::Parties,
            Choice::Static(0.5),
            Choice::None,
        ] {
            assert_eq!(choice.to_string().parse::<Choice>().unwrap(), choice);
        }
        for bad in ["", "static", "static=", "static=-1", "static=NaN", "Graded", "heracles/0", "heracles/"] {
            assert!(bad.parse::<Choice>().unwrap_err().to_string().contains(&format!("'{bad}'")), "{bad}");
        }
    }
}
