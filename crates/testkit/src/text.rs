//! Output of programs as text.

use std::process::Output;

/// Exit status, stdout and stderr, for assertion messages.
pub fn text(output: &Output) -> String {
    let of = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\nstdout:\n{}\nstderr:\n{}", output.status, of(&output.stdout), of(&output.stderr))
}

/// Stdout and stderr of a program; asserts the exit code.
#[track_caller]
pub fn told(output: &Output, code: i32) -> (String, String) {
    assert_code(output, &[code]);
    let of = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (of(&output.stdout), of(&output.stderr))
}

/// Asserts that a program exited with one of these codes.
#[track_caller]
pub fn assert_code(output: &Output, codes: &[i32]) {
    assert!(output.status.code().is_some_and(|code| codes.contains(&code)), "{}", text(output));
}
