//! Descriptor limit: served clients stay served, waiting clients are served when others leave, and waiting uses no
//! CPU.

use crate::shared::server::*;
use brunt_testkit::until;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

/// A client and whether it has been answered.
struct Client {
    stream: TcpStream,
    served: bool,
}

impl Client {
    /// Reads the first answer if it has arrived.
    fn look(&mut self) {
        match self.stream.read(&mut [0]) {
            Ok(count) => {
                assert_eq!(count, 1, "the server closed the connection");
                self.served = true;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
        }
    }
}

fn served(clients: &mut [Client]) -> usize {
    clients.iter_mut().filter(|client| !client.served).for_each(Client::look);
    clients.iter().filter(|client| client.served).count()
}

#[test]
fn without_descriptors_open_connections_are_served() {
    for model in models() {
        let flags = format!("--listen 127.0.0.1:{} --model {model}", free_port());
        let server = Server::start(serve_limited("64", &flags));
        let mut clients: Vec<_> = (0..200)
            .map(|_| {
                let mut stream = connect(server.address());
                stream.write_all(b"x").unwrap();
                stream.set_nonblocking(true).unwrap();
                Client { stream, served: false }
            })
            .collect();
        // Until no further client is served.
        until(&format!("{model} serves as many as it can"), || served(&mut clients) >= 30);
        server.until_rested(model);
        let count = served(&mut clients);
        assert!((30..64).contains(&count), "{model}: {count} clients are served with 64 descriptors");
        assert!(server.is_alive());
        // Served clients stay served; as they leave, all waiting clients are served.
        let start = Instant::now();
        while !clients.is_empty() {
            let now = served(&mut clients);
            let (mut done, waiting): (Vec<_>, Vec<_>) = clients.into_iter().partition(|client| client.served);
            clients = waiting;
            for client in &mut done {
                client.stream.set_nonblocking(false).unwrap();
                ask(&mut client.stream, b"still served");
            }
            assert!(now < 64 && start.elapsed() < PATIENCE, "{model}: {} clients wait for ever", clients.len());
            thread::sleep(Duration::from_millis(5));
        }
        assert!(server.is_alive());
    }
}
