//! What only one run may have: a service, and a directory of results.

use crate::claim::Claim;
use crate::{journal, signals};
use std::io;
use std::path::Path;

/// In the directory of results, while a run writes them.
const FILE: &str = "run.lock";

/// The claim to the directory of results.
pub(super) fn to_results(out: &Path) -> io::Result<Claim> {
    let what = format!("--out {}", out.display());
    let take = Claim::take(&out.join(FILE), &words(out));
    take.map_err(|error| claimed(error, &what, "give another directory, or end that run"))
}

/// The claims to a service.
pub(super) fn to_service(service: &signals::Service, out: &Path) -> io::Result<Vec<Claim>> {
    let folder = journal::folder()?;
    let words = words(out);
    let claim = |name: String| {
        Claim::take(&folder.join(format!("service-{name}.lock")), &words).map_err(|error| {
            claimed(
                error,
                "[service]",
                "one controller can protect it: end that run, or give both sets of jobs to it by a queue",
            )
        })
    };
    service.names().into_iter().map(claim).collect()
}

/// A process of another directory reads them.
fn words(out: &Path) -> String {
    format!("results in {}", out.canonicalize().unwrap_or_else(|_| out.to_owned()).display())
}

fn claimed(error: io::Error, what: &str, remedy: &str) -> io::Error {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{what}: another run has it ({error}): {remedy}"))
        }
        _ => error,
    }
}
