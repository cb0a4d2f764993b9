//! A control file that is written and read back.

use crate::cgroup::Group;
use brunt_meter::cgroup::Files;
use std::path::{Path, PathBuf};
use std::{io, sync::Arc};

#[derive(Debug, Clone)]
pub(super) struct Knob {
    files: Arc<dyn Files>,
    file: PathBuf,
}

impl Knob {
    /// The first control file of the group with one of these names.
    pub(super) fn find(group: &Group, names: &[&str]) -> Option<Self> {
        Some(Self { files: group.files().clone(), file: group.file(names)? })
    }

    pub(super) fn at(files: &Arc<dyn Files>, file: PathBuf) -> Self {
        Self { files: files.clone(), file }
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    pub(super) fn name(&self) -> &str {
        self.file.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// The path, as evidence.
    pub(super) fn shown(&self) -> String {
        self.file.display().to_string()
    }

    pub(super) fn read(&self) -> io::Result<String> {
        self.files.read(&self.file)
    }

    /// Sets the file to a value in the form in which the kernel prints it. False if it had the value.
    pub(super) fn set(&self, value: &str) -> io::Result<bool> {
        self.set_until(value, |shown| shown.trim() == value)
    }

    /// The same, for a file that shows more than was written to it, or shows it in another form.
    pub(super) fn set_until(&self, value: &str, holds: impl Fn(&str) -> bool) -> io::Result<bool> {
        if holds(&self.read()?) {
            return Ok(false);
        }
        self.files.write(&self.file, value)?;
        let shown = self.read()?;
        let why = || io::Error::other(format!("{} is {:?} after writing {value:?}", self.shown(), shown.trim()));
        holds(&shown).then_some(true).ok_or_else(why)
    }
}
