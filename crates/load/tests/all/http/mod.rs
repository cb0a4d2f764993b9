//! Load over HTTP on servers on plain threads: requests and replies over real sockets. What does not depend on these is in `sim/http`.

mod hosts;
mod replies;
mod requests;
mod tls;
