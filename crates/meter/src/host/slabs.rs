//! Memory of kernel objects (slabs), and the parts of it that connections take, from `/proc/meminfo` and `/proc/slabinfo`.
//!
//! Invariant: a part is the sum of caches that hold nothing else. The kernel may keep objects of several kinds and equal size
//! in one cache (`/sys/kernel/slab` has links then); the part is unknown then, and the error names the cache.

use procfs::Current;
use std::{fs, io, path::Path};

const SLABINFO: &str = "/proc/slabinfo";
const ALIASES: &str = "/sys/kernel/slab";

/// Bytes of a part, or why they are unknown.
pub(super) type Part = Result<u64, String>;

#[derive(Debug)]
pub(super) struct Slabs {
    pub all: Option<u64>,
    /// Sockets and their files.
    pub sockets: Part,
    /// Requests of io_uring.
    pub io_uring: Part,
    /// Entries of epoll sets, and what wakes them.
    pub epoll: Part,
}

impl Slabs {
    /// What the machine has now. Not for every second: the kernel counts the objects of all its caches.
    pub(super) fn now() -> Self {
        let caches = Caches::read(Path::new(SLABINFO), Path::new(ALIASES));
        let part = |names: &[&str], optional: &[&str]| match &caches {
            Ok(caches) => caches.sum(names, optional),
            Err(why) => Err(why.clone()),
        };
        Self {
            all: procfs::Meminfo::current().ok().map(|memory| memory.slab),
            sockets: part(&["TCP", "sock_inode_cache", "filp", "dentry"], &["TCPv6"]),
            io_uring: part(&["io_kiocb"], &[]),
            epoll: part(&["eventpoll_epi", "eventpoll_pwq"], &[]),
        }
    }

    /// Why a figure of the result is absent here, if it is.
    pub(super) fn why(&self, figure: &str) -> Option<String> {
        let part = match figure {
            "slab_sockets_start_bytes" | "slab_sockets_bytes" => &self.sockets,
            "slab_io_uring_start_bytes" | "slab_io_uring_bytes" => &self.io_uring,
            "slab_epoll_start_bytes" | "slab_epoll_bytes" => &self.epoll,
            _ => return self.all.is_none().then(|| "/proc/meminfo has no Slab line".to_owned()),
        };
        part.as_ref().err().cloned()
    }
}

/// The caches by name with their bytes, and each name that stands for another cache, with that cache.
struct Caches {
    bytes: Vec<(String, u64)>,
    aliases: Vec<(String, String)>,
}

impl Caches {
    fn read(slabinfo: &Path, aliases: &Path) -> Result<Self, String> {
        let unreadable = |path: &Path, error: &io::Error| format!("{} cannot be read: {error}", path.display());
        let text = fs::read_to_string(slabinfo).map_err(|error| unreadable(slabinfo, &error))?;
        let bytes: Vec<_> = text.lines().filter_map(|line| bytes(line, procfs::page_size())).collect();
        let entries = fs::read_dir(aliases).map_err(|error| unreadable(aliases, &error))?;
        let link = |entry: fs::DirEntry| {
            let target = fs::read_link(entry.path()).ok()?;
            Some((entry.file_name().into_string().ok()?, target.file_name()?.to_str()?.to_owned()))
        };
        Ok(Self { bytes, aliases: entries.flatten().filter_map(link).collect() })
    }

    /// Bytes of these caches together; `optional` ones count where the kernel has them.
    fn sum(&self, names: &[&str], optional: &[&str]) -> Part {
        let optional = optional.iter().filter(|name| self.has(name));
        names.iter().chain(optional).map(|name| self.bytes(name)).sum()
    }

    fn has(&self, name: &str) -> bool {
        self.bytes.iter().map(|(known, _)| known).chain(self.aliases.iter().map(|(alias, _)| alias)).any(|n| n == name)
    }

    fn bytes(&self, name: &str) -> Part {
        let cache = self.aliases.iter().find(|(alias, _)| alias == name).map(|(_, cache)| cache);
        let is_other = |alias: &&(String, String)| Some(&alias.1) == cache && alias.0 != name;
        if let Some((other, _)) = self.aliases.iter().filter(is_other).min() {
            return Err(format!(
                "the kernel keeps {name} and {other} in one cache (/sys/kernel/slab/{name}); slab_nomerge on its command line separates them"
            ));
        }
        let known = self.bytes.iter().find(|(known, _)| known == name);
        known.map(|(_, bytes)| *bytes).ok_or_else(|| format!("/proc/slabinfo has no {name}"))
    }
}

/// Name and bytes of the cache in a line of `/proc/slabinfo` (slabinfo(5)): its slabs, full or not, times their pages.
fn bytes(line: &str, page_size: u64) -> Option<(String, u64)> {
    let (cache, slabs) = line.split_once(" : slabdata ")?;
    let number = |text: &str, field: usize| text.split_ascii_whitespace().nth(field)?.parse::<u64>().ok();
    let (name, pages, slabs) = (cache.split_ascii_whitespace().next()?, number(cache, 5)?, number(slabs, 1)?);
    Some((name.to_owned(), slabs.checked_mul(pages)?.checked_mul(page_size)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const TEXT: &str = "slabinfo - version: 2.1\n\
        # name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n\
        TCP                   92    104   2368   13    8 : tunables    0    0    0 : slabdata      8      8      0\n\
        io_kiocb             208    208    256   16    1 : tunables    0    0    0 : slabdata     13     13      0\n\
        eventpoll_epi        574    704    128   32    1 : tunables    0    0    0 : slabdata     22     22      0\n";

    #[test]
    fn a_cache_counts_its_pages_and_one_that_is_shared_is_unknown() {
        let home = std::env::temp_dir().join(format!("brunt-slabs-{}", std::process::id()));
        let (file, links) = (home.join("slabinfo"), home.join("slab"));
        fs::create_dir_all(&links).unwrap();
        assert!(Caches::read(&file, &links).err().unwrap().contains("slabinfo cannot be read: "));
        fs::write(&file, TEXT).unwrap();
        fs::create_dir(links.join("TCP")).unwrap();
        // A link alone does not share.
        for (name, cache) in [("io_kiocb", ":256"), ("eventpoll_epi", ":128"), ("tcp_bind_bucket", ":128")] {
            symlink(cache, links.join(name)).unwrap();
        }
        let caches = Caches::read(&file, &links).unwrap();
        let page = procfs::page_size();
        assert_eq!(caches.sum(&["TCP"], &["TCPv6"]), Ok(64 * page));
        assert_eq!(caches.sum(&["TCP", "io_kiocb"], &[]), Ok(77 * page));
        assert!(caches.sum(&["TCP", "filp"], &[]).unwrap_err().contains("no filp"));
        let shared = caches.sum(&["eventpoll_epi"], &[]).unwrap_err();
        assert!(shared.contains("eventpoll_epi and tcp_bind_bucket in one cache"), "{shared}");
        fs::remove_dir_all(&home).unwrap();
    }

    #[test]
    fn parts_are_smaller_than_the_whole() {
        let slabs = Slabs::now();
        let parts = [&slabs.sockets, &slabs.io_uring, &slabs.epoll];
        let known: u64 = parts.into_iter().flatten().sum();
        assert!(known < slabs.all.unwrap(), "{slabs:?}");
        assert!(parts.into_iter().filter_map(|part| part.as_ref().err()).all(|why| !why.is_empty()));
    }
}
