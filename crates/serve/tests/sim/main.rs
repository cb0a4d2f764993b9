//! Servers in a simulated world, with clients that are tasks: when they answer, wait and end is equal to what their settings say,
//! not near it.

mod behaviour;
mod clients;
mod deadlines;
mod endings;
mod responses;
mod rule;
mod script;
mod slow_clients;
mod worlds;
