//! The file of slices: lines that are whole, cut or damaged.

use brunt_slices::Slice;
use brunt_slices::record::read;
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;

fn written(slices: &[Slice]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for slice in slices {
        serde_json::to_writer(&mut bytes, slice).unwrap();
        bytes.push(b'\n');
    }
    bytes
}

proptest! {
    #[test]
    fn a_file_cut_anywhere_holds_its_whole_lines(rounds in 0..9u32, cut in any::<prop::sample::Index>()) {
        let name = |round: u32| if round.is_multiple_of(2) { "épo\nll" } else { "uring" }.to_owned();
        let slices: Vec<Slice> =
            (0..rounds).map(|round| Slice { round, target: name(round), ..Slice::default() }).collect();
        let mut bytes = written(&slices);
        bytes.truncate(cut.index(bytes.len() + 1));
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&bytes).unwrap();
        let read = read(file.path()).unwrap();
        // A line may be whole but for its end.
        let whole = bytes.iter().filter(|byte| **byte == b'\n').count();
        prop_assert!(read.len() == whole || read.len() == whole + 1);
        prop_assert_eq!(&read[..], &slices[..read.len()]);
    }
}

#[test]
fn a_line_that_is_not_a_slice_is_named() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&[written(&[Slice::default()]), b"{}\n".to_vec()].concat()).unwrap();
    let error = read(file.path()).unwrap_err();
    assert!(error.contains("line 2 is not a slice (missing field"), "{error}");
    assert!(read(Path::new("/none")).unwrap_err().starts_with("/none: "));
}
