//! Finds a plan: a built-in one by name, otherwise a file.

use brunt_lab::Error;
use brunt_lab::plan::{Plan, builtin, read};
use std::path::{Path, PathBuf};
use std::{fs, io};

#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) plan: Plan,
    pub(super) text: String,
    /// Folder that relative paths in the plan start from.
    pub(super) base: PathBuf,
}

pub(super) fn plan(name: &str) -> Result<Chosen, Error> {
    if let Some(text) = builtin::text(name) {
        // Built-in plans are also files in this folder of a clone; their relative paths are the same either way.
        return chosen(&format!("{name}.toml"), text.to_owned(), Path::new("experiments"));
    }
    let text = fs::read_to_string(name).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Usage(format!(
            "there is no plan '{name}': no such file, and the built-in plans are {}{}",
            builtin::names().join(", "),
            brunt_lab::suggest::closest(name, builtin::names())
                .map_or(String::new(), |near| format!("; did you mean '{near}'?")),
        )),
        io::ErrorKind::InvalidData => Error::Usage(format!("{name} is not a plan: it is not text in UTF-8")),
        io::ErrorKind::IsADirectory => {
            Error::Usage(format!("{name} is a directory; name the plan in it, such as {name}/plan.toml"))
        }
        _ => Error::Failed(format!("cannot read {name}: {error}")),
    })?;
    chosen(name, text, Path::new(name).parent().unwrap_or(Path::new("")))
}

fn chosen(name: &str, text: String, base: &Path) -> Result<Chosen, Error> {
    let plan = read(name, &text).map_err(|fault| Error::Usage(fault.to_string()))?;
    Ok(Chosen { plan, text, base: base.to_owned() })
}
