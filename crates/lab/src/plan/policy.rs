//! Values of the settings `policy` and `co_runner`.

/// The policy without jobs and without a controller.
pub const ALONE: &str = "alone";
/// The policy that bounds nothing.
pub const NONE: &str = "none";

pub const POLICIES: &[&str] = &[ALONE, NONE, "graded", "heracles", "heracles-prototype", "static=CORES"];

/// A policy in normal form.
pub(super) fn policy(text: &str) -> Result<String, String> {
    let cores = text.strip_prefix("static=").and_then(|cores| cores.parse::<f64>().ok());
    match cores.filter(|cores| cores.is_finite() && *cores >= 0.0) {
        Some(cores) => Ok(format!("static={cores}")),
        None if POLICIES.contains(&text) && !text.starts_with("static") => Ok(text.to_owned()),
        None => Err(format!("'{text}' is not a policy: one of {}", POLICIES.join(", "))),
    }
}

/// A co-runner's name in normal form; whether the plan has it is known later.
pub(super) fn co_runner(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    match !text.is_empty() && text.len() <= 64 && !text.starts_with('.') && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err(format!("'{text}' is not the name of a [[co_runner]]")),
    }
}
