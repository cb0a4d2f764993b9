//! HTTP/1.x seen from outside: public case ids, every way to cut the input, what was written read back, garbage, and the
//! opinion of other parsers.

mod answers;
mod cases;
mod client;
mod common;
mod differences;
mod differential;
mod keepalive;
mod limits;
mod responses;
mod splits;
