//! An HTTP/1.1 client with a pool of connections: hyper-util's `Client` on streams of this runtime.
//!
//! `cargo run -p brunt-runtime --features hyper-util --example hyper_client [URL] [REQUESTS] [uring|epoll]`

#[path = "common/backend.rs"]
mod backend;

use brunt_runtime::adapters::{HyperConnector, HyperExecutor};
use brunt_runtime::{JoinSet, Runtime};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::{StatusCode, Uri};
use hyper_util::client::legacy::Client;
use std::error::Error;

/// Requests in flight.
const TASKS: usize = 4;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let url: Uri = args.next().unwrap_or_else(|| "http://127.0.0.1:7000/".to_owned()).parse()?;
    let requests: usize = args.next().map_or(Ok(100), |count| count.parse())?;
    let backend = backend::backend(args.next().as_deref())?;
    Runtime::builder().backend(backend).build()?.block_on(run(url, requests))
}

async fn run(url: Uri, requests: usize) -> Result<(), Failure> {
    let client = Client::builder(HyperExecutor).build::<_, Empty<Bytes>>(HyperConnector);
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (client, url) = (client.clone(), url.clone());
        tasks.spawn(async move {
            let mut bytes = 0;
            for _ in (task..requests).step_by(TASKS) {
                let response = client.get(url.clone()).await?;
                if response.status() != StatusCode::OK {
                    return Err(format!("status {}", response.status()).into());
                }
                bytes += response.into_body().collect().await?.to_bytes().len();
            }
            Ok::<_, Failure>(bytes)
        });
    }
    let mut bytes = 0;
    while let Some(ended) = tasks.join_next().await {
        bytes += ended??;
    }
    println!("{requests} replies, {bytes} bytes");
    Ok(())
}
