//! The comparison of slices in simulation, where the truth is known, and on recorded slices with their labels drawn anew. All
//! random draws are seeded.

mod chance;
mod coverage;
mod machine;
