//! Loads of HTTP on servers with exactly known answers: what is sent, received, counted and refused.

mod connections;
mod faults;
mod first_byte;
mod lenient;
mod pipelines;
mod redirects;
mod replies;
mod requests;
mod script;
mod session;
mod tls;
