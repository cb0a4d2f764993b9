//! Two versions of one binary as the targets of a plan: `base` and `head`, which differ in nothing else. Pure.

use super::{Plan, Target, TargetKind};

/// Names of the targets, in their order.
pub const NAMES: [&str; 2] = ["base", "head"];

impl Plan {
    /// Replaces all targets by two copies of `target`: in each, the words of its command that `is_binary` become the path of
    /// one version. They are built already.
    pub fn into_versions(mut self, target: &Target, is_binary: impl Fn(&str) -> bool, paths: [&str; 2]) -> Self {
        let version = |(name, path): (&str, &str)| {
            let mut version = Target { name: name.to_owned(), build: Vec::new(), ..target.clone() };
            if let TargetKind::Command(words) = &mut version.kind {
                for word in words.iter_mut().filter(|word| is_binary(word)) {
                    // Braces are placeholders.
                    *word = path.replace('{', "{{").replace('}', "}}");
                }
            }
            version
        };
        let names = NAMES.map(str::to_owned);
        self.targets = NAMES.into_iter().zip(paths).map(version).collect();
        self.baseline = Some(NAMES[0].to_owned());
        let sweeps = self.sweeps.iter_mut().map(|sweep| &mut sweep.filter);
        let overrides = self.overrides.iter_mut().map(|one| &mut one.filter);
        sweeps.chain(overrides).for_each(|filter| filter.replace_target(&target.name, &names));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::read;

    #[test]
    fn versions_differ_in_the_binary_and_share_what_the_target_has() {
        let text = "name = 'p'\n[load]\nconnections = 1\n\
                    [[override]]\nwhen = { target = 's' }\nset = { connections = 7 }\n\
                    [[override]]\nwhen = { target = 'base' }\nset = { connections = 9 }\n\
                    [[target]]\nname = 's'\nbuild = ['make']\ncommand = ['nice', 'out/s', '{listen}']\nenv = { A = '1' }\n\
                    [[target]]\nname = 'base'\ncommand = ['other']\n";
        let plan = read("p", text).unwrap();
        let target = plan.targets[0].clone();
        let plan = plan.into_versions(&target, |word| word == "out/s", ["/b/out/s", "/h{1}/out/s"]);
        let names: Vec<&str> = plan.targets.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, NAMES);
        let words = |index: usize| match &plan.targets[index].kind {
            TargetKind::Command(words) => words.join(" "),
            _ => unreachable!(),
        };
        assert_eq!([words(0), words(1)], ["nice /b/out/s {listen}", "nice /h{{1}}/out/s {listen}"]);
        assert!(plan.targets.iter().all(|target| target.build.is_empty() && target.env["A"] == "1"));
        assert_eq!(plan.overrides[0].filter.when[0]["target"], NAMES);
        assert!(plan.overrides[1].filter.when[0]["target"].is_empty());
        assert!(plan.is_sliced());
    }
}
