//! Policies that do not react: `static` and `none`.

use super::{Decision, Policy, Reason};
use crate::allotment::Allotment;
use crate::readings::Readings;
use std::time::Duration;

/// The same allotment at all times.
#[derive(Debug, Clone, Copy)]
pub struct Fixed(pub Allotment);

impl Policy for Fixed {
    fn decide(&mut self, _now: Duration, _readings: &Readings) -> Decision {
        Decision { allotment: self.0, reason: Reason::Fixed }
    }
}
