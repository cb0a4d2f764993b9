//! What the runtime does, on both backends. Tests run beside each other; those that look at the whole process do so in one of
//! their own.

mod both;
mod clock;
mod examples;
mod long_messages;
mod model;
mod net;
mod sends;
#[path = "../shared/mod.rs"]
mod shared;
mod tools;
mod world;
