//! Files of secrets: a description names them, and each agent has its own.
//!
//! Invariants:
//! - A description that is sent names the last component of the path; no contents of such a file leave a machine.
//! - An agent reads such a file in the directory that its owner names, and nowhere else.

use brunt_results::Error;
use brunt_spec::LoadSpec;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The settings that name such files, with their flags.
fn all(spec: &mut LoadSpec) -> [(&'static str, &mut Option<PathBuf>); 5] {
    [
        ("--basic-auth", &mut spec.basic_auth),
        ("--bearer", &mut spec.bearer),
        ("--proxy-auth", &mut spec.proxy_auth),
        ("--cert", &mut spec.cert),
        ("--key", &mut spec.key),
    ]
}

/// The load without them.
pub(in crate::cmd) fn without(mut spec: LoadSpec) -> LoadSpec {
    all(&mut spec).into_iter().for_each(|(_, path)| *path = None);
    spec
}

/// The load as it is sent: with the names of these files alone.
///
/// # Errors
/// A path ends with no name.
pub(in crate::cmd) fn names(mut spec: LoadSpec) -> Result<LoadSpec, Error> {
    for (flag, path) in all(&mut spec) {
        let Some(given) = &*path else { continue };
        let Some(name) = given.file_name().and_then(OsStr::to_str) else {
            let shown = given.display();
            return Err(Error::Usage(format!("{flag} {shown} and --on: name a file that each agent has")));
        };
        *path = Some(PathBuf::from(name));
    }
    Ok(spec)
}

/// The load with the files of this agent, in the directory of its owner.
///
/// # Errors
/// There is no directory, no such file, or its name is a path; one line.
pub(super) fn own(mut spec: LoadSpec, directory: Option<&Path>) -> Result<LoadSpec, String> {
    for (flag, path) in all(&mut spec) {
        let Some(name) = &*path else { continue };
        let shown = name.display().to_string();
        if !is_name(name) {
            return Err(format!("{flag} '{}' is a path, and a plain file name is needed", shown.escape_debug()));
        }
        let Some(directory) = directory else {
            return Err(format!(
                "it has no secrets for {flag} {shown}: its owner puts the file into a directory and names that with \
                 secrets = \"DIR\" in its --config"
            ));
        };
        let own = directory.join(name);
        if !own.is_file() {
            return Err(format!(
                "it has no file '{shown}' for {flag}: its owner puts it into the directory of secrets in its --config"
            ));
        }
        *path = Some(own);
    }
    Ok(spec)
}

/// Whether a path is the name of a file in a directory.
fn is_name(path: &Path) -> bool {
    let is_whole = |name: &OsStr| name == path.as_os_str();
    matches!(path.components().next(), Some(Component::Normal(name)) if is_whole(name))
        && !path.as_os_str().as_encoded_bytes().contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::fleet::Shipped;
    use std::fs;

    fn with(bearer: &str) -> LoadSpec {
        LoadSpec { bearer: Some(bearer.into()), ..LoadSpec::default() }
    }

    #[test]
    fn names_travel_and_contents_stay() {
        let home = tempfile::tempdir().unwrap();
        let token = home.path().join("token");
        fs::write(&token, "s3cret").unwrap();
        let spec = names(with(&token.display().to_string())).unwrap();
        assert_eq!(spec.bearer, Some("token".into()));
        let text =
            serde_json::to_string(&Shipped { spec: spec.clone(), counts: None, files: Vec::new(), script: None })
                .unwrap();
        assert!(!text.contains("s3cret") && !text.contains(&home.path().display().to_string()), "{text}");
        assert_eq!(own(spec.clone(), Some(home.path())).unwrap().bearer, Some(token));
        assert_eq!(without(spec).bearer, None);
        assert!(names(with("a/..")).is_err());
    }

    #[test]
    fn only_files_of_the_directory_are_read() {
        let home = tempfile::tempdir().unwrap();
        let secrets = home.path().join("secrets");
        fs::create_dir_all(secrets.join("folder")).unwrap();
        fs::write(home.path().join("other"), "x").unwrap();
        for name in ["../other", "/etc/passwd", "..", ".", "", "folder/", "./token", "a/b", "a\0b"] {
            let why = own(with(name), Some(&secrets)).unwrap_err();
            assert!(why.contains("plain file name") && !why.contains('\n'), "{name}: {why}");
        }
        for name in ["folder", "none"] {
            let why = own(with(name), Some(&secrets)).unwrap_err();
            assert!(why.contains(&format!("no file '{name}' for --bearer")), "{why}");
        }
        assert!(own(with("token"), None).unwrap_err().contains("secrets = \"DIR\""));
    }
}
