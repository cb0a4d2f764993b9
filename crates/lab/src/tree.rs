//! Two versions of a program out of a git repository: the current work tree, and another commit checked out beside it, built
//! by the same command.

mod build;
mod differing;
mod repository;
mod worktree;

pub use build::Builder;
pub use differing::Differing;
pub use repository::Repository;
pub use worktree::Worktree;
