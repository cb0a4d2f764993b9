//! Crates that need tokio, such as reqwest, sqlx or tonic, beside this runtime: tokio has a thread of its own, gets futures by
//! its handle, and what they return comes back by the handle of their task.
//!
//! Here the future is a request over tokio's own TCP stream with tokio's own time limit. Each line that a client sends goes to
//! UPSTREAM and is answered with the line that comes from there.
//!
//! `cargo run -p brunt-runtime --example tokio_beside [ADDRESS] [uring|epoll] [UPSTREAM]`

mod common;

use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::spawn;
use std::error::Error;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;
use std::{io, thread};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

/// The other runtime. It ends with the program.
#[derive(Clone)]
struct Beside(tokio::runtime::Handle);

impl Beside {
    fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        thread::Builder::new()
            .name("tokio".to_owned())
            .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
        Ok(Self(handle))
    }

    /// Runs a future there. Dropping the returned one does not end it; `None` if it has panicked.
    async fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Option<T> {
        // tokio's own handle wakes the task of this runtime, as any waker does.
        self.0.spawn(future).await.ok()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (address, builder) = common::parse()?;
    let upstream = std::env::args().nth(3).unwrap_or_else(|| "127.0.0.1:7001".to_owned());
    let beside = Beside::start()?;
    Ok(builder.build()?.block_on(serve(address, upstream, beside))?)
}

async fn serve(address: SocketAddr, upstream: String, beside: Beside) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        spawn(client(listener.accept().await?, upstream.clone(), beside.clone()));
    }
}

async fn client(mut stream: TcpStream, upstream: String, beside: Beside) -> io::Result<()> {
    loop {
        let line = stream.recv().await?.to_vec();
        if line.is_empty() {
            return Ok(());
        }
        let asked = beside.run(ask(upstream.clone(), line)).await;
        let answer = asked.unwrap_or_else(|| Err(io::Error::other("the request has panicked")));
        let answer = answer.unwrap_or_else(|error| format!("no answer: {error}\n"));
        stream.write_all(answer.as_bytes()).await?;
    }
}

/// Runs on tokio.
async fn ask(upstream: String, line: Vec<u8>) -> io::Result<String> {
    let exchange = async {
        let mut stream = BufReader::new(tokio::net::TcpStream::connect(upstream).await?);
        stream.write_all(&line).await?;
        let mut answer = String::new();
        stream.read_line(&mut answer).await?;
        Ok(answer)
    };
    tokio::time::timeout(Duration::from_secs(5), exchange).await?
}
