//! Unix sockets: paths and their files, abstract names, peer credentials.

use crate::{on_both_backends, shared::*};
use brunt_runtime::net::{Address, Any, Credentials, Listener, UnixDatagram, UnixListener, UnixStream};
use brunt_runtime::spawn;
use brunt_runtime::time::{sleep, timeout};
use brunt_testkit::{Home, home, until};
use socket2::{Domain, SockAddr, Socket, Type};
use std::os::linux::net::SocketAddrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{fs, io};

on_both_backends!(
    a_path_accepts_connections,
    the_file_is_removed_with_its_listener,
    a_replaced_file_is_kept,
    an_existing_file_is_described,
    abstract_names_have_no_file,
    a_path_with_a_zero_byte_names_no_other_file,
    an_empty_path_is_refused,
    connecting_without_a_listener_is_an_error,
    connecting_waits_while_the_queue_is_full,
    many_unix_connections_at_once,
);

/// An empty directory for the socket of one test, removed on drop.
pub struct Folder(Home);

impl Folder {
    pub fn new() -> Self {
        Self(home())
    }

    pub fn path(&self) -> PathBuf {
        self.0.join("socket")
    }

    /// Leaves a socket file without a listener. A process that another test starts meanwhile may hold the listener until it runs
    /// its program.
    pub fn leave_stale(&self) {
        let path = self.path();
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        until("the listener is closed", || std::os::unix::net::UnixStream::connect(&path).is_err());
    }
}

async fn reflect(mut stream: UnixStream) -> io::Result<()> {
    loop {
        let received = stream.recv().await?;
        if received.is_empty() {
            return Ok(());
        }
        stream.send(received).await?;
    }
}

async fn ask(stream: &mut UnixStream, question: &[u8]) {
    stream.write_all(question).await.unwrap();
    let mut answer = vec![0; question.len()];
    stream.read_exact(&mut answer).await.unwrap();
    assert!(answer == question);
}

async fn a_path_accepts_connections() {
    let folder = Folder::new();
    let listener = UnixListener::bind(folder.path()).unwrap();
    assert_eq!(listener.local_addr().unwrap().as_pathname(), Some(&*folder.path()));
    let mut client = UnixStream::connect(folder.path()).await.unwrap();
    let server = listener.accept().await.unwrap();
    assert_eq!(client.peer_addr().unwrap().as_pathname(), Some(&*folder.path()));
    assert!(client.local_addr().unwrap().is_unnamed() && server.peer_addr().unwrap().is_unnamed());
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let myself = Credentials { pid: Some(std::process::id()), uid, gid };
    assert_eq!((client.peer_credentials().unwrap(), server.peer_credentials().unwrap()), (myself, myself));
    spawn(reflect(server));
    for len in [1, 4096, 30_000] {
        ask(&mut client, &vec![len as u8; len]).await;
    }
}

async fn the_file_is_removed_with_its_listener() {
    let folder = Folder::new();
    for _ in 0..3 {
        let listener = UnixListener::bind(folder.path()).unwrap();
        // Permissions set by users.
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        assert!(folder.path().exists());
        drop(listener);
        assert!(!folder.path().exists());
    }
    let listener = std::os::unix::net::UnixListener::bind(folder.path()).unwrap();
    drop(UnixListener::from_std(listener).unwrap());
    assert!(folder.path().exists(), "the directory is kept");
}

async fn a_replaced_file_is_kept() {
    let folder = Folder::new();
    let listener = UnixListener::bind(folder.path()).unwrap();
    fs::remove_file(folder.path()).unwrap();
    // At a later clock tick, which distinguishes files with the same inode number.
    std::thread::sleep(Duration::from_millis(20));
    let other = UnixListener::bind(folder.path()).unwrap();
    drop(listener);
    let mut client = UnixStream::connect(folder.path()).await.unwrap();
    spawn(reflect(other.accept().await.unwrap()));
    ask(&mut client, b"still there").await;
    fs::remove_file(folder.path()).unwrap();
    fs::write(folder.path(), "something else").unwrap();
    drop(other);
    assert_eq!(fs::read_to_string(folder.path()).unwrap(), "something else");
}

