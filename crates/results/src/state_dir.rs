//! The directory for state that outlives a run and belongs to no result, per user, after the XDG base directory
//! specification.

use std::{ffi::OsString, io, path::PathBuf};

/// Environment variable that overrides the directory, for tests and for shared home directories.
pub const ENV_VAR: &str = "BRUNT_STATE_DIR";

/// The state directory: `$BRUNT_STATE_DIR`, else `$XDG_STATE_HOME/brunt`, else `~/.local/state/brunt`. It may not exist yet.
pub fn path() -> io::Result<PathBuf> {
    choose(|name| std::env::var_os(name)).ok_or_else(|| {
        io::Error::other(format!("neither {ENV_VAR} nor XDG_STATE_HOME nor HOME names a directory to keep things in"))
    })
}

fn choose(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let value = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let xdg = || value("XDG_STATE_HOME").filter(|path| path.is_absolute()).map(|state| state.join("brunt"));
    value(ENV_VAR).or_else(xdg).or_else(|| Some(value("HOME")?.join(".local/state/brunt")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_variable_wins() {
        let chosen = |set: &[(&str, &str)]| {
            choose(|name| set.iter().find(|(other, _)| *other == name).map(|(_, value)| OsString::from(value)))
        };
        let home = ("HOME", "/home/a");
        assert_eq!(chosen(&[home]).unwrap(), PathBuf::from("/home/a/.local/state/brunt"));
        assert_eq!(chosen(&[home, ("XDG_STATE_HOME", "/s")]).unwrap(), PathBuf::from("/s/brunt"));
        // The specification requires relative paths to be ignored.
        assert_eq!(chosen(&[home, ("XDG_STATE_HOME", "s")]).unwrap(), PathBuf::from("/home/a/.local/state/brunt"));
        assert_eq!(chosen(&[home, ("XDG_STATE_HOME", "/s"), (ENV_VAR, "/b")]).unwrap(), PathBuf::from("/b"));
        assert_eq!(chosen(&[home, (ENV_VAR, "")]).unwrap(), PathBuf::from("/home/a/.local/state/brunt"));
        assert_eq!(chosen(&[]), None);
    }
}
