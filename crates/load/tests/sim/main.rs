//! Loads in a simulated world, against targets that are tasks with exactly known behaviour: what the load reports is equal to
//! what happened, not near it.

mod connections;
mod counts;
mod course;
mod faults;
mod http;
mod left;
mod loops;
mod outages;
mod properties;
mod queue;
mod sends;
mod sessions;
mod slices;
mod targets;
mod web;
mod worlds;
