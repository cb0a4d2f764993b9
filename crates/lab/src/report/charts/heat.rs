//! Heat maps: the objective's percentile as a share of its limit, by load and co-runner, a panel for each policy.

use crate::group::{distinct, grouped};
use crate::report::colocation::Colocation;
use crate::report::{Report, Row};
use brunt_results::Rate;

#[derive(Debug, Clone, PartialEq)]
pub struct Heat {
    /// Offered rates.
    pub loads: Vec<String>,
    pub panels: Vec<HeatPanel>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct HeatPanel {
    pub policy: String,
    /// Co-runner, and the share for each load.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

/// The heat map of each target, with the target if there are several.
pub fn heat_maps(report: &Report) -> Vec<(Option<String>, Heat)> {
    let rows = report.rows.iter().filter_map(|row| Some((row, row.colocated.as_ref()?)));
    let by_target = grouped(rows.map(|row| (row.0.cell.target.clone(), row)));
    let several = by_target.len() > 1;
    by_target.into_iter().map(|(target, rows)| (several.then_some(target), heat(&rows))).collect()
}

fn heat(rows: &[(&Row, &Colocation)]) -> Heat {
    let rate = |row: &Row| row.cell.rate().unwrap_or(0.0);
    let mut rates = distinct(rows.iter().map(|(row, _)| rate(row)));
    rates.sort_by(f64::total_cmp);
    let co_runners = distinct(rows.iter().map(|(_, of)| of.co_runner.as_str()));
    let panels = grouped(rows.iter().map(|(row, of)| (of.policy(), (*row, *of))));
    let panel = |(policy, rows): (String, Vec<(&Row, &Colocation)>)| {
        let share = |co_runner: &str, at: f64| {
            let mut cells = rows.iter().filter(|(row, of)| of.co_runner == co_runner && rate(row) == at);
            cells.find_map(|(_, of)| of.latency_share())
        };
        let line = |name: &&str| ((*name).to_owned(), rates.iter().map(|at| share(name, *at)).collect());
        HeatPanel { policy, rows: co_runners.iter().map(line).collect() }
    };
    let panels = panels.into_iter().map(panel).collect();
    Heat { loads: rates.iter().map(|rate| Rate(*rate).to_string()).collect(), panels }
}

impl Heat {
    /// Text alternative: the worst cell of each policy.
    pub fn description(&self) -> String {
        let worst = |panel: &HeatPanel| {
            let cells = panel.rows.iter().flat_map(|(name, shares)| {
                shares.iter().zip(&self.loads).filter_map(move |(share, load)| Some((name, load, (*share)?)))
            });
            let (name, load, share) = cells.max_by(|a, b| a.2.total_cmp(&b.2))?;
            Some(format!("{}: at most {:.0} %, beside {name} at {load}.", panel.policy, share * 100.0))
        };
        self.panels.iter().filter_map(worst).collect::<Vec<_>>().join(" ")
    }
}
