//! Memory mappings: anonymous memory for buffers and slots, and the program text.

#[cfg(any(test, feature = "sim"))]
pub(crate) mod kept;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};
use std::{fs, io, ops::Range, slice};

/// Maps zeroed memory: address space, of which pages are taken when they are touched.
pub(crate) fn map<T>(bytes: usize) -> io::Result<NonNull<T>> {
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice aliases nothing.
    let base = unsafe { mmap_anonymous(ptr::null_mut(), bytes, protection, flags) }?;
    Ok(NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?)
}

/// # Safety
/// `base` was returned by [`map`] for that many bytes, and nothing refers to the memory.
pub(crate) unsafe fn unmap<T>(base: NonNull<T>, bytes: usize) {
    // SAFETY: as demanded of the caller.
    let _ = unsafe { munmap(base.as_ptr().cast(), bytes) };
}

/// Memory of any content, until [`release`]: a fresh mapping, or with the feature `sim` one that was released on this thread
/// while its simulated world kept mappings.
pub(crate) fn reserve<T>(bytes: usize) -> io::Result<NonNull<T>> {
    #[cfg(any(test, feature = "sim"))]
    if let Some(base) = kept::take(bytes) {
        return Ok(base.cast());
    }
    map(bytes)
}

/// # Safety
/// `base` was returned by [`reserve`] for that many bytes, and nothing refers to the memory.
pub(crate) unsafe fn release<T>(base: NonNull<T>, bytes: usize) {
    #[cfg(any(test, feature = "sim"))]
    if kept::keep(base.cast(), bytes) {
        return;
    }
    // SAFETY: as demanded of the caller.
    unsafe { unmap(base, bytes) };
}

/// Unmaps the pages of the program text of this process, which count as its resident memory though the page cache holds
/// them anyway. Text in use is mapped again at a few microseconds per page; call it once, between the start and the work.
///
/// # Errors
/// `/proc` is not mounted, or the kernel refuses.
pub fn drop_text_pages() -> io::Result<()> {
    let mut state = DropPages { clean: clean_text(&fs::read_to_string("/proc/self/smaps")?), result: Ok(()) };
    // SAFETY: `drop_pages` gets a pointer to `state`, which lives through the call.
    unsafe { libc::dl_iterate_phdr(Some(drop_pages), (&raw mut state).cast()) };
    state.result
}

struct DropPages {
    /// Text without pages of its own.
    clean: Vec<Range<usize>>,
    result: io::Result<()>,
}

/// Drops the text pages of one loaded object. `smaps` may be out of date, and other memory mapped where a library was: only
/// ranges of loaded objects are dropped, and the loader's lock keeps them loaded while this callback runs.
unsafe extern "C" fn drop_pages(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid description, and `data` as given by `drop_text_pages`.
    let (info, state) = unsafe { (&*info, &mut *data.cast::<DropPages>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader says how many headers there are.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0) {
        let start = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
        let end = start.wrapping_add(header.p_memsz as usize);
        for text in state.clean.iter().filter(|text| text.start <= start && start < text.end && end <= text.end) {
            // SAFETY: a private, read-only mapping of a file, of an object that stays loaded; no page of it is this process's
            // own, so each comes back from the file as it was.
            let dropped = unsafe { madvise(text.start as *mut _, text.len(), Advice::LinuxDontNeed) };
            state.result = std::mem::replace(&mut state.result, Ok(())).and(dropped.map_err(io::Error::from));
        }
    }
    0
}

/// The executable mappings of files without pages of their own (which a debugger or a probe creates).
fn clean_text(smaps: &str) -> Vec<Range<usize>> {
    let (mut found, mut current) = (Vec::new(), None);
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("Anonymous:") => found.extend(current.take().filter(|_| words.next() == Some("0"))),
            Some(range) if !range.ends_with(':') => current = text(range, words),
            _ => (),
        }
    }
    found
}

fn text<'a>(range: &str, mut words: impl Iterator<Item = &'a str>) -> Option<Range<usize>> {
    let (start, end) = range.split_once('-')?;
    let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    let is_text = words.next()? == "r-xp" && words.nth(3)?.starts_with('/');
    (is_text && start <= end).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_of_files_without_pages_of_its_own_is_dropped() {
        let of = |range: &str, rights: &str, name: &str, own: u32| {
            format!("{range} {rights} 00001000 fe:00 12 {name}\nRss:  8 kB\nAnonymous:  {own} kB\nVmFlags: rd ex\n")
        };
        let smaps = of("1000-3000", "r-xp", "/usr/bin/a", 0)
            + &of("3000-4000", "r-xp", "/usr/lib/b", 4)
            + &of("4000-5000", "r--p", "/usr/lib/b", 0)
            + &of("5000-6000", "rw-p", "/usr/lib/b", 0)
            + &of("6000-7000", "r-xp", "[vdso]", 0)
            + &of("7000-8000", "r-xp", "", 0)
            + "nonsense\n";
        assert_eq!(clean_text(&smaps), vec![0x1000..0x3000]);
    }

    #[test]
    fn dropped_text_pages_are_mapped_again() {
        let resident = || -> u64 {
            let status = fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).unwrap();
            line.trim().trim_end_matches(" kB").parse().unwrap()
        };
        // Other tests touch text at the same time.
        let shrinks = (0..20).any(|_| {
            let before = resident();
            drop_text_pages().unwrap();
            resident() < before
        });
        assert!(shrinks);
    }
}
