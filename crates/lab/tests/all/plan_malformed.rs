//! Malformed plans and common typing errors: whatever the file contains, the parser returns a plan
//! or one message with file, line, column, and the key if it is about one.

use brunt_lab::plan::read;
use brunt_lab::schedule::{Machine, cells};
use proptest::prelude::*;
use std::collections::BTreeMap;

const PLANS: [&str; 4] = [
    include_str!("../../../../experiments/example.toml"),
    include_str!("../../../../experiments/quick.toml"),
    include_str!("../../../../experiments/http-upstreams.toml"),
    include_str!("../../../../experiments/ping-pong-peak.toml"),
];

/// Line and column of a message, and the quoted line.
fn pointed(message: &str) -> (usize, usize, &str) {
    let mut place = message.strip_prefix("p.toml:").unwrap_or_else(|| panic!("no place: {message}")).splitn(3, ':');
    let mut number = || place.next().unwrap().parse().unwrap_or_else(|_| panic!("no place: {message}"));
    let (line, column) = (number(), number());
    (line, column, message.lines().nth(1).unwrap_or("").split_once(" | ").map_or("", |(_, shown)| shown))
}

/// Parses a text and makes the cells of a valid plan; a message must point into the text.
fn digest(text: &str) -> Option<String> {
    match read("p.toml", text) {
        Ok(plan) => {
            cells(&plan, &Machine { cores: vec![0, 1, 2, 3], open_files: 1 << 20 }, &BTreeMap::new());
            None
        }
        Err(fault) => {
            let message = fault.to_string();
            let (line, column, shown) = pointed(&message);
            let there = text.split('\n').nth(line - 1).unwrap_or_else(|| panic!("no such line: {message}"));
            assert!(column <= there.chars().count() + 1, "{message}");
            assert_eq!(shown.trim_end(), there.replace('\t', " ").trim_end(), "{message}");
            Some(message)
        }
    }
}

/// Every key at the beginning of a line: the line, the key, and the text around its value, which may span lines.
fn keys(text: &str) -> Vec<(usize, String, String, String)> {
    let mut found = Vec::new();
    let mut before = String::new();
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        if let Some((key, _)) = line.split_once(" = ").filter(|(key, _)| !key.contains(['#', ' ', '"'])) {
            // The value ends where the text up to there is valid again.
            let end = (index + 1..=lines.len())
                .find(|end| toml::from_str::<toml::Table>(&lines[index..*end].join("\n")).is_ok());
            let after = lines[end.unwrap()..].join("\n");
            found.push((index + 1, key.to_owned(), before.clone(), after));
        }
        before.push_str(line);
        before.push('\n');
    }
    found
}

#[test]
fn a_value_of_the_wrong_type_is_reported_with_line_and_key() {
    let mut tried = 0;
    for plan in PLANS {
        for (line, key, before, after) in keys(plan) {
            for junk in ["[[{ deep = [] }]]", "{ deep = [[]] }", "1979-05-27", "''", "-1", "nan"] {
                let text = format!("{before}{key} = {junk}\n{after}\n");
                // Some keys take any text or number, so the plan may be valid.
                let Some(message) = digest(&text) else { continue };
                tried += 1;
                // The error may be at a dependent place: a missing name, a placeholder without its axis.
                let elsewhere = ["''", "-1", "nan"].contains(&junk) && pointed(&message).0 != line;
                assert!(elsewhere || pointed(&message).0 == line, "{key} = {junk} gave\n{message}");
                let named = message.lines().next().unwrap();
                assert!(elsewhere || named.contains(&key) || named.contains("deep"), "{key} = {junk} gave\n{message}");
            }
        }
    }
    assert!(tried > 200, "only {tried} mistakes were found");
}

#[test]
fn unknown_keys_are_reported_in_every_table() {
    for plan in PLANS {
        for (line, key, before, _) in keys(plan) {
            let rest: String = plan.lines().skip(line - 1).map(|line| format!("{line}\n")).collect();
            let message = digest(&format!("{before}zz-zz = 1\n{rest}")).unwrap();
            assert_eq!(pointed(&message).0, line, "before {key}:\n{message}");
            assert!(message.contains("'zz-zz'"), "before {key}:\n{message}");
        }
    }
}

#[test]
fn truncated_plans_parse_or_are_reported() {
    for plan in PLANS {
        for end in (0..plan.len()).filter(|end| plan.is_char_boundary(*end)).step_by(7) {
            digest(&plan[..end]);
        }
    }
}

/// Fragments of plans, and of invalid TOML.
const PIECES: &[&str] = &[
    "\"",
    "'",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ",",
    "#",
    "\n",
    "\\",
    "\0",
    "\u{feff}",
    "ä",
    "{size}",
    "{{",
    "}}",
    "name = 'x'",
    "\n[[phase]]\n",
    "\n[[override]]\n",
    "\n[sweep]\n",
    "\n[[target]]\n",
    "when",
    "except = {}",
    "phase",
    "target",
    "1e400",
    "99999999999999999999",
    "-0",
    "true",
    "\"\"\"",
    "connections = 1\n",
    "set = { path = '/{x}' }\n",
    "pin = '9-1'\n",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_mutation_of_a_plan_panics(
        plan in 0..PLANS.len(),
        changes in prop::collection::vec((0.0..1.0f64, 0usize..40, 0..PIECES.len(), any::<bool>()), 1..6),
    ) {
        let mut text: Vec<char> = PLANS[plan].chars().collect();
        for (at, length, piece, keep) in changes {
            let at = (at * text.len() as f64) as usize;
            let end = if keep { at } else { (at + length).min(text.len()) };
            text.splice(at..end, PIECES[piece].chars());
        }
        digest(&text.into_iter().collect::<String>());
    }

    #[test]
    fn lines_in_another_order_do_not_panic(plan in 0..PLANS.len(), swaps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..8)) {
        let mut lines: Vec<&str> = PLANS[plan].lines().collect();
        for (a, b) in swaps {
            let (a, b) = (a.index(lines.len()), b.index(lines.len()));
            lines.swap(a, b);
        }
        digest(&lines.join("\n"));
    }
}
