//! Shared by unit tests: runtimes of this machine, connections and their echo.

use crate::net::{TcpListener, TcpStream};
use crate::{BackendKind, Runtime};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A runtime on that backend. Without io_uring, prints the reason, unless `BRUNT_URING=must`.
pub fn runtime(backend: BackendKind) -> Option<Runtime> {
    match Runtime::builder().backend(Some(backend)).build() {
        Ok(runtime) => Some(runtime),
        Err(error) => {
            let is_optional = std::env::var_os("BRUNT_URING").is_none_or(|value| value != "must");
            assert!(backend == BackendKind::Uring && is_optional, "{error}");
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// One on each backend.
pub fn runtimes() -> impl Iterator<Item = Runtime> {
    [BackendKind::Uring, BackendKind::Epoll].into_iter().filter_map(runtime)
}

/// Raises the limit on open files to the hard limit, for tests with thousands of sockets.
pub fn allow_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}

/// Both ends of a connection.
pub async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (client, listener.accept().await.unwrap())
}

/// Serves a connection: everything comes back.
pub async fn echo(mut stream: TcpStream) {
    while let Ok(received) = stream.recv().await {
        if received.is_empty() || stream.send(received).await.is_err() {
            return;
        }
    }
}
