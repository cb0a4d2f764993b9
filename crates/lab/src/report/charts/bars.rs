//! Bar charts: one bar per target, grouped by load.

use super::{metric::Metric, scale::Scale};

#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    pub metric: Metric,
    pub groups: Vec<Group>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    pub heading: String,
    pub bars: Vec<Bar>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Index of the target, which determines its colour and marker.
    pub number: usize,
    pub name: String,
    /// Start of a bar that spans two figures; `None` for one from zero.
    pub from: Option<f64>,
    pub value: Option<f64>,
    /// Lowest and highest repeat.
    pub range: Option<(f64, f64)>,
    pub label: String,
    /// Whether most repeats have the verdict `ok`.
    pub is_trusted: bool,
}

impl Bars {
    pub fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.groups.iter().flat_map(|group| &group.bars)
    }

    pub fn scale(&self) -> Scale {
        let reached = |bar: &Bar| [bar.from, bar.value, bar.range.map(|range| range.1)];
        self.metric.scale(&self.bars().flat_map(reached).flatten().collect::<Vec<_>>())
    }

    pub fn description(&self) -> String {
        let of = |group: &Group| {
            let heading = if group.heading.is_empty() { String::new() } else { format!("{}: ", group.heading) };
            let bars: Vec<String> = group.bars.iter().map(|bar| format!("{} {}", bar.name, bar.label)).collect();
            format!("{heading}{}.", bars.join("; "))
        };
        self.groups.iter().map(of).collect::<Vec<_>>().join(" ")
    }
}
