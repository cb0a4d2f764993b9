//! The page of a comparison: the answers, ratios with their intervals, a table for each cell, and what was compared.

use super::document::{Document, commands, header, list, table};
use super::ratios;
use crate::compare::text::{legend, row, title};
use crate::compare::{Comparison, MetricComparison, Pair, answers};
use crate::format;
use crate::group::distinct;
use crate::report::charts::{RatioGroup, RatioMark, RatioRow, Ratios};
use crate::report::notes;
use crate::run_directory::{RunDirectory, embedded::Opened};
use brunt_results::Error;
use brunt_results::directory::Directory;
use std::path::{Path, PathBuf};

/// The page; `sources` are the directories and pages that were compared.
pub fn page_of_comparison(comparison: &Comparison, sources: &[PathBuf]) -> Result<String, Error> {
    let mut origins = Origins::default();
    for source in sources {
        origins.read(source, &comparison.sides)?;
    }
    Ok(page(comparison, &origins))
}

/// The page of a comparison of servers that were not started for it; `commands` by what they started.
pub fn page_of_load_comparison(comparison: &Comparison, commands: Vec<(String, String)>) -> Result<String, Error> {
    let machine = notes::machine(&brunt_meter::environment::collect());
    Ok(page(comparison, &Origins { commands, machines: vec![machine] }))
}

fn page(comparison: &Comparison, origins: &Origins) -> String {
    let [a, b] = &comparison.sides;
    let sides = format!("A is {a}, B is {b}.");
    let heading = format!("{b} against {a}");
    let mut body = format!("<header>\n{}</header>\n", header(&heading, &answers(comparison), &[("faint", &sides)]));
    body.push_str(&ratios::ratio_card(
        "B to A",
        "95 % intervals; band: the margin; hollow: no answer",
        &all(comparison),
    ));
    for pair in &comparison.cells {
        body.push_str(&format!("<h2>{}</h2>\n{}", format::escaped(&title(pair)), cell(pair, comparison)));
    }
    body.push_str(&commands(&origins.commands));
    body.push_str("<h2>How to read it, and where it was measured</h2>\n");
    body.push_str(&list(&legend(comparison)));
    body.push_str(&list(&origins.machines));
    Document { title: heading, body, tail: String::new(), results: None }.html()
}

/// Its heads say which statistic a percentage is of.
fn cell(pair: &Pair, comparison: &Comparison) -> String {
    let heads = match pair.by_slices {
        true => {
            ["A, median of slices", "B, median of slices", "change, Hodges-Lehmann estimate", "p, signed-rank test"]
        }
        false => ["A, median of repeats", "B, median of repeats", "change, of geometric means", "p, permutation test"],
    };
    let [a, b, change, p] = heads;
    let heads = ["figure", "verdict", a, b, change, "95 % interval of the change", p];
    let line = |found: &MetricComparison| {
        let mut cells = row(found, comparison.margin, pair.by_slices);
        cells[0] = found.figure.label.to_owned();
        let verdict = cells.pop().unwrap_or_default();
        cells.insert(1, verdict);
        cells
    };
    let rows: Vec<Vec<String>> = pair.figures.iter().map(line).collect();
    table(&title(pair), &heads, &rows, |column| column > 1)
}

/// The ratios of every cell on one scale.
fn all(comparison: &Comparison) -> Ratios {
    let group = |pair: &Pair| RatioGroup {
        heading: if comparison.cells.len() > 1 { pair.cell.clone() } else { String::new() },
        figures: vec!["ratio B / A".to_owned()],
        rows: pair.figures.iter().filter_map(line).collect(),
    };
    let groups: Vec<RatioGroup> = comparison.cells.iter().map(group).collect();
    Ratios::new(comparison.margin, groups)
}

fn line(found: &MetricComparison) -> Option<RatioRow> {
    let mark = RatioMark::of(found.ratio.as_ref()?);
    Some(RatioRow { number: 0, name: found.figure.label.to_owned(), marks: vec![Some(mark)] })
}

/// Where the results came from.
#[derive(Default)]
struct Origins {
    commands: Vec<(String, String)>,
    /// Machine, kernel and program, once each.
    machines: Vec<String>,
}

impl Origins {
    /// Adds those of a source; of a run, targets that are `sides`, or all if none is.
    fn read(&mut self, source: &Path, sides: &[String; 2]) -> Result<(), Error> {
        let opened = Opened::open(source)?;
        let name = source.display();
        let store = RunDirectory::at(opened.path());
        if let Some(experiment) = store.experiment()? {
            let targets = distinct(experiment.cells.run.iter().map(|cell| cell.target.as_str()));
            let is_side = |target: &str| sides.iter().any(|side| side == target);
            let is_of_targets = targets.iter().any(|target| is_side(target));
            for target in targets.into_iter().filter(|target| !is_of_targets || is_side(target)) {
                let place = if is_of_targets { target.to_owned() } else { format!("{target} of {name}") };
                self.commands.extend(store.command(&experiment, target).map(|words| (place, words.join(" "))));
            }
            self.commands.push((format!("run {name}"), experiment.command.join(" ")));
            let mut envs = store
                .recorded_trials(&experiment)
                .filter_map(|(cell, trials)| trials.first().and_then(|(repeat, _)| store.env(cell.id(), *repeat)));
            self.machines.extend(envs.next().as_ref().map(notes::machine));
        } else {
            let first = || std::fs::read_dir(opened.path()).ok()?.flatten().map(|entry| entry.path()).min();
            let directory = Directory::open(opened.path());
            let directory = if directory.is_complete() { Some(directory) } else { first().map(Directory::open) };
            let env = directory.and_then(|directory| directory.read_env().ok());
            // Without the folder of the program.
            let command = env.as_ref().and_then(|env| env.command.split_first());
            let command = command.map(|(_, words)| format!("brunt {}", words.join(" ")));
            self.commands.extend(command.map(|command| (format!("load {name}"), command)));
            self.machines.extend(env.as_ref().map(notes::machine));
        }
        self.machines.sort();
        self.machines.dedup();
        Ok(())
    }
}
