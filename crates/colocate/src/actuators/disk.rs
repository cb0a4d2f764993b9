//! Bytes a second read from and written to a disk.

use super::{Capability, Part, Resource, knob::Knob};
use crate::allotment::Allotment;
use crate::cgroup::Group;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// A limit on one disk. It does not depend on the allotment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskLimit {
    /// A block device, or a file or directory on it.
    pub place: PathBuf,
    /// Bytes a second, of reads and of writes each.
    pub rate: u64,
}

#[derive(Debug)]
pub(super) struct Disk {
    limit: Option<DiskLimit>,
    max: Option<Knob>,
    one: Option<[Knob; 2]>,
    missing: String,
}

impl Disk {
    pub(super) fn new(group: &Group, limit: Option<&DiskLimit>) -> Self {
        let one = ["blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"]
            .map(|name| Knob::find(group, &[name]));
        let [read, write] = one;
        Self {
            limit: limit.cloned(),
            max: Knob::find(group, &["io.max"]),
            one: read.zip(write).map(|(read, write)| [read, write]),
            missing: group.why_missing("blkio"),
        }
    }
}

impl Part for Disk {
    fn resource(&self) -> Resource {
        Resource::Disk
    }

    fn capability(&self) -> Capability {
        let buffered = "writes through the page cache are not limited, only direct and synchronous ones";
        match (&self.max, &self.one) {
            (None, None) => Capability::missing(
                Resource::Disk,
                &*self.missing,
                "BE jobs compete with the LC service for disks as equals",
            ),
            _ if self.limit.is_none() => Capability::available(Resource::Disk, "no limit asked for"),
            (Some(max), _) => Capability::available(Resource::Disk, max.shown()),
            (None, Some([_, write])) => Capability::available(Resource::Disk, write.shown()).but(buffered),
        }
    }

    /// Set once: it does not depend on the allotment.
    fn apply(&mut self, _: &Allotment) -> io::Result<bool> {
        self.floor()
    }

    fn floor(&mut self) -> io::Result<bool> {
        let Some(limit) = &self.limit else { return Ok(false) };
        let device = device(limit)?;
        let rate = limit.rate;
        let has = |start: String, words: Vec<String>| {
            move |shown: &str| {
                let line = shown.lines().find_map(|line| line.strip_prefix(start.as_str()));
                line.is_some_and(|line| words.iter().all(|word| line.split_whitespace().any(|found| found == word)))
            }
        };
        let start = format!("{device} ");
        match (&self.max, &self.one) {
            (Some(max), _) => {
                let words = [format!("rbps={rate}"), format!("wbps={rate}")];
                max.set_until(&format!("{device} {} {}", words[0], words[1]), has(start, words.into()))
            }
            (None, Some(knobs)) => knobs.iter().try_fold(false, |any, knob| {
                let set = knob.set_until(&format!("{device} {rate}"), has(start.clone(), vec![rate.to_string()]))?;
                Ok(any | set)
            }),
            (None, None) => Ok(false),
        }
    }
}

/// `major:minor` of the whole disk: partitions have no limit of their own.
pub(super) fn device(limit: &DiskLimit) -> io::Result<String> {
    let place = &limit.place;
    let data = std::fs::metadata(place)
        .map_err(|error| io::Error::new(error.kind(), format!("disk {}: {error}", place.display())))?;
    let is_device = data.mode() & 0o170_000 == 0o060_000;
    let number = if is_device { data.rdev() } else { data.dev() };
    let text = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
    let block = std::fs::canonicalize(format!("/sys/dev/block/{text}"));
    let no_disk = |_| io::Error::other(format!("disk {}: {text} is no block device: name a disk", place.display()));
    let block = block.map_err(no_disk)?;
    let whole = if block.join("partition").exists() { block.parent().map(|disk| disk.join("dev")) } else { None };
    whole.map_or(Ok(text), |dev| Ok(std::fs::read_to_string(dev)?.trim().to_owned()))
}
