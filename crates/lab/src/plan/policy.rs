//! Values of the settings `policy` and `co_runner`.

/// The policy without jobs and without a controller.
pub const ALONE: &str = "alone";
/// The policy that bounds nothing.
pub const NONE: &str = "none";

const NAMED: &[&str] = &[ALONE, NONE, "graded", "heracles", "heracles-prototype", "koordinator", "parties"];

/// As users write them; [`shown`] for readers and controllers.
pub const POLICIES: &[&str] =
    &[ALONE, NONE, "graded", "heracles", "heracles/N", "heracles-prototype", "koordinator", "parties", "static=CORES"];

/// A policy in normal form, which can be part of a path: `heracles/5` as `heracles:5`.
pub(super) fn policy(text: &str) -> Result<String, String> {
    let number = |prefix: &str| text.strip_prefix(prefix)?.parse::<f64>().ok().filter(|number| number.is_finite());
    let speed = number("heracles/").or_else(|| number("heracles:"));
    match (number("static="), speed) {
        (Some(cores), _) if cores >= 0.0 => Ok(format!("static={cores}")),
        (_, Some(speed)) if (0.01..=1000.0).contains(&speed) => Ok(format!("heracles:{speed}")),
        _ if NAMED.contains(&text) => Ok(text.to_owned()),
        _ => Err(format!("'{text}' is not a policy: one of {}", POLICIES.join(", "))),
    }
}

/// A policy as `brunt colocate run` names it.
pub fn shown(policy: &str) -> String {
    policy.replace(':', "/")
}

/// A co-runner's name in normal form; whether the plan has it is known later.
pub(super) fn co_runner(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    match !text.is_empty() && text.len() <= 64 && !text.starts_with('.') && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err(format!("'{text}' is not the name of a [[co_runner]]")),
    }
}
