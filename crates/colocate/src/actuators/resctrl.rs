//! The last-level cache, where the processor partitions it: BE jobs get the lowest ways of every cache.
//!
//! The LC service keeps all ways. Where no resctrl is mounted it is not mounted here.

use super::{Capability, Part, Resource, knob::Knob};
use crate::allotment::Allotment;
use crate::journal::{Change, Journal};
use brunt_meter::cgroup::Files;
use std::path::{Path, PathBuf};
use std::{io, sync::Arc};

/// Where it is mounted.
pub(crate) const ROOT: &str = "/sys/fs/resctrl";

#[derive(Debug)]
pub(super) struct Resctrl {
    dir: Option<PathBuf>,
    schemata: Option<Knob>,
    /// Cache ids, the mask of all ways, the least number of ways.
    cache: Option<(Vec<u32>, u64, u32)>,
    missing: String,
}

impl Resctrl {
    /// Creates a group of resctrl. Where that is impossible the reason is in the capability.
    pub(super) fn create(root: &Path, files: &Arc<dyn Files>, name: &str, journal: &mut Journal) -> Self {
        Self::below(root, files, name, journal).unwrap_or_else(|error| Self {
            dir: None,
            schemata: None,
            cache: None,
            missing: error.to_string(),
        })
    }

    fn below(root: &Path, files: &Arc<dyn Files>, name: &str, journal: &mut Journal) -> io::Result<Self> {
        if !files.exists(&root.join("schemata")) {
            return Err(io::Error::other(format!("{}: not mounted, or not in this processor", root.display())));
        }
        let info = root.join("info/L3");
        let mask = files.read(&info.join("cbm_mask"))?;
        let mask = u64::from_str_radix(mask.trim(), 16).map_err(|_| io::Error::other(format!("cbm_mask {mask:?}")))?;
        let least = files.read(&info.join("min_cbm_bits"))?.trim().parse().unwrap_or(1);
        let dir = root.join(name);
        journal.record(Change::Resctrl(dir.clone()))?;
        files.create_dir(&dir)?;
        let schemata = Knob::at(files, dir.join("schemata"));
        let ids = cache_line(&schemata.read()?).into_iter().map(|(id, _)| id).collect();
        Ok(Self { dir: Some(dir), schemata: Some(schemata), cache: Some((ids, mask, least)), missing: String::new() })
    }

    pub(super) fn dir(&self) -> Option<PathBuf> {
        self.dir.clone()
    }

    fn set(&self, share: f64) -> io::Result<bool> {
        let (Some(schemata), Some((ids, mask, least))) = (&self.schemata, &self.cache) else { return Ok(false) };
        let ways = ways(share, *mask, *least);
        let parts: Vec<String> = ids.iter().map(|id| format!("{id}={ways:x}")).collect();
        let holds = |shown: &str| {
            let line = cache_line(shown);
            line.len() == ids.len() && line.iter().all(|(_, found)| *found == ways)
        };
        schemata.set_until(&format!("L3:{}\n", parts.join(";")), holds)
    }
}

/// The lowest ways that make up the share, at least `least`.
fn ways(share: f64, mask: u64, least: u32) -> u64 {
    let all = mask.count_ones();
    let count = ((share.clamp(0.0, 1.0) * f64::from(all)).floor() as u32).clamp(least.max(1).min(all), all);
    if count >= 64 { mask } else { mask & ((1 << count) - 1) }
}

/// Cache ids and masks of the line `L3:0=ffff;1=ffff`.
fn cache_line(schemata: &str) -> Vec<(u32, u64)> {
    let line = schemata.lines().find_map(|line| line.trim().strip_prefix("L3:")).unwrap_or_default();
    let entry = |entry: &str| {
        let (id, mask) = entry.split_once('=')?;
        Some((id.trim().parse().ok()?, u64::from_str_radix(mask.trim(), 16).ok()?))
    };
    line.split(';').filter_map(entry).collect()
}

impl Part for Resctrl {
    fn resource(&self) -> Resource {
        Resource::Cache
    }

    fn capability(&self) -> Capability {
        match &self.schemata {
            Some(knob) => Capability::available(Resource::Cache, knob.shown()),
            None => {
                let consequence =
                    "BE jobs use the last-level cache as they like: only less CPU time takes it from them";
                Capability::missing(Resource::Cache, &*self.missing, consequence)
            }
        }
    }

    fn apply(&mut self, allotment: &Allotment) -> io::Result<bool> {
        self.set(allotment.cache.unwrap_or(1.0))
    }

    fn floor(&mut self) -> io::Result<bool> {
        self.set(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_cache_are_contiguous_ways() {
        for (share, ways_wanted) in [(0.0, 0x1), (0.25, 0xf), (0.5, 0xff), (1.0, 0xffff), (f64::NAN, 0x1)] {
            assert_eq!(ways(share, 0xffff, 1), ways_wanted, "{share}");
        }
        assert_eq!(ways(0.0, 0xfff, 2), 0x3);
        assert_eq!(cache_line("    MB:0=100\n    L3:0=ffff;1=00ff\n"), [(0, 0xffff), (1, 0xff)]);
        assert_eq!(cache_line("MB:0=100\n"), []);
    }
}
