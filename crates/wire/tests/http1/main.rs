//! Tests of HTTP/1.x: public cases, all splits of the input, round trips, random bytes, and comparison with other parsers.

mod cases;
mod client;
mod common;
mod differences;
mod differential;
mod keepalive;
mod limits;
mod replies;
mod responses;
mod splits;
