//! Queries of the index. Read-only; missing directories are marked.

use super::{entry::Kind, figures::Figures, filter::Filter};
use rusqlite::{Connection, Row, params_from_iter, types::Value};
use serde::Serialize;
use std::{collections::BTreeMap, path::Path};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    pub directory: String,
    pub gone: bool,
    /// `None` for a kind of another version.
    pub kind: Option<Kind>,
    pub plan: String,
    pub description: String,
    /// In plan order; URLs without a plan.
    pub targets: Vec<String>,
    pub started_unix_s: u64,
    pub finished: bool,
    pub missing: u64,
    pub trials: u64,
    pub verdicts: BTreeMap<String, u64>,
    pub machine: Machine,
    pub command: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    pub cpu: Option<String>,
    pub cpus: Option<u64>,
    pub kernel: Option<String>,
    pub brunt: String,
    pub binary_hash: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trial {
    pub directory: String,
    pub place: String,
    pub gone: bool,
    pub plan: String,
    pub target: String,
    pub combination: String,
    pub values: BTreeMap<String, String>,
    pub repeat: u32,
    pub started_unix_s: Option<u64>,
    pub verdict: String,
    /// Evidence of the verdict, or the reason of the failure.
    pub why: String,
    pub tester: Option<String>,
    #[serde(flatten)]
    pub figures: Figures,
}

const JOINED: &str =
    "directory LEFT JOIN cell ON cell.directory = directory.id LEFT JOIN trial ON trial.cell = cell.id";
/// Directories of the same second are in reverse order of insertion.
const NEWEST_FIRST: &str = "directory.started_unix_s DESC, directory.id DESC";

pub(super) fn runs(cache: &Connection, filter: &Filter, limit: usize) -> rusqlite::Result<(Vec<Run>, usize)> {
    // The range of SQLite integers.
    let (clause, limit) = (filter.clause(), limit.min(i64::MAX as usize));
    let wanted = if filter.is_about_trials() { "AND trial.id IS NOT NULL" } else { "" };
    let from = format!("FROM {JOINED} WHERE {} {wanted}", clause.sql);
    let all = count(cache, &format!("SELECT count(DISTINCT directory.id) {from}"), &clause.parameters)?;
    let ask = format!(
        "SELECT directory.*, count(trial.id) AS trials {from} GROUP BY directory.id ORDER BY {NEWEST_FIRST} LIMIT {limit}"
    );
    let mut ask = cache.prepare(&ask)?;
    let found = ask.query_map(params_from_iter(&clause.parameters), |row| Ok((row.get::<_, i64>("id")?, run(row)?)))?;
    let mut verdicts = cache.prepare(&format!(
        "SELECT trial.verdict, count(*) {from} AND directory.id = ? AND trial.id IS NOT NULL GROUP BY trial.verdict"
    ))?;
    // Targets without matching trials are listed only if nothing matches.
    let mut targets = cache.prepare(&format!(
        "SELECT cell.target {from} AND directory.id = ? AND cell.id IS NOT NULL GROUP BY cell.target \
         HAVING count(trial.id) > 0 OR ? = 0 ORDER BY min(cell.id)"
    ))?;
    let mut runs = Vec::new();
    for found in found {
        let (id, mut run) = found?;
        let mut parameters: Vec<Value> = clause.parameters.iter().cloned().chain([id.into()]).collect();
        let pair = |row: &Row| Ok((row.get(0)?, natural(row.get(1)?)));
        run.verdicts = verdicts.query_map(params_from_iter(&parameters), pair)?.collect::<rusqlite::Result<_>>()?;
        parameters.push((run.trials as i64).into());
        run.targets =
            targets.query_map(params_from_iter(&parameters), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        runs.push(run);
    }
    Ok((runs, all))
}

pub(super) fn trials(cache: &Connection, filter: &Filter, limit: usize) -> rusqlite::Result<(Vec<Trial>, usize)> {
    let (clause, limit) = (filter.clause(), limit.min(i64::MAX as usize));
    let from = format!("FROM {JOINED} WHERE {} AND trial.id IS NOT NULL", clause.sql);
    let all = count(cache, &format!("SELECT count(*) {from}"), &clause.parameters)?;
    let mut ask = cache.prepare(&format!(
        "SELECT trial.*, cell.target, cell.combination, directory.path, directory.plan {from} ORDER BY {NEWEST_FIRST}, \
         trial.id LIMIT {limit}"
    ))?;
    let mut values = cache.prepare("SELECT name, value FROM value WHERE cell = ?")?;
    let found =
        ask.query_map(params_from_iter(&clause.parameters), |row| Ok((row.get::<_, i64>("cell")?, trial(row)?)))?;
    let mut trials = Vec::new();
    for found in found {
        let (cell, mut trial) = found?;
        let pair = |row: &Row| Ok((row.get(0)?, row.get(1)?));
        trial.values = values.query_map([cell], pair)?.collect::<rusqlite::Result<_>>()?;
        trials.push(trial);
    }
    Ok((trials, all))
}

fn count(cache: &Connection, ask: &str, parameters: &[Value]) -> rusqlite::Result<usize> {
    cache.query_row(ask, params_from_iter(parameters), |row| Ok(natural(row.get(0)?) as usize))
}

/// The struct with these fields, each from the column of its name, and others.
macro_rules! from_columns {
    ($row:ident, $type:ident { $($field:ident),* } { $($other:tt)* }) => {
        Ok($type { $($field: $row.get(stringify!($field))?,)* $($other)* })
    };
}

fn run(row: &Row) -> rusqlite::Result<Run> {
    let directory: String = row.get("path")?;
    let cpus = row.get::<_, Option<i64>>("cpus")?.map(natural);
    let machine: rusqlite::Result<_> = from_columns!(row, Machine { cpu, kernel, brunt, binary_hash } { cpus });
    from_columns!(row, Run { plan, description, finished, command } {
        gone: !Path::new(&directory).is_dir(),
        directory,
        kind: Kind::of(&row.get::<_, String>("kind")?),
        targets: Vec::new(),
        started_unix_s: natural(row.get("started_unix_s")?),
        missing: natural(row.get("missing")?),
        trials: natural(row.get("trials")?),
        verdicts: BTreeMap::new(),
        machine: machine?,
    })
}

fn trial(row: &Row) -> rusqlite::Result<Trial> {
    let (directory, place): (String, String) = (row.get("path")?, row.get("place")?);
    from_columns!(row, Trial {
        plan, target, combination, repeat, verdict, why, tester
    } {
        gone: !Path::new(&directory).join(&place).is_dir(),
        directory,
        place,
        values: BTreeMap::new(),
        started_unix_s: row.get::<_, Option<i64>>("started_unix_s")?.map(natural),
        figures: Figures::of(row)?,
    })
}

/// SQLite integers are signed, counts are not.
fn natural(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
