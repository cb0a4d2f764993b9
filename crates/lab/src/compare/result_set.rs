//! A set of trials to compare, grouped by cell: an experiment, one result, or a directory of results that are repeats
//! of each other. Read-only.

use crate::fs_error::with_path;
use crate::group::distinct;
use crate::run_directory::{RunDirectory, embedded::Opened};
use brunt_diagnostic::suggest::did_you_mean;
use brunt_results::{Error, RunResult, directory::Directory, verdict::Kind};
use std::path::{Path, PathBuf};
use std::{collections::BTreeMap, fs};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Group {
    /// Name of the cell; of the directory without an experiment.
    pub id: String,
    pub target: String,
    pub combination: String,
    pub results: Vec<RunResult>,
    /// Repeat numbers; empty without an experiment.
    pub repeats: Vec<u32>,
}

impl Group {
    pub(super) fn pairs<'a>(&'a self, other: &'a Self) -> Vec<(&'a RunResult, &'a RunResult)> {
        let partner =
            |repeat: &u32| other.repeats.iter().position(|of| of == repeat).map(|place| &other.results[place]);
        let both = self.repeats.iter().zip(&self.results);
        both.filter_map(|(repeat, result)| Some((result, partner(repeat)?))).collect()
    }

    /// Whether requests have a schedule.
    pub fn is_open(&self) -> bool {
        self.results.iter().any(|result| result.requests.offered_rate.is_some())
    }

    pub fn verdicts(&self) -> BTreeMap<Kind, usize> {
        let mut verdicts = BTreeMap::new();
        for result in &self.results {
            *verdicts.entry(result.verdict.kind).or_default() += 1;
        }
        verdicts
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResultSet {
    /// Directory or target name.
    pub name: String,
    /// Directory of the experiment, if it is one.
    pub run: Option<PathBuf>,
    pub groups: Vec<Group>,
}

impl ResultSet {
    pub fn read(dir: &Path) -> Result<Self, Error> {
        let name = dir.display().to_string();
        if !dir.is_dir() && !dir.is_file() {
            return Err(Error::Usage(format!(
                "{name} is no directory: name one that brunt run or brunt load --out has made, or a page of it"
            )));
        }
        let opened = Opened::open(dir)?;
        // Results of a page have the name of the page.
        let (source, dir) = (dir, opened.path());
        let store = RunDirectory::at(dir);
        if let Some(experiment) = store.experiment()? {
            let groups = store.results(&experiment).map(|(cell, results)| {
                let (repeats, results) = results.into_iter().unzip();
                let (id, combination) = (cell.id().to_owned(), cell.combination().to_owned());
                Group { id, target: cell.target.clone(), combination, results, repeats }
            });
            return Ok(Self { name, run: Some(source.to_owned()), groups: groups.collect() });
        }
        let directory = Directory::open(dir);
        let results = if directory.is_complete() { vec![directory.read_result()?] } else { results_in(dir)? };
        if results.is_empty() {
            return Err(Error::Usage(format!(
                "{name} holds no results: neither experiment.json (brunt run) nor result.json (brunt load --out), nor \
                 directories with one"
            )));
        }
        Ok(Self { groups: vec![Group { id: name.clone(), results, ..Group::default() }], name, run: None })
    }

    pub fn of_target(&self, target: &str) -> Result<Self, Error> {
        let groups: Vec<Group> = self.groups.iter().filter(|group| group.target == target).cloned().collect();
        if groups.is_empty() {
            return Err(Error::Usage(format!(
                "{} has no results of a target '{target}'{}",
                self.name,
                did_you_mean(target, &self.targets())
            )));
        }
        Ok(Self { name: target.to_owned(), run: self.run.clone(), groups })
    }

    fn targets(&self) -> Vec<&str> {
        distinct(self.groups.iter().map(|group| group.target.as_str()))
    }
}

fn results_in(dir: &Path) -> Result<Vec<RunResult>, Error> {
    let mut places = Vec::new();
    for entry in fs::read_dir(dir).map_err(with_path(dir))? {
        places.push(entry.map_err(with_path(dir))?.path());
    }
    places.sort();
    let complete = places.into_iter().map(Directory::open).filter(Directory::is_complete);
    Ok(complete.map(|directory| directory.read_result()).collect::<Result<_, _>>()?)
}

/// Name and groups of a cell in both sets.
type Matched<'a> = (String, &'a Group, &'a Group);

/// Matches cells by name, or by load if both sets have a single target; the second list are those without a partner.
pub(super) fn matched<'a>(a: &'a ResultSet, b: &'a ResultSet) -> (Vec<Matched<'a>>, Vec<String>) {
    let by_load = a.targets().len() == 1 && b.targets().len() == 1;
    let key = |group: &'a Group| if by_load { &group.combination } else { &group.id };
    let partner = |group: &'a Group, side: &'a ResultSet| side.groups.iter().find(|other| key(other) == key(group));
    let (mut pairs, mut alone) = (Vec::new(), Vec::new());
    for group in &a.groups {
        match partner(group, b) {
            Some(other) => pairs.push((key(group).clone(), group, other)),
            None => alone.push(format!("A: {}", group.id)),
        }
    }
    alone.extend(b.groups.iter().filter(|group| partner(group, a).is_none()).map(|group| format!("B: {}", group.id)));
    (pairs, alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(cells: &[(&str, &str)]) -> ResultSet {
        let group = |(target, combination): &(&str, &str)| Group {
            id: format!("target={target},{combination}"),
            target: (*target).to_owned(),
            combination: (*combination).to_owned(),
            results: vec![RunResult::new("test")],
            repeats: vec![1],
        };
        ResultSet { name: "s".into(), run: None, groups: cells.iter().map(group).collect() }
    }

    #[test]
    fn cells_meet_by_name_or_by_load_and_the_others_are_named() {
        let (a, b) = (side(&[("x", "size=1B"), ("x", "size=2B")]), side(&[("y", "size=2B"), ("y", "size=3B")]));
        let (pairs, alone) = matched(&a, &b);
        assert_eq!(pairs.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>(), ["size=2B"]);
        assert_eq!(alone, ["A: target=x,size=1B", "B: target=y,size=3B"]);
        let two = side(&[("x", "size=1B"), ("y", "size=1B")]);
        assert_eq!(matched(&two, &two).0.len(), 2);
        assert!(matched(&two, &b).0.is_empty());
        assert_eq!(two.of_target("y").unwrap().groups.len(), 1);
        assert!(two.of_target("z").unwrap_err().to_string().contains("no results of a target 'z'"));
    }
}
