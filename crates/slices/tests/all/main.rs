//! The comparison of slices: in simulation, where the truth is known, on recorded slices with their labels drawn anew, and on
//! slices made for one answer each. All random draws are seeded. Beside it the file, the lengths and the figures of slices.

mod absolute;
mod answers;
mod cost;
mod coverage;
mod doubts;
mod length;
mod machine;
mod placebo;
mod recipe;
mod record;
mod recorded;
mod replay;
