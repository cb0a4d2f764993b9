//! The targets of slices: their names, and the servers that are metered.

use super::listeners;
use super::server::ServerFlags;
use super::service::MeteredServer;
use brunt_inputs::address;
use brunt_load::Target;
use brunt_results::{Cores, Error};

/// The URLs as they are shown, of which a repeated one has its number.
pub(in crate::cmd) fn names(urls: &[String]) -> Vec<String> {
    let urls: Vec<String> = urls.iter().map(|url| address::shown(url)).collect();
    let name = |(index, url): (usize, &String)| match urls[..index].iter().filter(|other| *other == url).count() {
        0 => url.clone(),
        before => format!("{url} ({})", before + 1),
    };
    urls.iter().enumerate().map(name).collect()
}

/// Finds the server of a target, and moves it if that was asked for.
pub(super) fn server(target: &Target, flags: &ServerFlags) -> Result<MeteredServer, Error> {
    if flags.no_meter {
        return Ok(MeteredServer { process: None, account: Err("--no-meter".to_owned()), moved_from: None });
    }
    if let Some(there) = flags.there.account(&flags.service, target)? {
        return Ok(there);
    }
    flags.service.account_here(listeners::of(target))
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

/// A note on servers that were moved from these cores.
pub(in crate::cmd) fn placed(flags: &ServerFlags, mut before: Vec<Cores>) -> Option<String> {
    let cores = flags.service.server_cores.as_ref().filter(|_| !before.is_empty())?.words();
    before.dedup();
    let before = before.iter().map(Cores::to_string).collect::<Vec<_>>().join(" and ");
    Some(format!("the servers were moved to {cores} for this time (before: {before}) and then given back"))
}
