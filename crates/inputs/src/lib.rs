//! What users have, as brunt takes it: URLs and addresses, files of requests, access logs, credentials, and the command lines of
//! other load generators.
//!
//! ```text
//! curl, HAR, vegeta --> requests --> RequestFile
//! access log ---------> replay ----> RequestFile with times
//! wrk, ab, fortio ----> compat ----> words of `brunt load`, and the page that the tool prints
//! ```
//!
//! Each error is one line with the place, the thing and the remedy. Names are looked up here; no load is sent from here.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "not published")]

pub mod address;
pub mod compat;
pub mod credentials;
pub mod proxy;
pub mod replay;
pub mod requests;

use brunt_results::Error;

fn usage<T>(message: impl Into<String>) -> Result<T, Error> {
    Err(Error::Usage(message.into()))
}
