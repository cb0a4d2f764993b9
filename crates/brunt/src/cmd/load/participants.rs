//! The targets of slices: their names, and the servers that are metered.

use super::listeners;
use brunt_inputs::address;
use brunt_lab::slices::account::{self, TargetAccount};
use brunt_load::Target;
use brunt_meter::{Placement, Scope};
use brunt_results::Cores;

/// The URLs as they are shown, of which a repeated one has its number.
pub(in crate::cmd) fn names(urls: &[String]) -> Vec<String> {
    let urls: Vec<String> = urls.iter().map(|url| address::shown(url)).collect();
    let name = |(index, url): (usize, &String)| match urls[..index].iter().filter(|other| *other == url).count() {
        0 => url.clone(),
        before => format!("{url} ({})", before + 1),
    };
    urls.iter().enumerate().map(name).collect()
}

/// The account of a server, or why it is not metered.
pub(in crate::cmd) type Metered = Result<Box<dyn TargetAccount>, String>;

/// The local process that listens on the target's addresses, and its CPU meter or why it has none.
pub(super) fn server(target: &Target, scope: Scope) -> (Option<u32>, Metered) {
    let found = listeners::of(target);
    let first = found.as_ref().ok().and_then(|all| all.first().copied());
    let server = found.and_then(|all| {
        let Some(pid) = first else { return Err("no process of this machine listens there".to_owned()) };
        let ended = || format!("process {pid} cannot be metered: it has ended, or belongs to another user");
        account::of_server(all, scope).ok_or_else(ended)
    });
    (first, server)
}

/// A note if the process that serves the last of these targets serves one of those before it too.
pub(in crate::cmd) fn one_server(targets: &[(String, Option<u32>)]) -> Option<String> {
    let ((name, process), before) = targets.split_last()?;
    let process = (*process)?;
    let (other, _) = before.iter().find(|(_, other)| *other == Some(process))?;
    Some(format!(
        "one server: {other} and {name} are served by process {process}; the difference is that of their requests"
    ))
}

/// A note on servers that were moved.
pub(in crate::cmd) fn placed(placements: &[Placement]) -> Option<String> {
    let [first, ..] = placements else { return None };
    let mut before: Vec<String> = placements.iter().map(|one| Cores(one.before()).to_string()).collect();
    before.dedup();
    let (cores, before) = (Cores(first.cores().to_vec()), before.join(" and "));
    let cores = cores.words();
    Some(format!("the servers were moved to {cores} for this time (before: {before}) and then given back"))
}
