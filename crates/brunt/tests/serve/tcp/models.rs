//! The places that list server models by hand must agree with the table of `brunt-serve`.

use crate::shared::server::models;
use std::{collections::BTreeSet, fs, path::Path};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn table() -> BTreeSet<String> {
    models().map(str::to_owned).collect()
}

#[test]
fn plans_accept_every_model() {
    fn lists(value: &serde_json::Value, found: &mut Vec<BTreeSet<String>>) {
        match value {
            serde_json::Value::Array(items) => {
                let words: BTreeSet<String> =
                    items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect();
                if words.contains("epoll-one") {
                    found.push(words);
                }
                items.iter().for_each(|item| lists(item, found));
            }
            serde_json::Value::Object(map) => map.values().for_each(|value| lists(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    lists(&serde_json::from_str(&read("docs/schema/plan.schema.json")).unwrap(), &mut found);
    assert!(!found.is_empty(), "no list of models in docs/schema/plan.schema.json");
    for words in found {
        let place = "MODELS in crates/lab/src/plan/keys.rs, then UPDATE_SCHEMA=1 cargo test -p brunt-lab";
        assert_eq!(words, table(), "add the model to {place}");
    }
}

#[test]
fn the_guide_has_a_row_for_every_model() {
    let guide = read("docs/guide/serve.md");
    let section = guide.split("## Models").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(rows.map(str::to_owned).collect::<BTreeSet<_>>(), table(), "docs/guide/serve.md, Models");
}

#[test]
fn an_experiment_measures_every_model() {
    let plan = read("experiments/server-models.toml");
    for model in models() {
        assert!(plan.contains(&format!("\"{model}\"")), "experiments/server-models.toml has no target on {model}");
    }
}
