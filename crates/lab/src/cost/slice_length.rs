//! The length of the slices. Until one is known to be long enough, a second slice follows at once on that of the lowest rate of each
//! target; rounds of a length that is too short are made anew.

use super::report::Length;
use crate::clock;
use crate::slices::rounds::Rounds;
use brunt_slices::cost::CostSlice;
use brunt_slices::cost::length::{self, Next, Ratios, judge, most, ratios};
use std::time::{Duration, Instant};

pub(super) struct SliceLength {
    pub slice: Duration,
    /// The rate of the second slices; `None` where the user has set the length.
    rate: Option<f64>,
    is_found: bool,
    /// Until when the length may be doubled.
    until: Instant,
}

impl SliceLength {
    /// As the user has set it.
    pub fn set(slice: Duration) -> Self {
        Self { slice, rate: None, is_found: true, until: clock::now() }
    }

    /// To be found, for slices at these rates.
    pub fn open(rates: &[f64], until: Instant) -> Self {
        Self { slice: length::FIRST, rate: length::rate_of(rates), is_found: false, until }
    }

    /// Whether a second slice follows on one at this rate.
    pub fn wants_second(&self, rate: f64) -> bool {
        !self.is_found && self.rate == Some(rate)
    }

    /// Judges the length by the slices so far; doubles it if that is to be done.
    pub fn is_too_short(&mut self, slices: &[CostSlice], rounds: &Rounds) -> bool {
        if self.is_found {
            return false;
        }
        match judge(self.slice, &of_targets(slices, |target| rounds.has(target))) {
            Next::More => false,
            Next::Enough => {
                self.is_found = true;
                false
            }
            Next::Longer if clock::now() >= self.until => false,
            Next::Longer => {
                self.slice *= 2;
                true
            }
        }
    }

    /// What is known of it, by all slices.
    pub fn result(&self, slices: &[CostSlice]) -> Length {
        match self.rate {
            None => Length::set(self.slice),
            Some(rate) => Length::found(self.slice, rate, most(&of_targets(slices, |_| true))),
        }
    }
}

fn of_targets(slices: &[CostSlice], is_wanted: impl Fn(&str) -> bool) -> Vec<Ratios> {
    let mut names: Vec<&str> = slices.iter().map(|slice| slice.slice.target.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter(|name| is_wanted(name)).map(|name| ratios(slices, name)).collect()
}
