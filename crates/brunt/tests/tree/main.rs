//! What stands in the tree: layers, links, commands in documents, published pages, the list of tests that
//! assert measured time. No sockets, no processes.

mod commands;
mod layers;
mod measured_time;
mod published;