async fn an_existing_file_is_described() {
    let folder = Folder::new();
    let path = folder.path();
    let refused = |path: &Path, why: &str| {
        let error = UnixListener::bind(path).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(why) && text.contains(&*path.to_string_lossy()), "{text}");
        error.kind()
    };
    let living = UnixListener::bind(&path).unwrap();
    assert_eq!(refused(&path, "another program listens there"), io::ErrorKind::AddrInUse);
    assert!(timeout(Duration::from_millis(10), living.accept()).await.is_err(), "the listener saw no connection");
    drop(living);
    folder.leave_stale();
    assert_eq!(refused(&path, "stale socket file"), io::ErrorKind::AddrInUse);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "text").unwrap();
    assert_eq!(refused(&path, "not a socket"), io::ErrorKind::AddrInUse);
    assert_eq!(refused(&folder.0.join("absent/socket"), "No such file"), io::ErrorKind::NotFound);
    assert_eq!(refused(&folder.0.join("x".repeat(200)), "107 bytes"), io::ErrorKind::InvalidInput);
    assert!(fs::metadata(&path).unwrap().is_file(), "a refused bind removes nothing");
}

async fn a_path_with_a_zero_byte_names_no_other_file() {
    let folder = Folder::new();
    let listener = UnixListener::bind(folder.path()).unwrap();
    let zero = PathBuf::from(format!("{}\0zzz", folder.path().display()));
    let errors = [UnixStream::connect(&zero).await.unwrap_err(), UnixListener::bind(&zero).unwrap_err()];
    drop(listener);
    let unbound = UnixListener::bind(&zero).unwrap_err();
    for error in errors.into_iter().chain([unbound]) {
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains("socket@zzz' cannot name a Unix socket"), "{error}");
    }
    assert!(!folder.path().exists());
}

async fn an_empty_path_is_refused() {
    let datagrams = UnixDatagram::unbound().unwrap();
    let errors = [
        UnixListener::bind("").map(drop),
        UnixStream::connect("").await.map(drop),
        UnixDatagram::bind("").map(drop),
        datagrams.connect(""),
        datagrams.send_to(b"", "").await.map(drop),
        Listener::<Any>::bind(&Address::Unix("".into())).map(drop),
    ];
    for error in errors {
        let error = error.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), "the path of a Unix socket is empty; write one such as /run/echo.sock");
    }
}

async fn abstract_names_have_no_file() {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("brunt-net-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = format!("\0{name}");
    let listener = UnixListener::bind(&path).unwrap();
    assert_eq!(listener.local_addr().unwrap().as_abstract_name(), Some(name.as_bytes()));
    let error = UnixListener::bind(&path).unwrap_err().to_string();
    assert!(error.contains(&format!("'@{name}'")) && error.contains("another program"), "{error}");
    let mut client = UnixStream::connect(&path).await.unwrap();
    spawn(reflect(listener.accept().await.unwrap()));
    ask(&mut client, b"hello").await;
}

async fn connecting_without_a_listener_is_an_error() {
    let folder = Folder::new();
    let error = UnixStream::connect(folder.path()).await.unwrap_err();
    assert!(error.kind() == io::ErrorKind::NotFound && error.to_string().contains("socket'"), "{error}");
    folder.leave_stale();
    assert_eq!(UnixStream::connect(folder.path()).await.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
}

async fn connecting_waits_while_the_queue_is_full() {
    let folder = Folder::new();
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    socket.bind(&SockAddr::unix(folder.path()).unwrap()).unwrap();
    socket.listen(1).unwrap();
    // Without waiting, the kernel says when the queue is full.
    let mut clients = Vec::new();
    let connect = || {
        let client = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        client.set_nonblocking(true).unwrap();
        client.connect(&SockAddr::unix(folder.path()).unwrap()).map(|()| client)
    };
    while let Ok(client) = connect() {
        clients.push(client);
        assert!(clients.len() < 10, "the queue is never full");
    }
    let path = folder.path();
    let late = spawn(async move { UnixStream::connect(path).await });
    sleep(Duration::from_millis(5)).await;
    assert!(!late.is_finished());
    let listener = UnixListener::from_std(socket.into()).unwrap();
    let served: Vec<_> = [listener.accept().await.unwrap(), listener.accept().await.unwrap()].into();
    late.await.unwrap().unwrap();
    drop(served);
}

async fn many_unix_connections_at_once() {
    let folder = Folder::new();
    let listener = UnixListener::bind(folder.path()).unwrap();
    spawn(async move {
        while let Ok(stream) = listener.accept().await {
            spawn(reflect(stream));
        }
    });
    let clients: Vec<_> = (0..200u8)
        .map(|n| {
            let path = folder.path();
            spawn(async move {
                let mut stream = UnixStream::connect(path).await.unwrap();
                for round in 0..20 {
                    ask(&mut stream, &[n ^ round; 500]).await;
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    until_no_connection_is_left().await;
}
