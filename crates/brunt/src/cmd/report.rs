//! `brunt report`: renders a result directory again, from its files alone.

use super::{load, stdout};
use brunt_lab::plan::Style;
use brunt_lab::report::{self, Published, Report, Run};
use brunt_lab::run_directory::{RunDirectory, embedded::Opened};
use brunt_results::{Error, ExitCode, directory::Directory};
use brunt_view::page;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status: 0 rendered, 1 a directory cannot be read, 2 wrong usage, or it holds no results.")]
pub struct Args {
    /// Directories of brunt run or of brunt load --out, or pages of one of them
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
    /// Print the report of a run as Markdown
    #[arg(long)]
    markdown: bool,
    /// Print every figure of a run, however wide the table is; without it, at most 8 columns
    #[arg(long, conflicts_with = "markdown")]
    wide: bool,
    /// Table layout of a run: plain (a row per target and load); ping-pong (a block per server and load: rate, latency, CPU);
    /// upstreams (a numbered case per tester and server); interference (a table per co-runner, a row per load and policy);
    /// heracles (a table per co-runner and policy: QPS, latency, CPU, memory bandwidth, network). Default: that of the run's plan
    #[arg(long, value_name = "STYLE")]
    style: Option<Style>,
    /// Write one self-contained HTML page; for several runs, series are labelled by run
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write report.md, report.html and charts into the run directories
    #[arg(long)]
    write: bool,
    /// Figures that others published, for charts that show them beside those of the run; may be repeated. The guide describes the
    /// file (docs/guide/report.md)
    #[arg(long, value_name = "FILE")]
    published: Vec<PathBuf>,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let opened: Vec<Opened> = self.dirs.iter().map(|dir| Opened::open(dir)).collect::<Result<_, _>>()?;
        if let Some((_, page)) = opened.iter().zip(&self.dirs).find(|(opened, _)| opened.is_page() && self.write) {
            return Err(Error::Usage(format!(
                "{} is a page: --write needs the directory of brunt run",
                page.display()
            )));
        }
        // First, so that nothing is printed if the page cannot be written.
        if let Some(file) = &self.html {
            self.html(file, &opened)?;
        }
        for (index, (dir, opened)) in self.dirs.iter().zip(&opened).enumerate() {
            let page = self.page(dir, opened.path())?;
            stdout::print(&format!("{}{page}", if index > 0 { "\n" } else { "" }))?;
        }
        Ok(ExitCode::Good)
    }

    fn html(&self, file: &Path, opened: &[Opened]) -> Result<(), Error> {
        let named = |why: String| format!("--html {}: {why}", file.display());
        let read = |(named, opened): (&PathBuf, &Opened)| {
            let store = page::store(opened.path(), named)?;
            Ok::<_, Error>((self.read(&store)?, store))
        };
        let all: Vec<(Report, RunDirectory)> = self.dirs.iter().zip(opened).map(read).collect::<Result<_, _>>()?;
        let names = match self.dirs.as_slice() {
            [_] => vec![String::new()],
            dirs => report::run_names(dirs).map_err(|e| Error::Usage(named(e.to_string())))?,
        };
        let mut runs = Vec::new();
        for (((report, store), name), opened) in all.iter().zip(names).zip(opened) {
            // The trials of a page are where they were: beside a page that brunt run wrote.
            let place = if opened.is_page() { Ok(String::new()) } else { report::relative_path(file, store.path()) };
            let place = place.map_err(|e| Error::Failed(named(e.to_string())))?;
            runs.push(Run { name, report, store, place });
        }
        let page = report::page_of_runs(&runs)?;
        fs::write(file, page).map_err(|e| Error::Failed(named(e.to_string())))?;
        let _ = writeln!(io::stderr(), "page: {}", file.display());
        Ok(())
    }

    /// The run with the published figures.
    fn read(&self, store: &RunDirectory) -> Result<Report, Error> {
        let mut report = report::read_from(store)?;
        report.published = self.published.iter().map(|file| Published::read(file)).collect::<Result<_, _>>()?;
        Ok(report)
    }

    /// The report of what is in `dir`, named `named`.
    fn page(&self, named: &Path, dir: &Path) -> Result<String, Error> {
        let store = RunDirectory::at(dir);
        if store.experiment()?.is_some() {
            let report = self.read(&store)?;
            if self.write {
                let place = report::write(&report, &store)?;
                let _ = writeln!(io::stderr(), "report: {}", place.display());
            }
            let style = self.style.unwrap_or(report.style());
            return Ok(match self.markdown {
                true => report::markdown(&report, style),
                false => report::text(&report, style, report::width(self.wide)),
            });
        }
        let directory = Directory::open(dir);
        if !directory.is_complete() {
            return Err(page::no_results(named));
        }
        if let Some(flag) = self.flag_of_runs() {
            let message =
                format!("{} holds the result of one load: {flag} needs the directory of brunt run", named.display());
            return Err(Error::Usage(message));
        }
        Ok(load::page(&directory.read_result()?, &directory.read_env()?))
    }

    /// The first flag given that has no meaning for the result of one load.
    fn flag_of_runs(&self) -> Option<&'static str> {
        let flags = [
            ("--markdown", self.markdown),
            ("--wide", self.wide),
            ("--style", self.style.is_some()),
            ("--write", self.write),
            ("--published", !self.published.is_empty()),
        ];
        flags.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }
}
