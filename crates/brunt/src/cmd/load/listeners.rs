//! The processes that serve the target of a load.

use brunt_load::Target;
use brunt_meter::listener;

/// The local processes that listen on the target's addresses, or why there are none.
pub(super) fn of(target: &Target) -> Result<Vec<u32>, String> {
    match target.is_proxied() {
        true => Err("the target is behind --proxy: name its process with --server-pid".to_owned()),
        false => listener::roots_of(&target.addresses()),
    }
}
