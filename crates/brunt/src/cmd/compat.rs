//! `brunt as wrk|ab|fortio ...`: another tool's command line and output format on brunt's generator.
//!
//! Scripts that call these tools and parse their output keep working. The verdict is one line on stderr.

use super::{load, stdout};
use brunt_inputs::compat::{self, ArgError, Measurement};
use brunt_results::{Error, ExitCode, RunResult, hlog};
use std::io::{self, Write as _};

#[derive(Debug, clap::Args)]
#[command(
    // Everything after the tool's name belongs to the tool; its --help is answered here.
    disable_help_flag = true,
    disable_version_flag = true,
    override_usage = "brunt as <wrk|ab|fortio> [FLAGS OF THAT TOOL] URL"
)]
pub struct Args {
    /// The tool and its own command line
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let invocation = match compat::parse(&self.words) {
            Ok(invocation) => invocation,
            Err(ArgError::Help(text)) => return Ok(stdout::print(&text).map(|()| ExitCode::Good)?),
            Err(ArgError::Usage(why)) => return Err(Error::Usage(why)),
        };
        let print = |text: &str| if invocation.on_stderr { eprint(text) } else { stdout::print(text) };
        print(&invocation.head)?;
        let measured = load::measure(&invocation.load)?;
        let distribution = |tag| hlog::distribution(&measured.hlog, tag).map_err(Error::Failed);
        let page = (invocation.page)(&Measurement {
            result: &measured.result,
            seconds: &measured.seconds,
            response: distribution("response")?,
            service: distribution("service")?,
        });
        print(&page.text)?;
        for (path, text) in &page.files {
            match path.as_os_str() == "-" {
                true => stdout::print(text)?,
                false => stdout::write_file(path, text)?,
            }
        }
        measured.call_script_done().map_err(Error::Failed)?;
        eprint(&format!("{}\n", verdict(&measured.result)))?;
        Ok(ExitCode::Good)
    }
}

/// Prints to stderr; a closed pipe is not an error.
fn eprint(text: &str) -> io::Result<()> {
    let _ = io::stderr().write_all(text.as_bytes());
    Ok(())
}

/// The verdict in one line, with its most serious reason.
fn verdict(result: &RunResult) -> String {
    let verdict = &result.verdict;
    let ended = if result.interrupted { " (interrupted)" } else { "" };
    let mut line = format!("brunt: verdict {}{ended}", verdict.kind.word());
    if let (Some(why), Some(remedy)) = (verdict.why.first(), verdict.remedy.first()) {
        line += &format!(": {why}; {remedy}");
    }
    if verdict.why.len() > 1 {
        line += &format!(" (and {} more: see brunt load)", verdict.why.len() - 1);
    }
    line
}
