//! What the seconds of a load tell while it goes on: the page so far, and doubts as they arise. Has no clock and prints nothing.

use crate::doubts::Doubts;
use crate::live::{self, Model};
use brunt_results::agents::AgentNow;
use brunt_results::series::Line;
use brunt_results::start::LoadStart;
use brunt_results::verdict::ValidityIssue;

#[derive(Debug)]
pub struct Course {
    model: Model,
    doubts: Doubts,
}

impl Course {
    pub fn new(start: LoadStart) -> Self {
        let mut model = Model::default();
        model.begin(start);
        Self { model, doubts: Doubts::default() }
    }

    pub fn push(&mut self, second: Line) {
        self.model.push(second);
    }

    /// A line for each doubt that is new after the last second. `exit` is what no second shows: that the server has ended.
    pub fn doubts(&mut self, exit: Option<&ValidityIssue>) -> Vec<String> {
        let mut verdict = self.model.verdict().unwrap_or_default();
        exit.into_iter().for_each(|exit| verdict.add(exit));
        self.doubts.arising(self.model.last().map_or(0.0, |last| last.at_s), &verdict)
    }

    /// The page so far, ending in a newline; of a load that these agents make, if there are any.
    pub fn page(&mut self, agents: Vec<AgentNow>) -> String {
        self.model.agents = agents;
        live::page(&self.model)
    }

    /// Whether a number of requests ends the load.
    pub fn is_counted(&self) -> bool {
        self.model.is_counted()
    }
}
