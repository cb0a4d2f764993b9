//! Loads described by the arguments of `brunt load`, for other commands.

use super::participants::server;
use super::script::Makers;
use super::service::MeteredServer;
use super::{Args, Measured, options, output, usage};
use crate::cmd::parsed;
use brunt_lab::slices::account::TargetAccount;
use brunt_results::Error;
use clap::Parser;

/// Arguments of `brunt load` without the name of the command.
#[derive(Parser)]
#[command(no_binary_name = true)]
pub(super) struct Line {
    #[command(flatten)]
    pub args: Args,
}

fn read(words: &[String]) -> Result<(Line, brunt_load::Options), Error> {
    let line: Line = parsed(words)?;
    let options = options::options(&line.args, brunt_meter::environment::cpus_allowed().as_deref())?;
    Ok((line, options))
}

/// The same of a load that is made in slices, on this machine.
fn read_sliced(words: &[String]) -> Result<(Line, brunt_load::Options), Error> {
    match is_on_agents(words)? {
        true => usage("--on: agents of a fleet make whole loads, not slices of one: leave it out"),
        false => read(words),
    }
}

/// The options of a load described by `brunt load` arguments.
pub(super) fn options_of(words: &[String]) -> Result<brunt_load::Options, Error> {
    let (line, mut options) = read_sliced(words)?;
    line.args.script.install(&line.args.spec, &mut options, Makers::Here)?;
    Ok(options)
}

/// That of a server; `None` if it is not metered.
type Account = Option<Box<dyn TargetAccount>>;

/// The process of this machine that `brunt load` with these arguments would meter, if there is one, and its account or that of a server
/// on another machine.
pub(in crate::cmd) fn metered(words: &[String]) -> Result<(Option<u32>, Account), Error> {
    let (line, options) = read_sliced(words)?;
    let flags = &line.args.server;
    let MeteredServer { process, account, .. } = server(&options.target, flags)?;
    Ok((process.filter(|_| !flags.there.is_given()), account.ok()))
}

/// Whether agents of a fleet are to make the load of these arguments.
pub(in crate::cmd) fn is_on_agents(words: &[String]) -> Result<bool, Error> {
    let line: Line = parsed(words)?;
    Ok(line.args.on.is_given())
}

/// Runs the load described by `brunt load` arguments; writes no files.
pub(in crate::cmd) fn measure(words: &[String]) -> Result<Measured, Error> {
    let line: Line = parsed(words)?;
    line.args.measure(&mut output::Output::create(None, None)?)
}

/// Refuses arguments that `brunt load` would refuse, in one line; runs no script, connects to nothing and writes no files.
pub(in crate::cmd) fn check(words: &[String]) -> Result<(), Error> {
    let refused = |text: String| {
        let line = text.lines().next().unwrap_or("wrong usage").to_owned();
        Error::Usage(format!("brunt load: {}", line.strip_prefix("error: ").unwrap_or(&line)))
    };
    match read(words).and_then(|(line, options)| options::layout(&line.args, &options)) {
        Err(Error::Usage(text)) => Err(refused(text)),
        checked => checked.map(drop),
    }
}
