//! Values from the command line that replace those of a plan: a short version of an experiment, or other cores.

use super::{Plan, phase::share, settings::per_core_counterpart};
use crate::plan::settings::{NAMES, Settings};
use brunt_diagnostic::suggest::did_you_mean;

impl Plan {
    /// Gives every cell this value; an axis of that name is no longer swept.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let own = self.custom_axes().any(|axis| axis.name == name);
        if !own && !NAMES.contains(&name) {
            return Err(format!("'{name}' is not a setting of this plan{}", did_you_mean(name, NAMES)));
        }
        // Validates first: an error changes nothing.
        Settings::default().set(name, value).map_err(|e| format!("{name}: {e}"))?;
        // A total replaces amounts per core, and the reverse.
        let rival = per_core_counterpart(name);
        let is_other = |other: &str| other != name && other != rival;
        let is_rate = [name, rival.as_str()].contains(&"rate");
        if let Some(phase) = self.phases.iter().find(|phase| is_rate && value.trim() == "max" && phase.shares_rate()) {
            let phase = &phase.name;
            return Err(format!(
                "{name}: max is not a rate, but phase '{phase}' has a share of the rate: use a number"
            ));
        }
        for sweep in &mut self.sweeps {
            sweep.axes.retain(|axis| is_other(&axis.name));
        }
        for set in self.phases.iter_mut().map(|phase| &mut phase.set) {
            // A share applies to the new rate.
            set.retain(|(set, value)| is_other(set) || (is_rate && share(value).is_some()));
        }
        for set in self.overrides.iter_mut().map(|one| &mut one.set) {
            set.retain(|(set, _)| is_other(set));
        }
        self.load.set(name, value).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::read;

    #[test]
    fn a_value_for_every_cell_takes_the_place_of_those_of_phases_and_overrides() {
        let text = "name = 'p'\n[load]\nconnections = 1\n[[phase]]\nname = 'a'\nrate = '1k'\nduration = '9s'\n\
                    [[override]]\nwhen = { phase = 'a' }\nset = { rate_per_core = '2k', warmup = '1s' }\n\
                    [[target]]\nname = 't'\ncommand = ['s']\n";
        let mut plan = read("p", text).unwrap();
        plan.set("rate", "5k").unwrap();
        assert_eq!(plan.phases[0].set, [("duration".to_owned(), "9s".to_owned())]);
        assert_eq!(plan.overrides[0].set, [("warmup".to_owned(), "1s".to_owned())]);
        assert_eq!(plan.load.get("rate").as_deref(), Some("5k"));
    }

    #[test]
    fn a_share_of_the_rate_becomes_one_of_the_new_rate() {
        let text = "name = 'p'\n[sweep]\nconnections = 1\nrate = ['1k', '2k']\n[[phase]]\nname = 'half'\nrate = '50%'\n\
                    [[target]]\nname = 't'\ncommand = ['s']\n";
        let mut plan = read("p", text).unwrap();
        assert_eq!(
            plan.set("rate", "max").unwrap_err(),
            "rate: max is not a rate, but phase 'half' has a share of the rate: use a number"
        );
        plan.set("rate_per_core", "6k").unwrap();
        let mut settings = plan.load.clone();
        super::super::phase::apply(&plan.phases[0].set, &mut settings);
        assert_eq!(settings.get("rate_per_core").as_deref(), Some("3k"));
    }

    const PLAN: &str = "name = 'p'\n[sweep]\nconnections_per_core = [1, 2]\nsize = [1, 2]\nbacklog = [1, 2]\n\
                        [[target]]\nname = 't'\ncommand = ['s', '{backlog}']\n";

    #[test]
    fn a_value_takes_the_place_of_an_axis_and_of_its_rival() {
        let mut plan = read("p", PLAN).unwrap();
        plan.set("connections", "9").unwrap();
        plan.set("backlog", "7").unwrap();
        plan.set("duration", "1s").unwrap();
        let axes: Vec<&str> = plan.sweeps[0].axes.iter().map(|axis| axis.name.as_str()).collect();
        assert_eq!(axes, ["size"]);
        assert_eq!(plan.load.get("connections").as_deref(), Some("9"));
        assert_eq!(plan.load.get("backlog").as_deref(), Some("7"));
        assert_eq!(plan.load.get("duration").as_deref(), Some("1s"));
    }

    #[test]
    fn a_slip_changes_nothing_and_is_named() {
        let mut plan = read("p", PLAN).unwrap();
        let before = plan.clone();
        assert!(plan.set("duraton", "1s").unwrap_err().contains("did you mean 'duration'?"));
        assert!(plan.set("size", "huge").unwrap_err().contains("'huge'"));
        assert_eq!(plan, before);
    }
}
