//! One key of a table of a plan.

#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub name: &'static str,
    pub alias: Option<&'static str>,
    pub value_type: ValueType,
    /// Whether a table without it is refused.
    pub required: bool,
    /// For users, in the published schema.
    pub description: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub enum ValueType {
    /// A string that can name a directory.
    Name,
    Text,
    Words,
    /// A command: a program and its arguments.
    Command,
    OneOf(&'static [&'static str]),
    /// An integer within these bounds, inclusive.
    Whole(u64, u64),
    /// `80`, `20k`, `1M`.
    Count,
    /// A count of requests per second, or `max`.
    Rate,
    /// A rate, or a share of the cell's rate: `50%`.
    Share,
    /// `2`, `0.5`.
    Factor,
    /// `100B`, `1KiB`.
    Size,
    /// `3%`.
    Percent,
    /// `500us`, `10s`.
    Span,
    Truth,
    /// `true` or `false`, without quotes.
    Bool,
    Cores,
    /// A number of cores, `4x` or `rest`.
    ClientCores,
    Path,
    Pin,
    Tester,
    /// What bounds best-effort jobs.
    Policy,
    /// A list of words for each tester.
    Testers,
    Env,
    Patterns,
    Settings,
    Table(&'static [Key]),
    Tables(&'static [Key]),
    Targets,
    /// One or several tables of filters and axes; each axis has one value or a list.
    Sweep,
}

pub const fn optional(name: &'static str, value_type: ValueType, description: &'static str) -> Key {
    Key { name, alias: None, value_type, required: false, description }
}

pub const fn required(name: &'static str, value_type: ValueType, description: &'static str) -> Key {
    Key { name, alias: None, value_type, required: true, description }
}
