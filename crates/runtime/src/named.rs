//! Errors that name what a call was about, such as an address, and have the kernel's error as their source.

use std::error::Error;
use std::{fmt, io};

#[derive(Debug)]
struct Named {
    what: String,
    error: io::Error,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.error)?;
        match self.error.raw_os_error() {
            Some(libc::EMFILE) => f.write_str("; raise the limit of open files, for example with 'ulimit -n'"),
            _ => Ok(()),
        }
    }
}

impl Error for Named {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

/// The error of a call, with what it was about. The kind stays.
#[cold]
pub(crate) fn named(what: impl Into<String>, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), Named { what: what.into(), error })
}

/// The error of duplicating the descriptor of a socket or file that is given back.
#[cold]
pub(crate) fn not_duplicated(error: io::Error) -> io::Error {
    named("cannot duplicate the descriptor", error)
}

/// The number of the kernel's error, also in errors that name an address, whose own
/// [`raw_os_error`](io::Error::raw_os_error) is `None`.
///
/// ```
/// use brunt_runtime::{Runtime, net::TcpStream, os_error};
///
/// Runtime::new()?.block_on(async {
///     let error = TcpStream::connect("127.0.0.1:1".parse().unwrap()).await.unwrap_err();
///     assert_eq!(error.to_string(), "cannot connect to 127.0.0.1:1: Connection refused (os error 111)");
///     assert_eq!(os_error(&error), Some(111));
/// });
/// # std::io::Result::Ok(())
/// ```
pub fn os_error(error: &io::Error) -> Option<i32> {
    let source = || error.get_ref()?.source()?.downcast_ref().and_then(os_error);
    error.raw_os_error().or_else(source)
}
