//! The size of a working set: in bytes, or relative to the last-level cache.

use crate::error::{StressError, usage};
use brunt_results::Size;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WorkingSet {
    Bytes(u64),
    /// Times the size of the last-level cache.
    Caches(f64),
}

impl FromStr for WorkingSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "'{text}' is neither a size such as 16MiB nor a part or multiple of the last-level cache such as 1/2, 1x or 4x"
            )
        };
        let whole = |text: &str| text.parse::<u16>().ok().filter(|number| *number > 0).map(f64::from);
        if let Some((above, below)) = text.split_once('/') {
            return whole(above)
                .zip(whole(below))
                .map(|(above, below)| Self::Caches(above / below))
                .ok_or_else(expected);
        }
        if let Some(times) = text.strip_suffix('x') {
            return whole(times).map(Self::Caches).ok_or_else(expected);
        }
        text.parse::<Size>().map(|size| Self::Bytes(size.0)).map_err(|_| expected())
    }
}

impl WorkingSet {
    /// The size in bytes, beside the cache of this core.
    pub(crate) fn bytes(self, core: usize) -> Result<u64, StressError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Caches(times) => match last_level_cache(core) {
                Ok(cache) => Ok((cache as f64 * times) as u64),
                Err(why) => usage(format!(
                    "the size of the last-level cache is unknown ({why}); give --size in bytes, for example 16MiB"
                )),
            },
        }
    }
}

/// Bytes of the last cache of this core that holds data.
pub(crate) fn last_level_cache(core: usize) -> Result<u64, String> {
    last_level_in(&PathBuf::from(format!("/sys/devices/system/cpu/cpu{core}/cache")))
}

fn last_level_in(folder: &Path) -> Result<u64, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let read = |entry: &Path, name: &str| fs::read_to_string(entry.join(name)).ok().map(|text| text.trim().to_owned());
    let data_cache = |entry: &Path| {
        let level: u32 = read(entry, "level")?.parse().ok()?;
        let bytes = kernel_size(&read(entry, "size")?)?;
        (read(entry, "type")? != "Instruction").then_some((level, bytes))
    };
    let caches = entries.flatten().filter_map(|entry| data_cache(&entry.path()));
    caches.max().map(|(_, bytes)| bytes).ok_or_else(|| format!("{} names no cache with a size", folder.display()))
}

/// A size as sysfs writes it, `32768K`.
fn kernel_size(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let unit = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_or_relative_to_the_cache() {
        for (text, set) in
            [("16MiB", WorkingSet::Bytes(16 << 20)), ("1/4", WorkingSet::Caches(0.25)), ("4x", WorkingSet::Caches(4.0))]
        {
            assert_eq!(text.parse(), Ok(set));
        }
        for text in ["", "x", "0x", "1/0", "0/2", "/", "-1x", "1.5x", "16MB", "1/2x"] {
            assert!(text.parse::<WorkingSet>().unwrap_err().contains("such as 16MiB"), "{text}");
        }
    }

    #[test]
    fn the_last_level_is_the_highest_with_data() {
        let folder = tempfile::tempdir().unwrap();
        assert!(last_level_in(folder.path()).unwrap_err().contains("names no cache"));
        let caches =
            [("1", "Data", "48K"), ("4", "Instruction", "1G"), ("3", "Unified", "32M"), ("2", "Unified", "2048K")];
        for (index, (level, kind, size)) in caches.into_iter().enumerate() {
            let entry = folder.path().join(format!("index{index}"));
            fs::create_dir(&entry).unwrap();
            for (name, value) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(entry.join(name), format!("{value}\n")).unwrap();
            }
        }
        assert_eq!(last_level_in(folder.path()), Ok(32 << 20));
        assert!(last_level_in(&folder.path().join("none")).unwrap_err().contains("none"));
    }
}
