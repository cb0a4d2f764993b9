//! Names that other load tools give to flags of `brunt load`, for the error about an unknown one.

use clap::error::{ContextKind, ContextValue, ErrorKind};

const ELSEWHERE: [(&str, &str); 25] = [
    ("--data", "--body"),
    ("--data-raw", "--body"),
    ("--data-binary", "--body"),
    ("--body-file", "--body @FILE"),
    ("--request", "-X"),
    ("--concurrency", "-c"),
    ("--clients", "-c"),
    ("--users", "-c"),
    ("--vus", "-c"),
    ("--iterations", "-n"),
    ("--count", "-n"),
    ("--time", "-d"),
    ("--query-per-second", "-R"),
    ("--rps", "-R"),
    ("--disable-keepalive", "--no-keepalive"),
    ("--latency-correction", "-R, which always counts from the intended time"),
    ("--u_latency", "--latency"),
    ("--thresholds", "--fail-if"),
    ("--summary-export", "--json FILE"),
    ("--ca", "--cacert"),
    ("--targets", "--requests FILE"),
    ("--urls-from-file", "--requests FILE"),
    ("--url-file", "--requests FILE"),
    ("--har", "--requests FILE"),
    ("--timing-script-file", "--replay FILE"),
];

/// A line for the user, ending in a newline, if the error is about a flag of another tool.
pub fn hint(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    // vegeta's `-targets` reads as -t with a value.
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue)
        && value.starts_with("argets")
    {
        return Some("  tip: brunt load has -targets as --requests FILE\n".to_owned());
    }
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let (_, here) = ELSEWHERE.iter().find(|(elsewhere, _)| is_unknown && flag == elsewhere)?;
    Some(format!("  tip: brunt load has it as {here}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    #[derive(Parser)]
    struct Load {
        #[command(flatten)]
        _args: super::super::load::Args,
    }

    #[test]
    fn flags_of_other_tools_are_unknown_and_those_named_instead_exist() {
        let command = Load::command();
        for (elsewhere, here) in ELSEWHERE {
            let error = Load::try_parse_from(["load", "http://a/", elsewhere]).err().unwrap();
            assert!(hint(&error).is_some_and(|hint| hint.contains(here)), "{elsewhere}");
            let name = here.split([' ', ',']).next().unwrap().trim_start_matches('-');
            let is_it = |arg: &clap::Arg| {
                arg.get_long() == Some(name) || arg.get_short().is_some_and(|c| c.to_string() == name)
            };
            assert!(command.get_arguments().any(is_it), "{here}");
        }
        let other = Load::try_parse_from(["load", "http://a/", "--unheard-of"]).err().unwrap();
        assert_eq!(hint(&other), None);
        for flag in ["-targets=calls", "-targets"] {
            let error = Load::try_parse_from(["load", "http://a/", flag, "calls"]).err().unwrap();
            assert!(hint(&error).is_some_and(|hint| hint.contains("--requests")), "{flag}");
        }
        let wrong = Load::try_parse_from(["load", "http://a/", "-t", "x"]).err().unwrap();
        assert_eq!(hint(&wrong), None);
    }
}
