//! Which agents are meant.

use brunt_fleet::nats::About;
use brunt_results::Error;

fn usage<T>(message: String) -> Result<T, Error> {
    Err(Error::Usage(message))
}

/// The one agent that a flag names.
///
/// # Errors
/// It is not there, several are meant, or it runs another program.
pub(in crate::cmd) fn one(flag: &str, on: &str, found: Vec<About>) -> Result<About, Error> {
    let mut agents = chosen(flag, on, found)?;
    match agents.len() {
        1 => Ok(agents.remove(0)),
        _ => {
            let ids: Vec<&str> = agents.iter().map(|about| about.id.as_str()).collect();
            usage(format!("{flag} {on}: one agent is meant, and these are {}", ids.join(", ")))
        }
    }
}

/// The agents that a flag names by their number, their names or a label.
///
/// # Errors
/// They are not there, or run another program.
pub(in crate::cmd) fn chosen(flag: &str, on: &str, found: Vec<About>) -> Result<Vec<About>, Error> {
    let own = brunt_meter::environment::binary_hash().ok();
    let names = || found.iter().map(|agent| agent.id.as_str()).collect::<Vec<_>>().join(", ");
    let there = |what: &str| match found.len() {
        0 => Error::Failed(format!("{flag} {on}: {what}, and no agent is there: start brunt agent on each machine")),
        _ => Error::Failed(format!("{flag} {on}: {what}; there is {}", names())),
    };
    let is_same = |agent: &&About| agent.program == own;
    let agents: Vec<About> = match (on.parse::<usize>(), on.split_once('=')) {
        (Ok(0), _) => return usage(format!("{flag} 0: at least 1 agent is needed")),
        (Ok(count), _) => {
            // Those that are free first.
            let mut free: Vec<&About> = found.iter().collect();
            free.sort_by_key(|agent| (agent.busy.is_some(), !is_same(agent), agent.id.clone()));
            if free.len() < count {
                return Err(there(&format!("{} of {count} agents", free.len())));
            }
            free.into_iter().take(count).cloned().collect()
        }
        (_, Some((label, value))) => {
            let has = |agent: &&About| agent.labels.get(label).is_some_and(|own| own == value);
            found.iter().filter(has).cloned().collect()
        }
        _ => {
            let named = |name: &str| {
                found.iter().find(|agent| agent.id == name).cloned().ok_or_else(|| there(&format!("no agent '{name}'")))
            };
            on.split(',').map(|name| named(name.trim())).collect::<Result<_, _>>()?
        }
    };
    let mut ids: Vec<&str> = agents.iter().map(|agent| agent.id.as_str()).collect();
    ids.sort_unstable();
    if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        return usage(format!("{flag} {on}: agent '{}' is named twice, or there twice", twice[0]));
    }
    match agents.iter().find(|agent| !is_same(agent)) {
        _ if agents.is_empty() => Err(there("no agent has it")),
        Some(other) => Err(Error::Failed(format!(
            "agent {} runs another program (brunt {}) than this one ({}): install the same binary on all machines",
            other.id,
            other.brunt,
            env!("CARGO_PKG_VERSION")
        ))),
        None => Ok(agents),
    }
}
