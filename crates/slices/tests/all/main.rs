//! The comparison of slices: in simulation, where the truth is known, on recorded slices with their labels drawn anew, and on
//! slices made for one answer each. All random draws are seeded.

mod answers;
mod coverage;
mod doubts;
mod machine;
mod placebo;
mod recipe;
mod recorded;
mod replay;
