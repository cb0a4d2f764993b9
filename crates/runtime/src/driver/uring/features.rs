//! The optional features of a ring, detected by trying or from the flags the kernel reports, never by its version.

use std::io;

/// One optional feature of io_uring, and whether the runtime uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingFeature {
    /// Its name for [`Builder::without_ring_features`](crate::Builder::without_ring_features).
    pub name: &'static str,
    /// The Linux version that introduced it.
    pub since: &'static str,
    /// Its benefit.
    pub gives: &'static str,
    /// Why it is not used; `None` if it is used.
    pub missing: Option<&'static str>,
}

/// All features: name, Linux version, benefit.
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
const LEFT_OUT: &str = "left out by request";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feature {
    NoSqArray,
    RegisteredRing,
    NoIowait,
    RingMessage,
}

/// The features of one ring: why each is missing, if it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Features([Option<&'static str>; ALL.len()]);

impl Features {
    /// All features but those named, separated by commas, or `plain` for all. Errors name the `source` of the list.
    pub fn without(names: &str, source: &str) -> io::Result<Self> {
        let mut features = Self([None; ALL.len()]);
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let named = || ALL.iter().filter(|(_, known, ..)| name == *known || name == "plain");
            named().for_each(|(feature, ..)| features.0[*feature as usize] = Some(LEFT_OUT));
            if named().next().is_none() {
                let known = ALL.map(|(_, known, ..)| known).join(", ");
                let message =
                    format!("{source} leaves out '{name}'; it can leave out {known}, or plain for all of them");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        }
        Ok(features)
    }

    pub fn has(&self, feature: Feature) -> bool {
        self.0[feature as usize].is_none()
    }

    pub fn miss(&mut self, feature: Feature) {
        self.0[feature as usize].get_or_insert(KERNEL);
    }

    pub fn report(&self) -> Vec<RingFeature> {
        let report = |(feature, name, since, gives)| {
            let missing = self.0[feature as usize];
            RingFeature { name, since, gives, missing }
        };
        ALL.into_iter().map(report).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_left_out_by_name_and_an_unknown_name_is_an_error_that_lists_them() {
        let left =
            |names| Features::without(names, "RING").map(|features| ALL.map(|(feature, ..)| features.has(feature)));
        assert_eq!(left("").unwrap(), [true; 4]);
        assert_eq!(left("plain").unwrap(), [false; 4]);
        assert_eq!(left("no-iowait, no-sqarray").unwrap(), [false, true, false, true]);
        let error = left("no-iowait,sqpoll").unwrap_err().to_string();
        assert!(error.contains("'sqpoll'") && ALL.iter().all(|(_, name, ..)| error.contains(name)), "{error}");
    }
}
