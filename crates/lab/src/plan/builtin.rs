//! The plans compiled into the binary. `builtin/` has links to the files in `experiments/`, which a package of this crate holds as
//! files.

/// Name and text, in the order shown to users.
pub const PLANS: &[(&str, &str)] = &[
    ("quick", include_str!("builtin/quick.toml")),
    ("ping-pong-peak", include_str!("builtin/ping-pong-peak.toml")),
    ("ping-pong-fixed-rate", include_str!("builtin/ping-pong-fixed-rate.toml")),
    ("ping-pong-scaling", include_str!("builtin/ping-pong-scaling.toml")),
    ("http-upstreams", include_str!("builtin/http-upstreams.toml")),
    ("stall", include_str!("builtin/stall.toml")),
    ("million-connections", include_str!("builtin/million-connections.toml")),
];

pub fn text(name: &str) -> Option<&'static str> {
    PLANS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

pub fn names() -> Vec<&'static str> {
    PLANS.iter().map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_is_valid_and_bears_its_name() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let of_clone = paths.filter(|path| path.extension().is_some_and(|e| e == "toml")).map(|path| {
            let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap();
            (name.to_owned(), std::fs::read_to_string(&path).unwrap())
        });
        let of_clone: Vec<_> = of_clone.collect();
        assert!(of_clone.len() >= PLANS.len());
        let built_in = PLANS.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        for (name, text) in built_in.chain(of_clone) {
            let plan = crate::plan::read(&format!("{name}.toml"), &text).unwrap_or_else(|fault| panic!("{fault}"));
            assert_eq!(plan.name, name);
            assert!(!plan.description.is_empty() || !names().contains(&name.as_str()), "{name} has no description");
        }
    }
}
