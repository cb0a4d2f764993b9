//! What limits a load beside its description.

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Beside<'a> {
    /// The process's CPU list as printed by the kernel; `None` allows all.
    pub allowed: Option<&'a str>,
    /// Several targets are compared in slices.
    pub compare: bool,
    /// A script takes the place of the requests.
    pub script: bool,
}
