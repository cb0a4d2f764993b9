//! `--json` of commands that list.

#[derive(Debug, clap::Args)]
pub(super) struct JsonFlag {
    /// Print all that is known as JSON, instead of a table
    #[arg(long)]
    pub json: bool,
}
