//! The command line: parses, calls, prints; nothing else. One file a command under `cmd/`.
#![forbid(unsafe_code)]

mod cmd;

use brunt_results::ExitCode;
use clap::Parser;

/// A network-server workbench: serves, loads, measures, runs experiments.
#[derive(Debug, Parser)]
#[command(name = "brunt", version, propagate_version = true, max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: cmd::Command,
}

fn main() -> std::process::ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // clap answers --help and --version through the same door; those are good endings.
            let code = if error.use_stderr() { ExitCode::Usage } else { ExitCode::Good };
            // A reader that went away (`brunt --help | head -1`) is no failure of ours.
            let _ = error.print();
            return code.into();
        }
    };
    cli.command.run().into()
}
