//! The ladder of optional ring features: which there are, which this kernel has, which the environment leaves out.
//!
//! Each is found by trying or by what the kernel says of itself, never by its version. `BRUNT_RING` takes rungs away, so
//! that a new machine can be tested as if it were an old one.

use std::io;

/// One optional feature of io_uring, and what became of it here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingFeature {
    /// As `BRUNT_RING` names it.
    pub name: &'static str,
    /// The Linux that brought it.
    pub since: &'static str,
    /// What it is good for.
    pub gives: &'static str,
    /// Why it is not used; `None` if it is.
    pub missing: Option<&'static str>,
}

/// The features by name, with the kernel that brought them and what they give.
const ALL: [(Feature, &str, &str, &str); 4] = [
    (Feature::NoSqArray, "no-sqarray", "6.6", "one array less to write a request"),
    (Feature::RegisteredRing, "registered-ring", "5.18", "one descriptor lookup less an enter"),
    (
        Feature::NoIowait,
        "no-iowait",
        "6.15",
        "a core that waits for the network counts as idle, not as waiting for a disk",
    ),
    (Feature::RingMessage, "ring-message", "5.18", "a worker wakes another without an eventfd"),
];
const KERNEL: &str = "not in this kernel";
const LEFT_OUT: &str = "left out by BRUNT_RING";

/// A feature that the code asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feature {
    NoSqArray,
    RegisteredRing,
    NoIowait,
    RingMessage,
}

/// The rungs of one ring.
#[derive(Debug, Clone)]
pub(super) struct Rungs([Option<&'static str>; ALL.len()]);

impl Rungs {
    /// All of them, save what `BRUNT_RING` leaves out: names with commas between them, or `plain` for all.
    pub fn from_environment() -> io::Result<Self> {
        Self::without(std::env::var("BRUNT_RING").ok().as_deref())
    }

    fn without(names: Option<&str>) -> io::Result<Self> {
        let mut rungs = Self([None; ALL.len()]);
        for name in names.unwrap_or("").split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let mut any = false;
            for (feature, known, ..) in ALL {
                if name == known || name == "plain" {
                    rungs.0[feature as usize] = Some(LEFT_OUT);
                    any = true;
                }
            }
            if !any {
                let known: Vec<&str> = ALL.iter().map(|(_, known, ..)| *known).collect();
                let known = known.join(", ");
                let message =
                    format!("BRUNT_RING leaves out '{name}'; it can leave out {known}, or plain for all of them");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        }
        Ok(rungs)
    }

    pub fn has(&self, feature: Feature) -> bool {
        self.0[feature as usize].is_none()
    }

    /// The kernel has said no.
    pub fn miss(&mut self, feature: Feature) {
        self.0[feature as usize].get_or_insert(KERNEL);
    }

    pub fn report(&self) -> Vec<RingFeature> {
        let rung = |(feature, name, since, gives): (Feature, _, _, _)| RingFeature {
            name,
            since,
            gives,
            missing: self.0[feature as usize],
        };
        ALL.into_iter().map(rung).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_takes_rungs_away_by_name_and_an_unknown_name_is_an_error_that_lists_them() {
        let left = |names| Rungs::without(names).map(|rungs| ALL.map(|(feature, ..)| rungs.has(feature)));
        assert_eq!(left(None).unwrap(), [true; 4]);
        assert_eq!(left(Some("")).unwrap(), [true; 4]);
        assert_eq!(left(Some("plain")).unwrap(), [false; 4]);
        assert_eq!(left(Some("no-iowait, no-sqarray")).unwrap(), [false, true, false, true]);
        let error = left(Some("no-iowait,sqpoll")).unwrap_err().to_string();
        assert!(error.contains("'sqpoll'") && ALL.iter().all(|(_, name, ..)| error.contains(name)), "{error}");
    }
}
