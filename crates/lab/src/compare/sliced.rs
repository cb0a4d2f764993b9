//! Two targets of a sliced experiment: compared by the slices of each load instead of by its starts.

use super::metric_comparison::{MetricComparison, compared};
use super::{Comparison, Pair};
use crate::run_directory::RunDirectory;
use brunt_results::Error;
use brunt_slices::{LoadComparison, Settings, SlicedLoad};
use std::collections::BTreeMap;
use std::path::Path;

/// Compares target `b` with target `a` in each load of the run in `dir`; `None` if it was not made by slices.
pub fn sliced(dir: &Path, a: &str, b: &str, margin: f64) -> Result<Option<Comparison>, Error> {
    let store = RunDirectory::at(dir);
    let Some(experiment) = store.experiment()? else { return Ok(None) };
    let is_side = |target: &str| [a, b].contains(&target);
    let has_side = |load: &SlicedLoad| {
        let mut cells = experiment.cells.run.iter().filter(|cell| cell.combination() == load.load);
        cells.any(|cell| is_side(&cell.target))
    };
    let mut loads = store.sliced_loads(&experiment)?;
    loads.retain(has_side);
    loads.iter_mut().for_each(|load| load.slices.retain(|slice| is_side(&slice.target)));
    if loads.is_empty() {
        return Ok(None);
    }
    let settings = Settings { margin, precision: experiment.precision.unwrap_or(margin / 2.0) };
    let compared = brunt_slices::compare(&loads, &[a.to_owned(), b.to_owned()], a, settings);
    let cells = compared.iter().map(|comparison| pair(comparison, b, comparison.load.clone())).collect();
    Ok(Some(Comparison { sides: [a.to_owned(), b.to_owned()], margin, cells, alone: Vec::new() }))
}

/// Each target of one load against its baseline; of several targets, each is a cell.
pub fn of_load(comparison: &LoadComparison) -> Comparison {
    let others = comparison.targets.iter().map(|target| &target.target).filter(|name| **name != comparison.baseline);
    let others: Vec<&str> = others.map(String::as_str).collect();
    let (other, is_one) = (others.join(", "), others.len() == 1);
    let cell = |name: &str| if is_one { comparison.load.clone() } else { name.to_owned() };
    let cells = others.iter().map(|name| pair(comparison, name, cell(name))).collect();
    let sides = [comparison.baseline.clone(), other];
    Comparison { sides, margin: comparison.margin, cells, alone: Vec::new() }
}

/// Target `b` of a load against the load's baseline.
fn pair(comparison: &LoadComparison, b: &str, cell: String) -> Pair {
    let target = |name: &str| comparison.targets.iter().find(|target| target.target == name);
    let (baseline, target) = (target(&comparison.baseline), target(b));
    let figures = compared(&[]).filter_map(|figure| {
        let ratio = target?.ratio(figure)?.clone();
        Some(MetricComparison { figure, a: baseline?.value(figure), b: target?.value(figure), ratio: Some(ratio) })
    });
    Pair {
        cell,
        repeats: [comparison.rounds; 2],
        in_pairs: true,
        by_slices: true,
        verdicts: [BTreeMap::new(), BTreeMap::new()],
        figures: figures.collect(),
    }
}
