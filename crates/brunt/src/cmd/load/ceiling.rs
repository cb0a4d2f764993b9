//! `--calibrate`: the generator's own ceiling, measured when it is asked for and remembered from run to run.

use super::Trouble;
use load::{Options, Target};
use outcome::{
    RunResult,
    ceiling::{Ceilings, Circumstances},
    env::Env,
    state,
};
use std::io;

/// The name of the figure in `result.json`.
const FIGURE: &str = "generator.ceiling_rate";

/// See the head of this file.
#[derive(Debug)]
pub(super) struct Ceiling {
    known: Result<Ceilings, String>,
    calibrate: bool,
}

impl Ceiling {
    /// Before the load: what could not be kept after it is an error now.
    pub(super) fn new(options: &Options, calibrate: bool) -> Result<Self, Trouble> {
        if calibrate && !matches!(options.target, Target::Ping { .. }) {
            return Err(Trouble::Usage("--calibrate measures with tcp:// alone: leave it out".to_owned()));
        }
        let known = state::directory().map(Ceilings::at);
        if calibrate {
            known.as_ref().map_err(|error| Trouble::Failed(error.to_string()))?.prove_writable()?;
        }
        Ok(Self { known: known.map_err(|error| error.to_string()), calibrate })
    }

    /// After the load: the ceiling goes into the result, or the reason why there is none into the circumstances. The
    /// error is what has gone wrong with the calibration; the result stands without it.
    pub(super) fn fill_in(self, options: &Options, result: &mut RunResult, env: &mut Env) -> Option<io::Error> {
        let mut trouble = None;
        let found = match self.known {
            _ if !matches!(options.target, Target::Ping { .. }) => Err("measured with tcp:// alone".to_owned()),
            Err(why) => Err(why),
            Ok(known) => {
                let circumstances = Circumstances::of(result, env, options.verify);
                if self.calibrate && !result.interrupted {
                    let measured = ::load::null::ceiling(options, &circumstances.target_cores);
                    let measured = measured.map_err(io::Error::other);
                    let kept = measured.and_then(|rate| known.keep(circumstances.clone(), rate, env.started_unix_s));
                    trouble = kept.err().map(|error| io::Error::new(error.kind(), format!("--calibrate: {error}")));
                }
                known.find(&circumstances).map_err(|error| error.to_string())
            }
        };
        let rate = found.and_then(|rate| {
            rate.ok_or_else(|| "not measured on this machine under this load; --calibrate measures it".to_owned())
        });
        result.generator.ceiling_rate = rate.map_err(|why| env.absent.insert(FIGURE.to_owned(), why)).ok();
        trouble
    }
}
