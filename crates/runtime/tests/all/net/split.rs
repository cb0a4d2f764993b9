//! Halves of a stream: concurrent, closed separately, reunited.

use crate::{on_both_backends, shared::*};
use brunt_runtime::net::{Family, OwnedReadHalf, Stream, UnixStream};
use brunt_runtime::spawn;
use brunt_runtime::time::{sleep, timeout};
use std::{net::Shutdown, time::Duration};

on_both_backends!(
    one_task_reads_while_another_writes,
    half_close_from_a_borrowed_half,
    half_close_from_an_owned_half,
    dropping_the_write_half_shuts_down_after_pending_writes,
    dropping_the_write_half_of_a_connection_that_was_reset,
    the_connection_closes_with_the_second_half,
    halves_are_reunited,
);

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// Echoes, including the end of the stream.
async fn reflect<F: Family>(mut stream: Stream<F>) {
    loop {
        let received = stream.recv().await.unwrap();
        if received.is_empty() {
            return;
        }
        stream.send(received).await.unwrap();
    }
}

async fn read_to_end<F: Family>(reader: &mut OwnedReadHalf<F>) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let received = reader.recv().await.unwrap();
        if received.is_empty() {
            return all;
        }
        all.extend_from_slice(&received);
    }
}

/// Transfers far more than socket buffers and inboxes hold: without concurrent reading and writing both ends would block.
async fn through_both_halves<F: Family>(one: Stream<F>, other: Stream<F>) {
    let all = pattern(6 << 20);
    spawn(reflect(other));
    let (mut reader, mut writer) = one.into_split();
    let sent = all.clone();
    let writing = spawn(async move { writer.write_all(&sent).await.unwrap() });
    assert!(read_to_end(&mut reader).await == all);
    writing.await.unwrap();
}

async fn one_task_reads_while_another_writes() {
    let (one, other) = pair().await;
    through_both_halves(one, other).await;
    let (one, other) = UnixStream::pair().unwrap();
    through_both_halves(one, other).await;
}

async fn half_close_from_a_borrowed_half() {
    let (mut client, mut server) = pair().await;
    let (mut reader, mut writer) = client.split();
    assert_eq!(reader.as_ref().peer_addr().unwrap(), writer.as_ref().peer_addr().unwrap());
    writer.write_all(b"question").await.unwrap();
    writer.shutdown(Shutdown::Write).await.unwrap();
    let mut question = [0; 8];
    server.read_exact(&mut question).await.unwrap();
    assert!(server.recv().await.unwrap().is_empty());
    server.write_all(b"answer").await.unwrap();
    let mut answer = [0; 6];
    reader.read_exact(&mut answer).await.unwrap();
    assert_eq!((&question, &answer), (b"question", b"answer"));
    assert!(client.write_all(b"more").await.is_err() || client.flush().await.is_err());
}

async fn half_close_from_an_owned_half() {
    let (client, mut server) = pair().await;
    let (mut reader, mut writer) = client.into_split();
    writer.write_all(b"question").await.unwrap();
    writer.shutdown(Shutdown::Write).await.unwrap();
    writer.shutdown(Shutdown::Write).await.unwrap();
    let mut question = [0; 8];
    server.read_exact(&mut question).await.unwrap();
    assert!(server.recv().await.unwrap().is_empty());
    server.write_all(b"answer").await.unwrap();
    assert_eq!(*reader.recv().await.unwrap(), *b"answer");
}

async fn dropping_the_write_half_shuts_down_after_pending_writes() {
    let (client, mut server) = pair().await;
    client.set_send_buffer_size(16 << 10).unwrap();
    server.set_recv_buffer_size(16 << 10).unwrap();
    let (mut reader, mut writer) = client.into_split();
    // Writes until full: on io_uring a send is then in flight. A pending write has taken nothing.
    let mut written = 0;
    while let Ok(len) = timeout(Duration::from_millis(20), writer.write(&[7; 16_384])).await {
        written += len.unwrap();
    }
    // On epoll only a received buffer can be in flight.
    let (mut source, mut sink) = pair().await;
    source.write_all(&[7; 4000]).await.unwrap();
    let received = sink.recv().await.unwrap();
    let len = received.len();
    if let Ok(sent) = timeout(Duration::from_millis(20), writer.send(received)).await {
        sent.unwrap();
        written += len;
    }
    drop(writer);
    sleep(Duration::from_millis(5)).await;
    let mut got = 0;
    loop {
        let received = server.recv().await.unwrap();
        if received.is_empty() {
            break;
        }
        got += received.len();
    }
    assert_eq!(got, written);
    server.write_all(b"received").await.unwrap();
    assert_eq!(*reader.recv().await.unwrap(), *b"received");
}

async fn dropping_the_write_half_of_a_connection_that_was_reset() {
    let (client, server) = pair().await;
    let (mut reader, mut writer) = client.into_split();
    server.set_linger_zero().unwrap();
    drop(server);
    assert!(reader.recv().await.is_err());
    let _ = writer.write_all(b"anybody?").await;
    drop(writer);
    assert!(reader.recv().await.is_err());
    drop(reader);
    until_no_connection_is_left().await;
}

async fn the_connection_closes_with_the_second_half() {
    let (client, mut server) = pair().await;
    let (reader, mut writer) = client.into_split();
    drop(reader);
    writer.write_all(b"alone").await.unwrap();
    assert_eq!(*server.recv().await.unwrap(), *b"alone");
    drop(writer);
    assert!(server.recv().await.unwrap().is_empty());
    drop(server);
    until_no_connection_is_left().await;
}

async fn halves_are_reunited() {
    let (one, other) = UnixStream::pair().unwrap();
    let ((reader, writer), (other_reader, other_writer)) = (one.into_split(), other.into_split());
    let error = reader.reunite(other_writer).unwrap_err();
    assert!(error.to_string().contains("different streams"));
    let mut one = error.0.reunite(writer).unwrap();
    let mut other = error.1.reunite(other_reader).unwrap();
    // Neither direction was shut down.
    one.write_all(b"whole").await.unwrap();
    assert_eq!(*other.recv().await.unwrap(), *b"whole");
    other.write_all(b"again").await.unwrap();
    assert_eq!(*one.recv().await.unwrap(), *b"again");
}
