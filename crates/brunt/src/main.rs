//! The command line: parses arguments, calls the other crates, prints. One file per command under `cmd/`.
#![forbid(unsafe_code)]

mod cmd;

use brunt_results::ExitCode;
use clap::Parser;
use std::io::Write as _;

/// A network-server workbench: serves, loads, measures, runs experiments.
#[derive(Debug, Parser)]
#[command(name = "brunt", version, propagate_version = true, max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: cmd::Command,
}

fn main() -> std::process::ExitCode {
    brunt_meter::environment::set_source_hashes(env!("BRUNT_SOURCE_HASHES"));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // clap reports --help and --version as errors too; those exit with 0.
            let code = if error.use_stderr() { ExitCode::Usage } else { ExitCode::Good };
            // A closed pipe (`brunt --help | head -1`) is not a failure. An error may quote a password.
            let text = error.to_string();
            let shown = brunt_results::secrets::without_users(&text);
            let _ = if shown == text { error.print() } else { write!(std::io::stderr(), "{shown}") };
            if let Some(hint) = cmd::hints::hint(&error) {
                let _ = write!(std::io::stderr(), "{hint}");
            }
            return code.into();
        }
    };
    cli.command.run().into()
}
