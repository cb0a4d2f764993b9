//! `--ui`: the load in the browser while it runs.

use brunt_view::ui::Loopback;

#[derive(Debug, clap::Args)]
pub(super) struct UiFlags {
    /// Show the load in the browser while it runs, on a URL that is printed, for this machine only
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:0",
          help_heading = "While it runs", conflicts_with_all = ["once", "compare"])]
    pub(super) ui: Option<Loopback>,
    /// With --ui: keep the page after the load, until Ctrl-C
    #[arg(long, requires = "ui", help_heading = "While it runs")]
    pub(super) hold: bool,
}
