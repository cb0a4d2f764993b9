//! `brunt list`: lists past results from the index. The table goes to stdout, everything else to stderr.

use super::stdout;
use brunt_lab::format::plural;
use brunt_lab::history::{self, Filter, Index, NamedValue, Rebuilt, Since};
use brunt_results::{Error, ExitCode, Threshold};
use serde_json::json;
use std::io::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, path::PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Lists every brunt run, brunt find and brunt cost, including interrupted ones; --rebuild adds directories made elsewhere or by brunt \
load --out. The index is a cache of the result directories and is rebuilt from them if lost. It is in $BRUNT_STATE_DIR, \
$XDG_STATE_HOME/brunt or ~/.local/state/brunt.

Examples:
  brunt list --plan quick --since 7d
  brunt list --trials --where 'p99<6ms,rate>100k' --verdict ok
  brunt list --trials --target nginx --only connections=1000 --json
  brunt list --rebuild ~/results

Exit status: 0 listed (even if empty), 1 the index cannot be read or written, 2 wrong usage.")]
pub struct Args {
    /// Plan name; 'find', 'cost' and 'load' select results without a plan
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
    /// Target name
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Verdict, or failed
    #[arg(long, value_name = "VERDICT", value_parser = history::verdict_words())]
    verdict: Option<String>,
    /// Earliest start: a day (UTC), or an age such as 12h or 7d
    #[arg(long, value_name = "WHEN")]
    since: Option<Since>,
    /// Bounds that hold in one trial: 'p99<6ms,rate>100k', as for --fail-if of brunt load
    #[arg(long = "where", value_name = "BOUNDS", value_delimiter = ',', value_parser = history::bound)]
    bounds: Vec<Threshold>,
    /// Load settings, for example connections=80,size=1KiB
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',')]
    only: Vec<NamedValue>,

    /// One line per trial with its figures, instead of one per directory
    #[arg(long)]
    trials: bool,
    /// Print all fields as JSON
    #[arg(long)]
    json: bool,
    /// Maximum number of lines; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,

    /// Rebuild the index from the directories below ROOT and those already known; forget missing ones
    #[arg(long, value_name = "ROOT", num_args = 0.., conflicts_with_all =
          ["plan", "target", "verdict", "since", "bounds", "only", "trials", "json"])]
    rebuild: Option<Vec<PathBuf>>,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let mut index = Index::open(&history::folder()?)?;
        if let Some(roots) = &self.rebuild {
            return Ok(stdout::print(&summary(&index.rebuild(roots)?)).map(|()| ExitCode::Good)?);
        }
        index.refresh()?;
        let filter = self.filter();
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        let here = env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
        let (table, json, shown, all, gone) = if self.trials {
            let (trials, all) = index.trials(&filter, limit)?;
            let gone = trials.iter().filter(|trial| trial.gone).count();
            (history::trials_text(&trials, &here), json!(trials), trials.len(), all, gone)
        } else {
            let (runs, all) = index.runs(&filter, limit)?;
            let gone = runs.iter().filter(|run| run.gone).count();
            (history::runs_text(&runs, &here), json!(runs), runs.len(), all, gone)
        };
        if self.json || shown > 0 {
            stdout::print_as(self.json, &json, |_| table)?;
        }
        Self::remark(&mut index, shown, all, gone)?;
        Ok(ExitCode::Good)
    }

    fn filter(&self) -> Filter {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Filter {
            plan: self.plan.clone(),
            target: self.target.clone(),
            verdict: self.verdict.clone(),
            since_unix_s: self.since.map(|since| since.unix_s(now)),
            bounds: self.bounds.clone(),
            values: self.only.clone(),
        }
    }

    /// Prints remarks on results that the table omits.
    fn remark(index: &mut Index, shown: usize, all: usize, gone: usize) -> Result<(), Error> {
        let mut lines = Vec::new();
        if all > shown {
            lines.push(format!("{} more: --limit 0 shows all", all - shown));
        }
        if gone > 0 {
            let what = if gone == 1 { "1 of them is".to_owned() } else { format!("{gone} of them are") };
            lines.push(format!(
                "{what} missing: --rebuild ROOT finds directories moved below ROOT and forgets the others"
            ));
        }
        if all == 0 {
            let (_, known) = index.runs(&Filter::default(), 0)?;
            lines.push(match known {
                0 => "no results yet: brunt run adds its results, --rebuild ROOT those below ROOT".into(),
                known => format!("no match among {}", directories(known)),
            });
        }
        for line in lines {
            let _ = writeln!(io::stderr(), "{line}");
        }
        Ok(())
    }
}

fn summary(rebuilt: &Rebuilt) -> String {
    let Rebuilt { directories: count, trials, moved, forgotten, unreadable } = rebuilt;
    let mut text = format!("{} with {}\n", directories(*count), plural(*trials, "trial"));
    text.extend(moved.iter().map(|(from, to)| format!("moved: {from} is now {to}\n")));
    text.extend(forgotten.iter().map(|place| format!("missing, removed from the index: {place}\n")));
    text.extend(unreadable.iter().map(|why| format!("cannot be read: {why}\n")));
    text
}

fn directories(count: usize) -> String {
    if count == 1 { "1 directory".to_owned() } else { format!("{count} directories") }
}
