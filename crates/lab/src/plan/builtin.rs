//! The plans compiled into the binary.

/// Name and text, in the order shown to users.
pub const PLANS: &[(&str, &str)] = &[
    ("quick", include_str!("../../../../experiments/quick.toml")),
    ("ping-pong-peak", include_str!("../../../../experiments/ping-pong-peak.toml")),
    ("ping-pong-fixed-rate", include_str!("../../../../experiments/ping-pong-fixed-rate.toml")),
    ("ping-pong-scaling", include_str!("../../../../experiments/ping-pong-scaling.toml")),
    ("http-upstreams", include_str!("../../../../experiments/http-upstreams.toml")),
    ("stall", include_str!("../../../../experiments/stall.toml")),
    ("million-connections", include_str!("../../../../experiments/million-connections.toml")),
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
    fn every_built_in_plan_is_valid_and_bears_its_name() {
        for (name, text) in PLANS {
            let plan = crate::plan::read(&format!("{name}.toml"), text).unwrap_or_else(|fault| panic!("{fault}"));
            assert_eq!(plan.name, *name);
            assert!(!plan.description.is_empty(), "{name} has no description");
        }
    }

    #[test]
    fn every_plan_of_the_clone_is_valid_and_bears_its_name() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
        let plans = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let plans: Vec<_> = plans.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
        assert!(plans.len() >= PLANS.len());
        for path in plans {
            let text = std::fs::read_to_string(&path).unwrap();
            let plan = crate::plan::read(&path.display().to_string(), &text).unwrap_or_else(|fault| panic!("{fault}"));
            assert_eq!(Some(plan.name.as_str()), path.file_stem().and_then(|stem| stem.to_str()));
        }
    }
}
