//! `brunt ui`: past results, running loads and comparisons in the browser, on this machine alone.

use super::signals::{self, Repeated, SIGHUP, SIGINT, SIGTERM};
use super::{current_binary, load};
use brunt_lab::history;
use brunt_results::{Error, ExitCode};
use brunt_view::ui::{Loopback, Served, Site, Starting};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Prints a URL with a token, and serves until Ctrl-C: the results of brunt list, each with the page of \
                  brunt report --html; comparisons of two or more in the words of brunt compare; and what brunt watch \
                  shows of a load that runs. With the directory of one load or run, that is shown first.\n\n\
                  Only this machine can connect, and only with the token. Nothing outside of the results is readable. Loads \
                  that were started in the page end with this command; their results are in ui below the folder of the \
                  index (see brunt list).\n\n\
                  Exit status: 0 ended by Ctrl-C, 1 the address cannot be listened on, 2 wrong usage."
)]
pub struct Args {
    /// Show the results below this directory [default: those of brunt list]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Address of the page, on the loopback interface; port 0 is one that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7170")]
    listen: Loopback,
    /// Let the page start loads. Without it, its form only shows the command
    #[arg(long)]
    allow_start: bool,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let starting = self.allow_start.then(starting).transpose()?;
        let site = Site::new(self.directory.as_deref(), starting, load::check)?;
        let stop = signals::flag(&[SIGINT, SIGTERM, SIGHUP], Repeated::Ignore)?;
        let served = Served::start(site, self.listen, &[], "--listen")?;
        let _ = writeln!(io::stderr(), "page: {}", served.url());
        while !stop.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(50));
        }
        drop(served);
        Ok(ExitCode::Good)
    }
}

/// Loads get their directories beside the index of results.
fn starting() -> Result<Starting, Error> {
    Ok(Starting { folder: history::folder()?.join("ui"), program: current_binary()? })
}
