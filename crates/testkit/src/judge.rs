//! Claims about measured time, judged by what the machine did meanwhile.
//!
//! A test of a real kernel can find a bound exceeded because the code is wrong, or because the machine stood still. Trying again until
//! it holds would hide the first. So each try is watched, and counts against the claim if the machine was undisturbed. If it
//! never was while the claim did not hold, the result is neither: it is inconclusive, which `.ci/suite` counts.

use crate::disturbance::{Disturbance, Watch};
use std::fs::File;
use std::io::Write;
use std::panic::Location;
use std::path::PathBuf;
use std::thread;

/// Disturbed tries before a claim is left open.
const TRIES: u32 = 5;

/// Tries whether a claim holds. The first try that shows it ends the test of it, and its value is returned. A try that shows
/// the contrary panics if the machine was undisturbed, and is repeated otherwise; after five such tries the claim is
/// [`inconclusive`], and there is no value.
///
/// What must hold however slow the machine is belongs into an assertion, within the try as well as outside.
#[track_caller]
pub fn judge<T>(claim: &str, mut attempt: impl FnMut() -> Result<T, String>) -> Option<T> {
    let watched = || {
        let watch = Watch::begin();
        let found = attempt();
        (found, watch.end())
    };
    conclude(claim, decide(watched), Location::caller())
}

/// The end of a claim made at `place`: its value, a panic, or a line that it is open.
fn conclude<T>(claim: &str, verdict: Verdict<T>, place: &Location) -> Option<T> {
    match verdict {
        Verdict::Held(value) => Some(value),
        Verdict::Failed(why) => panic!("{claim}: {why}"),
        Verdict::Open(evidence) => {
            // Threads of the test harness have the name of their test.
            let name = thread::current().name().filter(|name| *name != "main").map(str::to_owned);
            inconclusive(&name.unwrap_or_else(|| place.to_string()), &format!("{claim}: {evidence}"));
            None
        }
    }
}

/// Notes that a test has shown nothing: its name and the evidence are a line of the file `BRUNT_INCONCLUSIVE`, without the
/// variable of `target/ci/inconclusive`.
pub fn inconclusive(test: &str, evidence: &str) {
    let default = || concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/ci/inconclusive").into();
    let path = std::env::var_os("BRUNT_INCONCLUSIVE").map_or_else(default, PathBuf::from);
    println!("inconclusive: {test}: {evidence}");
    let line = format!("{test}\t{}\n", evidence.replace(['\n', '\t'], " "));
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| {
        // One write, so that lines of several programs do not mix.
        File::options().append(true).create(true).open(&path)?.write_all(line.as_bytes())
    });
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

#[derive(Debug, PartialEq)]
enum Verdict<T> {
    Held(T),
    /// Why it does not hold.
    Failed(String),
    /// What was found in each try, and what disturbed it.
    Open(String),
}

fn decide<T>(mut attempt: impl FnMut() -> (Result<T, String>, Disturbance)) -> Verdict<T> {
    let mut evidence = Vec::new();
    for _ in 0..TRIES {
        match attempt() {
            (Ok(value), _) => return Verdict::Held(value),
            (Err(why), seen) if !seen.disturbs() => {
                return Verdict::Failed(format!("{why}\nalthough the machine was undisturbed: {seen}"));
            }
            (Err(why), seen) => evidence.push(format!("{why}; {seen}")),
        }
    }
    Verdict::Open(evidence.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    /// Tries that hold or not, on a machine that is disturbed or not.
    fn tries() -> impl Strategy<Value = Vec<(bool, bool)>> {
        proptest::collection::vec(any::<(bool, bool)>(), TRIES as usize)
    }

    fn seen(is_disturbed: bool) -> Disturbance {
        let pause = Duration::from_millis(if is_disturbed { 40 } else { 0 });
        Disturbance { time: Duration::from_secs(1), longest_pause: pause, paused: pause, ..Disturbance::default() }
    }

    proptest! {
        #[test]
        fn the_first_try_that_shows_something_decides(tries in tries()) {
            let mut made = 0;
            let verdict = decide(|| {
                let (holds, is_disturbed) = tries[made];
                made += 1;
                (if holds { Ok(made) } else { Err("too slow".to_owned()) }, seen(is_disturbed))
            });
            // One that holds, or does not although the machine was undisturbed.
            match tries.iter().position(|(holds, is_disturbed)| *holds || !is_disturbed) {
                Some(at) if tries[at].0 => prop_assert_eq!(verdict, Verdict::Held(at + 1)),
                Some(at) => prop_assert!(matches!(verdict, Verdict::Failed(why) if why.contains("too slow")) && made == at + 1),
                None => prop_assert!(matches!(verdict, Verdict::Open(all) if all.matches("at once 40.0 ms").count() == 5)),
            }
        }
    }

    /// Output of a process in this role, and what it has noted.
    fn noted(words: &str) -> (std::process::Output, String) {
        let home = crate::home();
        let file = home.join("deep/inconclusive");
        let mut role = crate::Role("judge::tests::role").command(words);
        let output = role.env("BRUNT_INCONCLUSIVE", &file).stderr(std::process::Stdio::piped()).output().unwrap();
        (output, std::fs::read_to_string(&file).unwrap_or_default())
    }

    #[test]
    fn a_claim_that_holds_has_a_value_and_one_that_does_not_fails_or_is_told() {
        assert_eq!(judge("one is one", || Ok(1)), Some(1));
        let (output, lines) = noted("undisturbed");
        let why = "one is two: never\nalthough the machine was undisturbed: in ";
        assert!(!output.status.success() && lines.is_empty(), "{lines}");
        assert!(crate::text(&output).contains(why), "{}", crate::text(&output));

        let (output, lines) = noted("disturbed");
        assert!(output.status.success(), "{}", crate::text(&output));
        let told: Vec<_> = lines.lines().collect();
        assert!(told.len() == 2 && told.iter().all(|line| line.contains("\tone is two: never; in ")), "{lines}");
        assert!(told[0].starts_with("a test\t") && told[1].contains("judge.rs:"), "{lines}");
    }

    #[test]
    fn inconclusive_tests_are_a_line_each() {
        let (output, lines) = noted("note");
        assert!(output.status.success() && lines == "a test\t1: one two\na test\t2: one two\n", "{lines}");
    }

    /// The end of a claim that does not hold.
    fn conclude_never(is_disturbed: bool) {
        let verdict = decide(|| (Err::<(), _>("never".to_owned()), seen(is_disturbed)));
        assert_eq!(conclude("one is two", verdict, Location::caller()), None);
    }

    #[test]
    fn role() {
        match crate::role().as_deref() {
            Some("undisturbed") => conclude_never(false),
            // A thread with the name of a test, and one without a name.
            Some("disturbed") => [Some("a test"), None].into_iter().for_each(|name| {
                let thread = thread::Builder::new();
                let thread = name.into_iter().fold(thread, |thread, name| thread.name(name.to_owned()));
                thread.spawn(|| conclude_never(true)).unwrap().join().unwrap();
            }),
            Some(_) => (1..=2).for_each(|number| inconclusive("a test", &format!("{number}: one\ntwo"))),
            None => (),
        }
    }
}
