//! Addresses of either family: text, listening, connecting.

use super::unix::Folder;
use crate::on_both_backends;
use brunt_runtime::net::{Address, Any, Listener, Stream, UnixListener};
use std::io;

on_both_backends!(
    either_family_listens_and_connects,
    an_unused_address_is_listened_on_by_several,
    a_stale_file_is_replaced_and_a_live_one_kept,
);

#[test]
fn the_text_of_an_address_is_read_back() {
    for (text, scheme) in [
        ("127.0.0.1:7100", "tcp"),
        ("[::1]:0", "tcp"),
        ("unix:/run/echo.sock", "unix"),
        ("unix:relative name", "unix"),
        ("unix:@abstract", "unix"),
    ] {
        let address: Address = text.parse().expect(text);
        assert_eq!((address.to_string().as_str(), address.scheme()), (text, scheme));
        assert_eq!(address.tcp().is_some(), scheme == "tcp", "{text}");
    }
    assert_eq!("unix:///a/b".parse(), Ok(Address::Unix("/a/b".into())));
    for (text, remedy) in [("", "127.0.0.1:7100"), ("localhost:1", "127.0.0.1:7100"), ("unix:", "unix:/run/echo.sock")]
    {
        let error = text.parse::<Address>().unwrap_err();
        assert!(error.contains(remedy), "{text}: {error}");
    }
}

async fn either_family_listens_and_connects() {
    let folder = Folder::new();
    let name = format!("\0{}", folder.path().display());
    for address in ["127.0.0.1:0".parse().unwrap(), Address::Unix(folder.path()), Address::Unix(name.into())] {
        let listener = Listener::<Any>::bind(&address).unwrap();
        let bound = listener.local_addr().unwrap();
        assert_eq!(bound.scheme(), address.scheme());
        assert!(bound == address || bound.tcp().is_some_and(|bound| bound.port() > 0), "{bound}");
        let mut client = Stream::<Any>::connect_from(&bound, None).await.unwrap();
        assert_eq!(client.peer_addr().unwrap(), bound);
        ask(&mut client, &listener).await;
    }
    assert!(!folder.path().exists());
}

async fn ask(client: &mut Stream<Any>, listener: &Listener<Any>) {
    let mut server = listener.accept().await.unwrap();
    client.write_all(b"question").await.unwrap();
    assert_eq!(*server.recv().await.unwrap(), *b"question");
}

async fn an_unused_address_is_listened_on_by_several() {
    for like in ["192.0.2.1:80", "unix:/nowhere"] {
        let (socket, address) = like.parse::<Address>().unwrap().listen_unused().unwrap();
        let (other, next) = address.listen_unused().unwrap();
        assert!(next != address && next.scheme() == address.scheme(), "{next}");
        drop(other);
        for _ in 0..2 {
            let listener = Listener::<Any>::from_std(socket.try_clone().unwrap()).unwrap();
            let mut client = Stream::<Any>::connect_from(&address, None).await.unwrap();
            ask(&mut client, &listener).await;
        }
    }
}

async fn a_stale_file_is_replaced_and_a_live_one_kept() {
    let folder = Folder::new();
    folder.leave_stale();
    let address = Address::Unix(folder.path());
    assert_eq!(UnixListener::bind(folder.path()).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    let listener = Listener::<Any>::bind(&address).unwrap();
    let error = Listener::<Any>::bind(&address).unwrap_err();
    assert!(error.to_string().contains("another program listens there"), "{error}");
    let mut client = Stream::<Any>::connect_from(&address, None).await.unwrap();
    ask(&mut client, &listener).await;
}
