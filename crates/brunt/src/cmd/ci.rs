//! What continuous integration shows of a run: a JUnit file, and annotations and a summary of GitHub Actions. The command
//! `brunt ci` is in [`command`].

pub mod command;

use super::stdout;
use brunt_lab::format;
use brunt_results::Error;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::{env, fs, path::PathBuf};

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    pub name: String,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    /// With a sentence.
    Failed(String),
    /// There is no answer, for this reason.
    Undecided(String),
}

#[derive(Debug, clap::Args)]
pub(super) struct CiFlags {
    /// Write the checks as a JUnit file: bounds and verdict, each a test case
    #[arg(long, value_name = "FILE", help_heading = "Result")]
    junit: Option<PathBuf>,
}

impl CiFlags {
    /// Tells of the checks: in the JUnit file, and in GitHub Actions by annotations and in the summary of the job, which also
    /// has `page`, made if it is wanted. `command` is the name of the suite.
    pub(super) fn report(
        &self,
        command: &str,
        seconds: f64,
        checks: &[Check],
        page: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        if let Some(path) = &self.junit {
            stdout::write_file(path, &junit(command, seconds, checks))?;
        }
        if env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
            let _ = io::stderr().write_all(annotations(command, checks).as_bytes());
        }
        let Some(path) = env::var_os("GITHUB_STEP_SUMMARY").map(PathBuf::from) else { return Ok(()) };
        let file = fs::OpenOptions::new().append(true).create(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(summary(command, checks, &page()).as_bytes()));
        // A summary is beside the result.
        if let Err(error) = written {
            let _ = writeln!(io::stderr(), "warning: GITHUB_STEP_SUMMARY={}: {error}", path.display());
        }
        Ok(())
    }
}

/// As JUnit's `TEST-*.xml`, which has no schema of its own: the elements that its readers share.
fn junit(suite: &str, seconds: f64, checks: &[Check]) -> String {
    let count = |is: fn(&Outcome) -> bool| checks.iter().filter(|check| is(&check.outcome)).count();
    let failures = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let skipped = count(|outcome| matches!(outcome, Outcome::Undecided(_)));
    let totals = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{seconds:.3}\"",
        checks.len()
    );
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {totals}>\n  <testsuite name=\"{0}\" {totals}>\n",
        escaped(suite)
    );
    for Check { name, outcome } in checks {
        let _ = write!(
            text,
            "    <testcase classname=\"{}\" name=\"{}\" time=\"{seconds:.3}\"",
            escaped(suite),
            escaped(name)
        );
        let _ = match outcome {
            Outcome::Passed => writeln!(text, "/>"),
            Outcome::Failed(why) => writeln!(text, "><failure message=\"{}\"/></testcase>", escaped(why)),
            Outcome::Undecided(why) => writeln!(text, "><skipped message=\"{}\"/></testcase>", escaped(why)),
        };
    }
    text + "  </testsuite>\n</testsuites>\n"
}

/// For the value of an attribute; characters that XML 1.0 does not have become question marks.
fn escaped(text: &str) -> String {
    let allowed = |c: char| match c {
        '\n' | '\t' => ' ',
        c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => '?',
        c => c,
    };
    format::escaped(&text.chars().map(allowed).collect::<String>())
}

/// Workflow commands, which GitHub's runner reads from the output.
fn annotations(command: &str, checks: &[Check]) -> String {
    let mut lines = String::new();
    for Check { name, outcome } in checks {
        let (level, why) = match outcome {
            Outcome::Passed => continue,
            Outcome::Failed(why) => ("error", why),
            Outcome::Undecided(why) => ("warning", why),
        };
        let message = why.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
        let title = format!("{command}: {name}").replace('%', "%25").replace(':', "%3A").replace(',', "%2C");
        let _ = writeln!(lines, "::{level} title={title}::{message}");
    }
    lines
}

fn summary(command: &str, checks: &[Check], page: &str) -> String {
    let mut text = format!("### {command}\n\n");
    for Check { name, outcome } in checks {
        let _ = match outcome {
            Outcome::Passed => writeln!(text, "- :white_check_mark: `{name}`"),
            Outcome::Failed(why) => writeln!(text, "- :x: `{name}`: {why}"),
            Outcome::Undecided(why) => writeln!(text, "- :grey_question: `{name}`: {why}"),
        };
    }
    format!("{text}\n```\n{}\n```\n\n", page.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks() -> Vec<Check> {
        let check = |name: &str, outcome| Check { name: name.to_owned(), outcome };
        vec![
            check("rate<1k", Outcome::Passed),
            check("p99>5ms", Outcome::Failed("p99>5ms: it was \"7000\" us & 40 %".to_owned())),
            check("verdict", Outcome::Undecided("disturbed".to_owned())),
        ]
    }

    #[test]
    fn a_junit_file_in_full() {
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="0" skipped="1" time="10.000">
  <testsuite name="brunt load" tests="3" failures="1" errors="0" skipped="1" time="10.000">
    <testcase classname="brunt load" name="rate&lt;1k" time="10.000"/>
    <testcase classname="brunt load" name="p99&gt;5ms" time="10.000"><failure message="p99&gt;5ms: it was &quot;7000&quot; us &amp; 40 %"/></testcase>
    <testcase classname="brunt load" name="verdict" time="10.000"><skipped message="disturbed"/></testcase>
  </testsuite>
</testsuites>
"#;
        assert_eq!(junit("brunt load", 10.0, &checks()), expected);
        assert_eq!(escaped("a\u{1}b\u{ffff}"), "a?b?");
    }

    #[test]
    fn annotations_and_a_summary_in_full() {
        let expected = "::error title=brunt load%3A p99>5ms::p99>5ms: it was \"7000\" us & 40 %25\n\
                        ::warning title=brunt load%3A verdict::disturbed\n";
        assert_eq!(annotations("brunt load", &checks()), expected);
        let summary = summary("brunt load", &checks()[..1], "a page\n\n");
        assert_eq!(summary, "### brunt load\n\n- :white_check_mark: `rate<1k`\n\n```\na page\n```\n\n");
    }
}
