//! `brunt colocate exec` (hidden): enters the control group of a job and becomes its program.

use brunt_colocate::exec::Exec;
use brunt_meter::cgroup::Linux;
use brunt_results::{Error, ExitCode};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status: that of the program, else 125 the control group cannot be entered, 126 the program cannot be run, 127 there is \
no such program.")]
pub struct Args {
    /// Directory of the control group; all of them in one command
    #[arg(long = "group", value_name = "DIR", required = true)]
    groups: Vec<PathBuf>,
    /// Process that starts the job; nothing is started without it
    #[arg(long, value_name = "PID")]
    parent: Option<u32>,
    /// User that the program runs as
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Program and arguments
    #[arg(last = true, required = true, value_name = "ARGV")]
    argv: Vec<OsString>,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let (program, args) = self.argv.split_first().ok_or_else(|| Error::Usage("exec needs a program".to_owned()))?;
        let (groups, args) = (self.groups.clone(), args.to_vec());
        let exec = Exec { groups, parent: self.parent, user: self.user.clone(), program: program.clone(), args };
        let failure = exec.run(&Linux);
        let _ = writeln!(io::stderr(), "error: {failure}");
        std::process::exit(failure.stage as i32)
    }
}
