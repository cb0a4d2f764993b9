//! The form of a load: its fields, those of [`brunt_spec::table`] and a few more, and the words of `brunt load` that they stand for.
//!
//! Invariants: a value is one word of the command and begins with no dash, so it cannot become another flag; no shell is
//! involved; credentials are given as names of files.

use brunt_lab::format::escaped;
use brunt_results::secrets::{is_secret, without_users};
use brunt_spec::{Setting, table};
use std::fmt::Write as _;

/// Longest value of a field, in bytes.
const LONGEST: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    /// A flag without a value.
    Switch,
    /// A word for each line.
    Lines,
    Choice(&'static [&'static str]),
}

struct Field {
    name: String,
    /// Empty for the URL.
    flag: String,
    label: &'static str,
    example: &'static str,
    kind: Kind,
}

fn field(name: &str, flag: &str, label: &'static str, example: &'static str, kind: Kind) -> Field {
    Field { name: name.to_owned(), flag: flag.to_owned(), label, example, kind }
}

/// The field of a setting, if it has one in forms.
fn of_setting(setting: &Setting) -> Option<Field> {
    let described = setting.field?;
    let kind = match setting.kind {
        brunt_spec::Kind::Switch => Kind::Switch,
        brunt_spec::Kind::OneOf(words) => Kind::Choice(words),
        _ if setting.is_list => Kind::Lines,
        _ => Kind::Text,
    };
    Some(field(&setting.name.replace('_', "-"), &setting.flag(), described.label, described.example, kind))
}

/// Those shown at once, and those that are folded.
fn all() -> [Vec<Field>; 2] {
    let is_first = |setting: &&Setting| setting.field.is_some_and(|field| field.first);
    let (first, folded): (Vec<&Setting>, Vec<&Setting>) = table().partition(is_first);
    let fields = |settings: Vec<&Setting>| settings.into_iter().filter_map(of_setting).collect::<Vec<_>>();
    let url = field("url", "", "URL", "http://127.0.0.1:8080/", Kind::Text);
    let others = [
        field("server-pid", "--server-pid", "Process id of the server", "found by its port", Kind::Text),
        field("fail-if", "--fail-if", "Bounds, one a line", "p99>5ms", Kind::Lines),
    ];
    [[url].into_iter().chain(fields(first)).collect(), fields(folded).into_iter().chain(others).collect()]
}

/// The words of `brunt load`, of the fields as a browser sends them.
///
/// # Errors
/// One line that names the field.
pub(super) fn words(pairs: &[(String, String)]) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    for field in all().iter().flatten() {
        let value = pairs.iter().find(|(name, _)| *name == field.name).map_or("", |(_, value)| value.trim());
        if value.is_empty() {
            continue;
        }
        let lines: Vec<&str> = match field.kind {
            Kind::Lines => value.lines().map(str::trim).filter(|line| !line.is_empty()).collect(),
            _ => vec![value],
        };
        for line in lines {
            check(field, line)?;
            words.extend((!field.flag.is_empty()).then(|| field.flag.clone()));
            words.extend((field.kind != Kind::Switch).then(|| line.to_owned()));
        }
    }
    let has_url = pairs.iter().any(|(name, value)| name == "url" && !value.trim().is_empty());
    if has_url { Ok(words) } else { Err("the URL is missing: http://, https:// or tcp://".to_owned()) }
}

fn check(field: &Field, value: &str) -> Result<(), String> {
    let label = field.label;
    if value.len() > LONGEST {
        return Err(format!("{label}: longer than {LONGEST} bytes"));
    }
    if value.starts_with('-') {
        return Err(format!("{label}: a value begins with no dash"));
    }
    if value.chars().any(char::is_control) {
        return Err(format!("{label}: there is a control character in it"));
    }
    let name = value.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
    if field.name == "url" && without_users(value) != value {
        return Err(format!("{label}: commands are seen by all users of the machine; give NAME:PASSWORD as a file"));
    }
    if field.name == "header" && is_secret(&name) {
        return Err(format!("{name}: commands are seen by all users of the machine; give credentials as a file"));
    }
    Ok(())
}

