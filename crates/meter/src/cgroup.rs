//! Control groups of our own: where they can be made, how they are named, frozen, killed and removed, in version 1, 2 and
//! where both are mounted.
//!
//! A group is a set of directories, one in each hierarchy that it needs. What a directory can do is told by the control files
//! in it, so that nothing else has to be remembered of a group than its directories.
//!
//! Invariant: only groups created here are changed. Those of a killed process are found by the creator in their names.

mod files;
mod group;
mod hierarchy;
mod name;
mod processes;
mod removal;

pub use files::{Files, Linux, entry};
pub use group::Group;
pub use hierarchy::{Hierarchy, Version, hierarchies, limiting, parse};
pub use name::{is_name, make, new_name};
pub use processes::{Freeze, is_frozen, kill, members, set_frozen, tree};
pub use removal::{remove, remove_orphans};
