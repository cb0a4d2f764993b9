//! The words of a verdict, and ratios with their intervals as text.

use super::{Ratio, Verdict};
use crate::units::share;

impl Verdict {
    /// In a narrow column.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NoDifference => "no difference",
            Self::Different => "different",
            Self::CannotTell { .. } => "cannot tell",
            Self::Imprecise { .. } => "imprecise",
            Self::ClientLimited => "client-limited",
            Self::Errors => "errors",
        }
    }

    /// What happened, as the rest of a sentence that begins with the figure: `no difference within 3 %`.
    pub fn clause(&self, margin: f64) -> String {
        match self {
            Self::NoDifference => format!("no difference within {}", share(margin)),
            Self::ClientLimited => "the generator was full".to_owned(),
            Self::Errors => "requests failed".to_owned(),
            Self::Different | Self::CannotTell { .. } | Self::Imprecise { .. } => self.word().to_owned(),
        }
    }

    /// The clause, and what would give an answer: `cannot tell: about 12 rounds would`. `sample` is a round or a repeat.
    pub fn words(&self, margin: f64, sample: &str) -> String {
        let clause = self.clause(margin);
        match self {
            Self::CannotTell { needed: None } | Self::Imprecise { needed: None } => format!("{clause}: more {sample}s"),
            Self::CannotTell { .. } | Self::Imprecise { .. } => format!("{clause}{}", self.remedy(sample)),
            Self::ClientLimited => format!("{}: {clause}", self.word()),
            Self::NoDifference | Self::Different | Self::Errors => clause,
        }
    }

    /// `: about 12 rounds would`; empty where that is not known, or there is an answer.
    pub fn remedy(&self, sample: &str) -> String {
        match self {
            Self::CannotTell { needed: Some(needed) } | Self::Imprecise { needed: Some(needed) } => {
                format!(": about {needed} {sample}{} would", if *needed == 1 { "" } else { "s" })
            }
            _ => String::new(),
        }
    }
}

impl Ratio {
    /// `x1.20 [1.18 1.23]`.
    pub fn text(&self) -> String {
        ratio(self.ratio, Some((self.low, self.high)))
    }

    /// The number and the interval of [`Self::text`]: `1.20` and `[1.18 1.23]`.
    pub fn parts(&self) -> (String, String) {
        parts(self.ratio, self.low, self.high)
    }

    /// The relative change: `-5.0 %`.
    pub fn change_text(&self) -> String {
        format!("{} %", signed(self.change()))
    }

    /// Its interval: `-6.0..-4.0 %`.
    pub fn change_range(&self) -> String {
        format!("{}..{} %", signed(self.low - 1.0), signed(self.high - 1.0))
    }
}

/// A ratio to a baseline: `x1.20`, with more decimals for a closer interval.
pub fn ratio(ratio: f64, interval: Option<(f64, f64)>) -> String {
    match interval.map(|(low, high)| parts(ratio, low, high)) {
        Some((ratio, interval)) => format!("x{ratio} {interval}"),
        None => format!("x{ratio:.2}"),
    }
}

fn parts(ratio: f64, low: f64, high: f64) -> (String, String) {
    let decimals = decimals(low, high);
    (format!("{ratio:.decimals$}"), format!("[{low:.decimals$} {high:.decimals$}]"))
}

/// Decimals that tell the ends of an interval apart.
fn decimals(low: f64, high: f64) -> usize {
    match high {
        high if high >= 99.5 => 0,
        high if high >= 9.95 => 1,
        high if high - low < 0.02 => 3,
        _ => 2,
    }
}

/// A share as signed percent; zero has no sign.
pub fn signed(share: f64) -> String {
    let text = format!("{:+.1}", share * 100.0);
    if matches!(text.as_str(), "+0.0" | "-0.0") { "0.0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_the_decimals_that_their_interval_supports() {
        assert_eq!(ratio(1.2, Some((1.18, 1.234))), "x1.20 [1.18 1.23]");
        assert_eq!(ratio(1.018, Some((1.014, 1.0221))), "x1.018 [1.014 1.022]");
        assert_eq!(ratio(12.34, Some((11.9, 12.81))), "x12.3 [11.9 12.8]");
        assert_eq!(ratio(123.4, Some((99.9, 150.0))), "x123 [100 150]");
        assert_eq!(ratio(0.5, None), "x0.50");
        assert_eq!([-0.05, 0.0004, -0.0004, 0.1234].map(signed), ["-5.0", "0.0", "0.0", "+12.3"]);
    }

    #[test]
    fn verdicts_are_told_in_words() {
        let words = |verdict: Verdict| verdict.words(0.03, "round");
        assert_eq!(words(Verdict::NoDifference), "no difference within 3 %");
        assert_eq!(words(Verdict::CannotTell { needed: Some(12) }), "cannot tell: about 12 rounds would");
        assert_eq!(words(Verdict::Imprecise { needed: None }), "imprecise: more rounds");
        assert_eq!(words(Verdict::ClientLimited), "client-limited: the generator was full");
        assert_eq!(words(Verdict::Errors), "requests failed");
    }

    #[test]
    fn json_names_the_samples() {
        let json = |verdict: &Verdict| serde_json::to_string(verdict).unwrap();
        assert_eq!(json(&Verdict::NoDifference), r#""no-difference""#);
        assert_eq!(json(&Verdict::CannotTell { needed: Some(3) }), r#"{"cannot-tell":{"rounds":3}}"#);
        assert_eq!(json(&Verdict::Imprecise { needed: None }), r#"{"imprecise":{"rounds":null}}"#);
    }
}
