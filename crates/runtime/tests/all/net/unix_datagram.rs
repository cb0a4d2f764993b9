//! Unix datagrams: named, paired, and a receiver that is slow.

use crate::on_both_backends;
use brunt_runtime::net::UnixDatagram;
use brunt_runtime::spawn;
use brunt_runtime::time::sleep;
use std::cell::Cell;
use std::io::ErrorKind;
use std::rc::Rc;
use std::time::Duration;

on_both_backends!(
    datagrams_are_answered_by_path_and_leave_no_file,
    a_sender_waits_for_a_slow_receiver_and_nothing_is_lost,
    a_sender_without_a_peer_rests_while_the_receiver_is_full,
    what_does_not_fit_is_told,
    a_path_in_use_is_refused,
);

async fn datagrams_are_answered_by_path_and_leave_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (server, client) = (UnixDatagram::bind(at("server")).unwrap(), UnixDatagram::bind(at("client")).unwrap());
    client.send_to(b"question", at("server")).await.unwrap();
    let mut buffer = [0; 64];
    let question = server.recv_from(&mut buffer).await.unwrap();
    let from = question.from.as_pathname();
    assert_eq!((&buffer[..question.len], from), (&b"question"[..], Some(&*at("client"))));
    server.connect(from.unwrap()).unwrap();
    server.send(b"answer").await.unwrap();
    assert_eq!(client.recv(&mut buffer).await.unwrap(), 6);
    // One without a name has no address to answer to.
    UnixDatagram::unbound().unwrap().send_to(b"", at("client")).await.unwrap();
    let empty = client.recv_from(&mut buffer).await.unwrap();
    assert!(empty.len == 0 && empty.from.is_unnamed());
    drop((server, client));
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

async fn a_sender_waits_for_a_slow_receiver_and_nothing_is_lost() {
    let (here, there) = UnixDatagram::pair().unwrap();
    let sender = spawn(async move {
        for number in 0..5_000u32 {
            here.send(&number.to_le_bytes()).await.unwrap();
        }
    });
    let mut buffer = [0; 4];
    for number in 0..5_000u32 {
        if number % 500 == 0 {
            brunt_runtime::yield_now().await;
        }
        assert_eq!(there.recv(&mut buffer).await.unwrap(), 4);
        assert_eq!(u32::from_le_bytes(buffer), number);
    }
    sender.await.unwrap();
}

/// The kernel calls such a sender writable at all times.
async fn a_sender_without_a_peer_rests_while_the_receiver_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server");
    let (server, client) = (UnixDatagram::bind(&path).unwrap(), UnixDatagram::unbound().unwrap());
    let sent = Rc::new(Cell::new(0));
    let counted = sent.clone();
    let sender = spawn(async move {
        for number in 0..3_000u32 {
            client.send_to(&number.to_le_bytes(), &path).await.unwrap();
            counted.set(number);
        }
    });
    let turns = || brunt_runtime::metrics().turns;
    let before = turns();
    sleep(Duration::from_millis(50)).await;
    assert!(sent.get() < 2_999 && turns() - before < 1_000, "{} sent, {} turns", sent.get(), turns() - before);
    let mut buffer = [0; 4];
    for number in 0..3_000u32 {
        assert_eq!(server.recv(&mut buffer).await.unwrap(), 4);
        assert_eq!(u32::from_le_bytes(buffer), number);
    }
    sender.await.unwrap();
}

async fn what_does_not_fit_is_told() {
    let (here, there) = UnixDatagram::pair().unwrap();
    for _ in 0..2 {
        here.send(b"longer").await.unwrap();
    }
    let mut buffer = [0; 4];
    let got = there.recv_from(&mut buffer).await.unwrap();
    assert_eq!((got.len, got.sent_len, &buffer), (4, 6, b"long"));
    let error = there.recv(&mut buffer).await.unwrap_err();
    assert_eq!(
        (error.kind(), &*error.to_string()),
        (ErrorKind::InvalidData, "a datagram of 6 bytes does not fit into 4")
    );
}

async fn a_path_in_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let first = UnixDatagram::bind(&path).unwrap();
    let error = UnixDatagram::bind(&path).unwrap_err();
    assert!(error.kind() == ErrorKind::AddrInUse && error.to_string().contains("another program"), "{error}");
    assert!(error.to_string().starts_with(&format!("cannot bind to '{}': ", path.display())), "{error}");
    let none = folder.path().join("none");
    let missing = "No such file or directory (os error 2)";
    for (error, what) in [
        (UnixDatagram::bind(none.join("below")).map(drop), format!("cannot bind to '{}/below'", none.display())),
        (first.connect(&none), format!("cannot connect to '{}'", none.display())),
        (first.send_to(b"", &none).await.map(drop), format!("cannot send to '{}'", none.display())),
    ] {
        let error = error.unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::NotFound, format!("{what}: {missing}")));
    }
}
