//! One key of a table of a plan.

#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub name: &'static str,
    /// An earlier name, still accepted.
    pub alias: Option<&'static str>,
    pub value_type: ValueType,
    /// Whether a table without it is refused.
    pub required: bool,
    /// For users, in the published schema.
    pub description: &'static str,
}

/// What may stand behind a key.
#[derive(Debug, Clone, Copy)]
pub enum ValueType {
    /// A text that can name a directory.
    Name,
    /// Any text.
    Text,
    /// A list of texts.
    Words,
    /// A command: a program and its arguments.
    Command,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A whole number within these bounds, both included.
    Whole(u64, u64),
    /// `80`, `20k`, `1M`.
    Count,
    /// A count of requests per second, or `max`.
    Rate,
    /// The same, or a share of another rate: `50%`.
    Share,
    /// `100B`, `1KiB`.
    Size,
    /// `500us`, `10s`.
    Span,
    /// True or false.
    Truth,
    /// A number of cores.
    Cores,
    /// A number of cores, `4x` or `rest`.
    ClientCores,
    /// Begins with a slash.
    Path,
    /// True, false or a list of cores.
    Pin,
    /// The name of a tester.
    Tester,
    /// For each tester a list of words.
    Testers,
    /// Environment variables.
    Env,
    /// Names and the values that match, or a list of such tables.
    Patterns,
    /// A table of settings.
    Settings,
    /// One table with these keys.
    Table(&'static [Key]),
    /// Tables in double brackets with these keys.
    Tables(&'static [Key]),
    /// `[[target]]`s.
    Targets,
    /// Of each setting one value or a list of them, axes of the plan's own, and filters; one table or several.
    Sweep,
}

pub const fn optional(name: &'static str, value_type: ValueType, description: &'static str) -> Key {
    Key { name, alias: None, value_type, required: false, description }
}

pub const fn required(name: &'static str, value_type: ValueType, description: &'static str) -> Key {
    Key { name, alias: None, value_type, required: true, description }
}
