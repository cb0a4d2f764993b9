//! Copying between streams: everything, both ends, and errors.

use crate::on_both_backends;
use crate::shared::pair;
use brunt_runtime::net::{UnixStream, copy_both};
use brunt_runtime::spawn;
use brunt_runtime::time::timeout;
use std::io::ErrorKind;
use std::net::Shutdown;
use std::time::Duration;

on_both_backends!(
    both_directions_are_copied_whole,
    each_end_is_passed_on_and_the_other_direction_goes_on,
    a_reset_ends_the_copy_and_reaches_the_other_side,
    a_copy_that_is_dropped_with_bytes_is_no_clean_end,
);

async fn both_directions_are_copied_whole() {
    let ((mut client, mut near), (mut far, mut server)) = (pair().await, UnixStream::pair().unwrap());
    let proxy = spawn(async move { copy_both(&mut near, &mut far).await });
    let bytes: Vec<u8> = (0..5_000_000u32).map(|n| (n ^ (n >> 8)) as u8).collect();
    let echo = spawn(async move {
        let mut len = 0;
        loop {
            let part = server.recv().await.unwrap();
            if part.is_empty() {
                server.shutdown(Shutdown::Write).await.unwrap();
                return len;
            }
            len += part.len();
            server.send(part).await.unwrap();
        }
    });
    let (mut reader, mut writer) = client.split();
    let mut back = vec![0; bytes.len()];
    let write = async {
        writer.write_all(&bytes).await?;
        writer.shutdown(Shutdown::Write).await
    };
    futures_lite::future::try_zip(write, reader.read_exact(&mut back)).await.unwrap();
    assert!(back == bytes && reader.recv().await.unwrap().is_empty());
    assert_eq!(echo.await.unwrap(), bytes.len());
    assert_eq!(proxy.await.unwrap().unwrap(), (5_000_000, 5_000_000));
}

async fn each_end_is_passed_on_and_the_other_direction_goes_on() {
    let ((mut client, mut near), (mut far, mut server)) = (pair().await, pair().await);
    let proxy = spawn(async move { copy_both(&mut near, &mut far).await });
    client.write_all(b"last words").await.unwrap();
    client.shutdown(Shutdown::Write).await.unwrap();
    let mut heard = [0; 10];
    server.read_exact(&mut heard).await.unwrap();
    assert!(&heard == b"last words" && server.recv().await.unwrap().is_empty());
    for _ in 0..3 {
        server.write_all(b"answer").await.unwrap();
        let mut answer = [0; 6];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"answer");
    }
    drop(server);
    assert!(client.recv().await.unwrap().is_empty());
    assert_eq!(proxy.await.unwrap().unwrap(), (10, 18));
}

async fn a_reset_ends_the_copy_and_reaches_the_other_side() {
    let ((client, mut near), (mut far, mut server)) = (pair().await, pair().await);
    let proxy = spawn(async move { copy_both(&mut near, &mut far).await });
    server.write_all(b"x").await.unwrap();
    client.set_linger_zero().unwrap();
    drop(client);
    assert_eq!(server.recv().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let error = proxy.await.unwrap().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{error}");
}

async fn a_copy_that_is_dropped_with_bytes_is_no_clean_end() {
    for len in [4000, 1 << 20] {
        let ((mut client, mut near), (mut far, mut server)) = (pair().await, pair().await);
        let proxy = spawn(async move { copy_both(&mut near, &mut far).await });
        let part = vec![7; len];
        let mut written = 0;
        // Until nothing moves any more: all buffers between the two are full.
        while let Ok(len) = timeout(Duration::from_millis(200), client.write(&part)).await {
            written += len.unwrap();
        }
        proxy.abort();
        assert!(proxy.await.unwrap_err().is_aborted());
        let (mut got, mut into) = (0, vec![0; 1 << 16]);
        let end = loop {
            match server.read(&mut into).await {
                Ok(0) => break Ok(()),
                Ok(len) => got += len,
                Err(error) => break Err(error.kind()),
            }
        };
        assert!(got < written && end == Err(ErrorKind::ConnectionReset), "{got} of {written}: {end:?}");
    }
}
