//! Policies by name.

use super::Policy;
use super::fixed::Fixed;
use super::graded::{self, Graded};
use super::heracles::{self, Heracles};
use crate::allotment::{Allotment, Bounds};
use crate::objective::Objective;
use std::fmt;
use std::str::FromStr;

/// A policy as it is named on the command line and in plans.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Choice {
    Graded,
    Heracles,
    /// Heracles with the periods and limits of its public re-implementation.
    Prototype,
    /// This many cores.
    Static(f64),
    /// The ceiling, and no idle class: what happens without a controller.
    None,
}

/// A name that is no policy.
#[derive(Debug, Clone, thiserror::Error)]
#[error("'{0}' is no policy: graded, heracles, heracles-prototype, static=CORES, none")]
pub struct Unknown(String);

impl Choice {
    pub fn policy(self, objective: Objective, bounds: Bounds) -> Box<dyn Policy> {
        match self {
            Self::Graded => Box::new(Graded::new(graded::Settings::new(objective, bounds))),
            Self::Heracles => Box::new(Heracles::new(heracles::Settings::paper(objective, bounds))),
            Self::Prototype => Box::new(Heracles::new(heracles::Settings::prototype(objective, bounds))),
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
        let cores = text.strip_prefix("static=").and_then(|cores| cores.parse().ok());
        match (text, cores) {
            ("graded", _) => Ok(Self::Graded),
            ("heracles", _) => Ok(Self::Heracles),
            ("heracles-prototype", _) => Ok(Self::Prototype),
            ("none", _) => Ok(Self::None),
            (_, Some(cores)) if f64::is_finite(cores) && cores >= 0.0 => Ok(Self::Static(cores)),
            _ => Err(Unknown(text.to_owned())),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Graded => f.write_str("graded"),
            Self::Heracles => f.write_str("heracles"),
            Self::Prototype => f.write_str("heracles-prototype"),
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
        for choice in [Choice::Graded, Choice::Heracles, Choice::Prototype, Choice::Static(0.5), Choice::None] {
            assert_eq!(choice.to_string().parse::<Choice>().unwrap(), choice);
        }
        for bad in ["", "static", "static=", "static=-1", "static=NaN", "Graded"] {
            assert!(bad.parse::<Choice>().unwrap_err().to_string().contains(&format!("'{bad}'")), "{bad}");
        }
    }
}
