//! Two targets of a plan, measured to be compared: the arguments of `brunt run`, and the comparison of what it leaves.

use brunt_lab::compare::{self, Comparison, ResultSet};
use brunt_results::{Error, Figure};
use std::path::Path;

/// Default repeats: tells 5 % from 0 and 0 from 3 % where repeats vary by 2 %.
const REPEATS: u32 = 16;
/// Default starts by slices.
const STARTS: u32 = 5;

pub(in crate::cmd) struct Pair<'a> {
    pub plan: &'a str,
    pub targets: [&'a str; 2],
    pub out: &'a Path,
    pub repeat: Option<u32>,
    pub margin: f64,
    pub quiet: bool,
    /// The user's for the run, which have precedence.
    pub flags: &'a [String],
}

impl Pair<'_> {
    /// Arguments of `brunt run`: by slices, or by trials in ABBA order.
    pub fn words(&self, is_sliced: bool) -> Vec<String> {
        let repeats = self.repeat.unwrap_or(if is_sliced { STARTS } else { REPEATS }).to_string();
        let (order, margin) = (if is_sliced { "slices" } else { "abba" }, format!("{}%", self.margin * 100.0));
        let [a, b] = self.targets;
        let only = format!("target={a},target={b}");
        let place = self.out.display().to_string();
        let words = [self.plan, "--only", &only, "--repeat", &repeats, "--out", &place];
        let mut words: Vec<String> = words.map(str::to_owned).into();
        let is_given = |flag: &str| self.flags.iter().any(|word| word.split('=').next() == Some(flag));
        for (flag, value) in [("--order", order), ("--margin", margin.as_str())] {
            if !is_given(flag) {
                words.extend([flag, value].map(str::to_owned));
            }
        }
        if self.quiet {
            words.push("--quiet".to_owned());
        }
        words.extend(self.flags.iter().cloned());
        words
    }
}

/// Compares the second target of a run with the first: by slices if it was made so, else by its repeats, which have the figures asked for besides.
pub(in crate::cmd) fn compared(
    dir: &Path,
    [a, b]: [&str; 2],
    margin: f64,
    asked: &[&'static Figure],
) -> Result<Comparison, Error> {
    if let Some(sliced) = compare::sliced(dir, a, b, margin)? {
        return Ok(sliced);
    }
    let all = ResultSet::read(dir)?;
    compare::compare_with(&all.of_target(a)?, &all.of_target(b)?, margin, asked)
}
