//! A protocol of lines, and things done at the same time: `BufReader`, its `lines` and `zip` of futures-lite, on the traits of the
//! feature `futures-io`. Each line names two hosts with their ports; the answer is an address of each, both looked up at once.
//!
//! `cargo run -p brunt-runtime --features futures-io --example lines [ADDRESS] [uring|epoll]`, then
//! `echo localhost:80 example.org:443 | nc 127.0.0.1 7000`

mod common;

use brunt_runtime::net::{TcpListener, TcpStream, resolve};
use brunt_runtime::spawn;
use futures_lite::future::zip;
use futures_lite::io::BufReader;
use futures_lite::{AsyncBufReadExt, AsyncReadExt, StreamExt};
use std::{error::Error, io, net::SocketAddr};

/// Bytes of a line, at most.
const LONGEST: u64 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let (address, builder) = common::parse()?;
    Ok(builder.build()?.block_on(serve(address))?)
}

async fn serve(address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        spawn(client(listener.accept().await?));
    }
}

async fn client(mut stream: TcpStream) -> io::Result<()> {
    let (reader, mut writer) = stream.split();
    let mut reader = BufReader::new(reader);
    loop {
        // A limit for each line, or a client that sends no end of line takes all memory.
        let Some(line) = (&mut reader).take(LONGEST).lines().next().await.transpose()? else { return Ok(()) };
        let answer = match line.split_once(' ') {
            Some((one, other)) => {
                let found = zip(resolve(one), resolve(other)).await;
                [found.0, found.1]
                    .map(|found| found.map_or_else(|error| error.to_string(), |all| all[0].to_string()))
                    .join(" ")
            }
            None => "two hosts are wanted: HOST:PORT HOST:PORT".to_owned(),
        };
        writer.write_all(format!("{answer}\n").as_bytes()).await?;
    }
}
