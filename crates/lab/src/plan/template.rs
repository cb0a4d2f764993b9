//! Placeholders in command lines: `{listen}`, `{cores}`, `{size}`, any axis. Pure.
//!
//! `{{` and `}}` are literal braces. An unknown placeholder is an error when the plan is parsed.

use std::collections::BTreeMap;

/// Placeholders of every target beside [`OF_SETTINGS`] and the plan's own axes; `cores` is a list.
pub const OWN: &[&str] = &["listen", "host", "port", "cores", "core_count", "dir", "brunt"];

/// Settings as placeholders: connections and rate (`max` in a closed loop) are totals, the size is a number of bytes.
pub const OF_SETTINGS: &[&str] = &["server_cores", "client_cores", "connections", "size", "rate", "duration", "warmup"];

#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// The names used in `text`; the error describes unbalanced braces.
pub fn names(text: &str) -> Result<Vec<&str>, String> {
    let pieces = pieces(text)?;
    Ok(pieces.into_iter().filter_map(|p| if let Piece::Name(n) = p { Some(n) } else { None }).collect())
}

/// Replaces every placeholder; a name without a value is an error.
pub fn expand(text: &str, values: &BTreeMap<String, String>) -> Result<String, String> {
    let mut out = String::new();
    for piece in pieces(text)? {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Name(name) => match values.get(name) {
                Some(value) => out.push_str(value),
                None => return Err(format!("{{{name}}} has no value here")),
            },
        }
    }
    Ok(out)
}

fn pieces(text: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, brace) = rest.split_at(at);
        pieces.push(Piece::Text(before));
        rest = match brace {
            doubled if doubled.starts_with("{{") || doubled.starts_with("}}") => {
                pieces.push(Piece::Text(&doubled[..1]));
                &doubled[2..]
            }
            open if open.starts_with('{') => {
                let end = open
                    .find('}')
                    .ok_or_else(|| format!("'{text}' has a {{ without its }}; a brace itself is {{{{"))?;
                pieces.push(Piece::Name(&open[1..end]));
                &open[end + 1..]
            }
            _ => return Err(format!("'{text}' has a }} without its {{; a brace itself is }}}}")),
        };
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values() -> BTreeMap<String, String> {
        BTreeMap::from([("port".into(), "7101".into()), ("cores".into(), "1".into())])
    }

    #[test]
    fn placeholders_are_replaced_and_doubled_braces_kept() {
        assert_eq!(expand("a:{port}/{cores}", &values()).unwrap(), "a:7101/1");
        assert_eq!(expand("{{\"p\":{port}}}", &values()).unwrap(), "{\"p\":7101}");
        assert!(expand("{prot}", &values()).unwrap_err().contains("{prot}"));
        assert!(expand("{port", &values()).unwrap_err().contains("without"));
        assert!(expand("port}", &values()).unwrap_err().contains("without"));
        assert_eq!(names("{a}x{{b}}{c}").unwrap(), ["a", "c"]);
    }

    proptest! {
        #[test]
        fn no_text_panics_and_text_without_braces_is_kept(text in "[a{} \u{e4}]{0,20}") {
            let expanded = expand(&text, &values());
            if !text.contains(['{', '}']) {
                prop_assert_eq!(expanded.unwrap(), text);
            }
        }
    }
}
