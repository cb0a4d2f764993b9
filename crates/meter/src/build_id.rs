//! The build id of an executable: what its linker has computed from its content, in a note of the file.
//!
//! ELF files of 64 bits in the byte order of this machine, as a program that runs on it has. See elf(5).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Longest list of program headers, and longest segment of notes, that is read.
const MOST_BYTES: u64 = 64 << 10;
/// Bytes of the header of the file.
const HEADER: usize = 64;
/// Bytes of a program header.
const SEGMENT: usize = 56;
const PT_NOTE: u32 = 4;
const NT_GNU_BUILD_ID: u32 = 3;

/// `None` if the file has none.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn read(file: &File) -> io::Result<Option<Vec<u8>>> {
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0)?;
    let is_elf64 = header[..5] == *b"\x7fELF\x02" && u16_at(&header, 0x36) == Some(SEGMENT as u16);
    let (Some(offset), Some(count)) = (u64_at(&header, 0x20), u16_at(&header, 0x38)) else { return Ok(None) };
    if !is_elf64 {
        return Ok(None);
    }
    let segments = piece(file, offset, SEGMENT as u64 * u64::from(count))?;
    for segment in segments.chunks_exact(SEGMENT).filter(|segment| u32_at(segment, 0) == Some(PT_NOTE)) {
        let [offset, length, align] = [8, 32, 48].map(|at| u64_at(segment, at).unwrap_or_default());
        if let Some(id) = in_notes(&piece(file, offset, length)?, if align == 8 { 8 } else { 4 }) {
            return Ok(Some(id.to_vec()));
        }
    }
    Ok(None)
}

fn piece(file: &File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length.min(MOST_BYTES) as usize];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

/// Notes are three numbers, the lengths of name and content and the type, and then these two, each padded to `align`.
fn in_notes(mut notes: &[u8], align: usize) -> Option<&[u8]> {
    loop {
        let [name, content, kind] = [0, 4, 8].map(|at| u32_at(notes, at));
        let content_from = (12 + name? as usize).next_multiple_of(align);
        let content_to = content_from.checked_add(content? as usize)?;
        let (name, content) = (notes.get(12..12 + name? as usize)?, notes.get(content_from..content_to)?);
        if kind? == NT_GNU_BUILD_ID && name == b"GNU\0" && !content.is_empty() {
            return Some(content);
        }
        notes = notes.get(content_to.next_multiple_of(align)..)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().map(u16::from_ne_bytes).ok()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().map(u32::from_ne_bytes).ok()
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().map(u64::from_ne_bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn note(name: &[u8], kind: u32, content: &[u8], align: usize) -> Vec<u8> {
        let mut note: Vec<u8> =
            [name.len() as u32, content.len() as u32, kind].into_iter().flat_map(u32::to_ne_bytes).collect();
        for part in [name, content] {
            note.extend_from_slice(part);
            note.resize(note.len().next_multiple_of(align), 0);
        }
        note
    }

    /// A file with these segments of notes, each with its alignment.
    fn elf(segments: &[(&[u8], u64)]) -> File {
        let mut head = vec![0; HEADER];
        head[..5].copy_from_slice(b"\x7fELF\x02");
        head[0x20..0x28].copy_from_slice(&(HEADER as u64).to_ne_bytes());
        head[0x36..0x38].copy_from_slice(&(SEGMENT as u16).to_ne_bytes());
        head[0x38..0x3a].copy_from_slice(&(segments.len() as u16 + 1).to_ne_bytes());
        // A segment of code comes first.
        head.extend([1; SEGMENT]);
        let mut content = Vec::new();
        for (notes, align) in segments {
            let offset = (HEADER + SEGMENT * (segments.len() + 1) + content.len()) as u64;
            let mut segment = vec![0; SEGMENT];
            segment[..4].copy_from_slice(&PT_NOTE.to_ne_bytes());
            for (at, value) in [(8, offset), (32, notes.len() as u64), (48, *align)] {
                segment[at..at + 8].copy_from_slice(&value.to_ne_bytes());
            }
            head.extend(segment);
            content.extend_from_slice(notes);
        }
        file(&[head, content].concat())
    }

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn the_id_is_found_among_other_notes() {
        let property = note(b"GNU\0", 5, &[7; 13], 8);
        let other = [note(b"Linux\0", NT_GNU_BUILD_ID, b"no", 4), note(b"GNU\0", 1, &[1; 16], 4)].concat();
        let id = note(b"GNU\0", NT_GNU_BUILD_ID, b"the id", 4);
        let notes = [other.clone(), id].concat();
        assert_eq!(read(&elf(&[(&property, 8), (&notes, 4)])).unwrap().as_deref(), Some(&b"the id"[..]));
        assert_eq!(read(&elf(&[(&property, 8), (&other, 4)])).unwrap(), None);
        assert_eq!(read(&elf(&[])).unwrap(), None);
    }

    #[test]
    fn what_is_no_such_file_has_none() {
        assert_eq!(read(&file(&[0; 100])).unwrap(), None);
        assert!(read(&file(b"#!/bin/sh\n")).is_err(), "shorter than a header");
        // Lengths beyond the notes.
        for notes in [&[255; 40][..], &note(b"GNU\0", NT_GNU_BUILD_ID, b"the id", 4)[..17], &[0; 4]] {
            assert_eq!(read(&elf(&[(notes, 4)])).unwrap(), None, "{notes:?}");
        }
    }
}
