//! `brunt watch`: follows the directory of a load or of a run, on a screen or in lines.

use super::signals::{self, Repeated, SIGHUP, SIGINT, SIGTERM};
use super::stdout;
use brunt_results::{Error, ExitCode};
use brunt_view::live::{self, Lines, Source, Stream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Shows what brunt load --out DIR writes, while it runs or afterwards: verdict so far, offered and answered \
                  rate, response times, server and generator, errors, time left. In the directory of brunt run it follows \
                  the newest trial. It only reads files. Keys: q quits, s keeps the screen and prints it at the end, ? \
                  helps.\n\n\
                  Without a terminal, or with TERM=dumb, it prints a line a second and ends with the load.\n\n\
                  Exit status: 0 the load ended, or q; 1 the load was killed, or DIR cannot be read; 2 DIR holds no load."
)]
pub struct Args {
    /// Directory of brunt load --out, or of brunt run
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let source = Source::new(&self.directory);
        // What cannot be watched is said before the screen changes.
        while !source.is_found()? {
            thread::sleep(source.pause());
        }
        let stop = signals::flag(&[SIGINT, SIGTERM, SIGHUP], Repeated::Kill)?;
        if !Stream::Stdout.has_screen() {
            return self.lines(source, &stop);
        }
        signals::before_kill(live::before_kill);
        let (kept, source) = live::watch(source, &stop)?;
        for screen in kept {
            stdout::print(&format!("{screen}\n"))?;
        }
        stdout::print(&live::page(source.model()))?;
        Ok(ExitCode::Good)
    }

    /// One line for each second, and the page at the end.
    fn lines(&self, mut source: Source, stop: &AtomicBool) -> Result<ExitCode, Error> {
        let mut lines = Lines::default();
        while !stop.load(Ordering::SeqCst) {
            source.poll()?;
            stdout::print(&lines.told(source.model()))?;
            if source.is_over() {
                break;
            }
            thread::sleep(source.pause());
        }
        stdout::print(&live::page(source.model()))?;
        match source.is_dead() {
            true => Err(Error::Failed(format!("{}: the load ended without a result", self.directory.display()))),
            false => Ok(ExitCode::Good),
        }
    }
}
