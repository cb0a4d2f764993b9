//! The layer by itself: two ends that talk through memory, however the bytes between them are cut.

mod agree;
mod ends;
mod refuse;
mod scene;
