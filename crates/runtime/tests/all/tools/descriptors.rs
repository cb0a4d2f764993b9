//! A process without descriptors: every error says what could not be done, and the remedy.

use crate::shared::*;
use brunt_runtime::group::{self, Cause};
use brunt_runtime::net::*;
use brunt_runtime::signal::{Signal, Signals};
use brunt_runtime::{BackendKind, Runtime, fs, os_error, process};
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const WHY: &str = "Too many open files (os error 24); raise the limit of open files, for example with 'ulimit -n'";

/// That the error is the one of a process without descriptors.
#[track_caller]
fn says<T>(result: io::Result<T>, what: &str) {
    let error = result.err().expect(what);
    assert_eq!(error.to_string(), format!("{what}: {WHY}"));
    assert_eq!(os_error(&error), Some(libc::EMFILE), "{error}");
}

/// Opens all descriptors that are left to the process, which are few.
fn hoard() -> Vec<File> {
    limit_files(1000);
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

/// Runs the test in a process of its own, on each backend, inside `block_on`.
fn without_descriptors(name: &'static str, test: impl AsyncFn()) {
    in_own_process(name, || {
        for backend in backends() {
            on(backend, async {
                let hoard = hoard();
                test().await;
                drop(hoard);
            });
        }
    });
}

#[test]
fn a_socket_that_cannot_be_had_is_named_with_the_remedy() {
    without_descriptors("tools::descriptors::a_socket_that_cannot_be_had_is_named_with_the_remedy", async || {
        let address: SocketAddr = "127.0.0.1:1".parse().unwrap();
        says(TcpStream::connect(address).await, "cannot connect to 127.0.0.1:1");
        says(
            TcpStream::connect_host("127.0.0.1:1").await,
            "cannot connect to '127.0.0.1:1' at its address: cannot connect to 127.0.0.1:1",
        );
        says(TcpListener::bind(address), "cannot listen on 127.0.0.1:1");
        for socket in [TcpSocket::new_v4(), TcpSocket::new_v6(), TcpSocket::for_address(address)] {
            says(socket, "cannot create a TCP socket");
        }
        says(UdpSocket::bind(address), "cannot bind to 127.0.0.1:1");
        for path in ["/no/such/socket", "\0no-such-socket"] {
            let name = path.replace('\0', "@");
            says(UnixListener::bind(path), &format!("cannot listen on '{name}'"));
            says(UnixStream::connect(path).await, &format!("cannot connect to '{name}'"));
            says(UnixDatagram::bind(path), &format!("cannot bind to '{name}'"));
        }
        says(UnixStream::pair(), "cannot create a pair of Unix sockets");
        says(UnixDatagram::pair(), "cannot create a pair of Unix datagram sockets");
        says(UnixDatagram::unbound(), "cannot create a Unix datagram socket");
        says(Address::from(address).listen_unused(), "cannot listen on an unused address");
    });
}

#[test]
fn a_descriptor_that_cannot_be_duplicated_is_an_error_with_the_remedy() {
    let name = "tools::descriptors::a_descriptor_that_cannot_be_duplicated_is_an_error_with_the_remedy";
    in_own_process(name, || {
        for backend in backends() {
            on(backend, async {
                let any = SocketAddr::from(([127, 0, 0, 1], 0));
                let (listener, datagrams) = (TcpListener::bind(any).unwrap(), UdpSocket::bind(any).unwrap());
                let unix = UnixDatagram::unbound().unwrap();
                let file = fs::File::open("/dev/null").await.unwrap();
                let clone = file.clone();
                let hoard = hoard();
                says(file.into_std(), "cannot duplicate the descriptor");
                says(datagrams.into_std(), "cannot duplicate the descriptor");
                // Those that were given up before have closed theirs.
                let _again = File::open("/dev/null").unwrap();
                says(unix.into_std(), "cannot duplicate the descriptor");
                let _again = File::open("/dev/null").unwrap();
                says(listener.into_std(), "cannot duplicate the descriptor");
                drop((hoard, clone));
            });
        }
    });
}

#[test]
fn what_else_needs_a_descriptor_names_itself_with_the_remedy() {
    without_descriptors("tools::descriptors::what_else_needs_a_descriptor_names_itself_with_the_remedy", async || {
        says(Signals::new(&[Signal::User1]), "cannot listen for signals");
        says(fs::File::open("/dev/null").await, "cannot open '/dev/null'");
        says(fs::read(Path::new("/dev/null")).await, "cannot open '/dev/null'");
        says(process::spawn(Command::new("true").stdin(Stdio::piped())), "cannot start 'true'");
        let error = process::spawn(&mut Command::new("true")).unwrap_err();
        assert!(error.to_string().contains("'true'") && error.to_string().ends_with(WHY), "{error}");
        says(resolve("localhost:80").await, "cannot resolve 'localhost'");
        says(TcpStream::connect_host("localhost:80").await, "cannot resolve 'localhost'");
    });
}

#[test]
fn a_runtime_that_cannot_be_had_is_an_error_with_the_remedy() {
    in_own_process("tools::descriptors::a_runtime_that_cannot_be_had_is_an_error_with_the_remedy", || {
        let is_here = is_available(BackendKind::Uring);
        let mut hoard = hoard();
        says(Runtime::new(), "cannot set up a runtime");
        for backend in [BackendKind::Uring, BackendKind::Epoll] {
            let builder = Runtime::builder().backend(Some(backend));
            says(builder.clone().build(), "cannot set up a runtime");
            let cannot = format!("cannot set up a runtime: {WHY}");
            for result in group::run(&builder, &[None, None], |_| async {}) {
                assert_eq!(result.unwrap_err().to_string(), cannot);
            }
            let ended = group::run_together(&builder, vec![(None, ())], Duration::ZERO, async |_| Ok::<_, String>(()));
            let failure = ended.unwrap_err();
            assert!(matches!(failure.cause, Cause::Setup(_)) && failure.to_string() == cannot, "{failure}");
            let spawned = group::spawn(&builder, "worker", None, || async {});
            assert_eq!(spawned.unwrap_err().to_string(), cannot);
        }
        // One is left for the eventfd of the worker, and none for its backend.
        hoard.pop();
        let on = |backend| Runtime::builder().backend(Some(backend)).build();
        says(on(BackendKind::Epoll), "cannot set up a runtime");
        if is_here {
            says(on(BackendKind::Uring), "cannot set up a runtime: io_uring was asked for and is not available");
        }
        drop(hoard);
    });
}
