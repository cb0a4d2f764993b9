//! Programs that a test makes and starts.

use crate::assert_code;
use std::path::Path;
use std::process::Command;
use std::{ffi::OsString, fs};

/// Makes a program of this text, such as a script with its `#!` line.
#[track_caller]
pub fn program(path: &Path, text: &str) {
    let mut draft = OsString::from(path);
    draft.push(".draft");
    fs::write(&draft, text).expect("the text of the program");
    copy_program(draft.as_ref(), path);
    fs::remove_file(&draft).expect("the text of the program");
}

/// Copies a program.
///
/// Another process writes the file. Every process that another test starts meanwhile would for a moment have a copy of a
/// descriptor of this one, and a file that is open for writing cannot be started: "text file busy".
#[track_caller]
pub fn copy_program(from: &Path, to: &Path) {
    let output = Command::new("install").args(["-m", "755"]).args([from, to]).output().expect("install of coreutils");
    assert_code(&output, &[0]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home;

    #[test]
    fn a_program_runs_while_others_are_started() {
        let home = home();
        // Long, so that writing it takes time.
        let text = format!("#!/bin/sh\necho it runs\nexit\n{}", "#\n".repeat(1 << 19));
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (home, text) = (&home, &text);
                scope.spawn(move || {
                    for nth in 0..10 {
                        let path = home.join(format!("{thread}-{nth}"));
                        program(&path, text);
                        assert_eq!(Command::new(&path).output().unwrap().stdout, b"it runs\n");
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 80);
    }
}
