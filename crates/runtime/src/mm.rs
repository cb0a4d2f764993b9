//! Letting go of the program text that only the start has needed. Mapped pages of the executable and its libraries count as
//! memory of the process, though the page cache holds them anyway; a server that runs needs a small part of them.

use rustix::mm::{Advice, madvise};
use std::{fs, io};

/// Unmaps all program text of this process. What runs is mapped again from the page cache at its next use, a few
/// microseconds each time: to be called once, between the start and the work.
///
/// # Errors
/// `/proc` is not there, or the kernel refuses.
pub fn drop_text_pages() -> io::Result<()> {
    for (start, len) in clean_text(&fs::read_to_string("/proc/self/smaps")?) {
        // SAFETY: a private mapping of a file that cannot be written and of which no page is this process's own: each
        // page comes back from the file as it was.
        unsafe { madvise(start as *mut _, len, Advice::LinuxDontNeed) }?;
    }
    Ok(())
}

/// Where executable mappings of files lie that have no page of their own (which a debugger or a probe makes), and how long
/// they are.
fn clean_text(smaps: &str) -> Vec<(usize, usize)> {
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

fn text<'a>(range: &str, mut words: impl Iterator<Item = &'a str>) -> Option<(usize, usize)> {
    let (start, end) = range.split_once('-')?;
    let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    let is_text = words.next()? == "r-xp" && words.nth(3)?.starts_with('/');
    is_text.then_some((start, end.checked_sub(start)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_of_files_without_pages_of_its_own_is_let_go() {
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
        assert_eq!(clean_text(&smaps), [(0x1000, 0x2000)]);
    }

    #[test]
    fn the_process_goes_on_with_less() {
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