/// The command as one types it into a shell.
pub(super) fn command(words: &[String]) -> String {
    let words = words.iter().map(|word| format!(" {}", quoted(word)));
    format!("brunt load{}", words.collect::<String>())
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=,@%+-".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The fields as HTML, with these values.
pub(super) fn fields(pairs: &[(String, String)]) -> String {
    let value = |field: &Field| pairs.iter().find(|(name, _)| *name == field.name).map_or("", |(_, value)| value);
    let mut out = String::from("<div class=\"fields\">\n");
    let [first, folded] = all();
    first.iter().for_each(|field| out.push_str(&control(field, value(field))));
    out.push_str("</div>\n<details><summary>More settings</summary>\n<div class=\"fields\">\n");
    folded.iter().for_each(|field| out.push_str(&control(field, value(field))));
    out.push_str("</div>\n</details>\n");
    out
}

fn control(field: &Field, value: &str) -> String {
    let Field { name, flag, label, example, kind } = field;
    let (value, example) = (escaped(value), escaped(example));
    let mut out = String::new();
    let flag = if flag.is_empty() { String::new() } else { format!(" <code>{flag}</code>") };
    let attributes = format!("id=\"{name}\" name=\"{name}\" autocomplete=\"off\" spellcheck=\"false\"");
    let control = match kind {
        Kind::Switch => {
            let checked = if value.is_empty() { "" } else { " checked" };
            let _ = writeln!(
                out,
                "<p class=\"switch\"><input type=\"checkbox\" id=\"{name}\" name=\"{name}\" value=\"on\"{checked}> \
                 <label for=\"{name}\">{label}{flag}</label></p>"
            );
            return out;
        }
        Kind::Text => {
            let required = if name == "url" { " required" } else { "" };
            format!("<input type=\"text\" {attributes} value=\"{value}\" placeholder=\"{example}\"{required}>")
        }
        Kind::Lines => format!("<textarea {attributes} rows=\"2\" placeholder=\"{example}\">{value}</textarea>"),
        Kind::Choice(words) => {
            let option = |word: &&str| {
                let selected = if **word == value { " selected" } else { "" };
                format!("<option{selected}>{word}</option>")
            };
            let options: String = words.iter().map(option).collect();
            format!("<select id=\"{name}\" name=\"{name}\"><option value=\"\">default</option>{options}</select>")
        }
    };
    let wide = if name == "url" { " class=\"wide\"" } else { "" };
    let _ = writeln!(out, "<p{wide}><label for=\"{name}\">{label}{flag}</label>{control}</p>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(pairs: &[(&str, &str)]) -> Result<String, String> {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        words(&pairs).map(|words| command(&words))
    }

    #[test]
    fn fields_are_the_words_of_the_command_in_its_order() {
        let pairs = [
            ("rate", "5k"),
            ("url", " http://h/a b "),
            ("steady", "on"),
            ("header", "A: b\r\n\r\nC: it's\n"),
            ("body", ""),
        ];
        assert_eq!(made(&pairs).unwrap(), r"brunt load 'http://h/a b' -R 5k --steady -H 'A: b' -H 'C: it'\''s'");
    }

    #[test]
    fn values_become_no_flags_and_secrets_no_words() {
        for (name, value, words) in [
            ("connections", "--out=/etc", "no dash"),
            ("url", "-h", "no dash"),
            ("method", "G\u{1}T", "control"),
            ("header", "Authorization: Bearer x", "as a file"),
            ("header", "A: b\nCOOKIE : x", "as a file"),
        ] {
            let why =
                made(&[("url", "http://h/"), (name, value)].map(|(n, v)| if n == name { (n, value) } else { (n, v) }));
            let why = why.unwrap_err();
            assert!(why.contains(words) && !why.contains("Bearer"), "{why}");
        }
        assert!(made(&[("connections", "3")]).unwrap_err().contains("URL is missing"));
        assert!(made(&[("url", "x".repeat(LONGEST + 1).as_str())]).unwrap_err().contains("longer"));
    }
}
