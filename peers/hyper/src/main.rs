//! HTTP/1 hello on hyper: the same answer as `brunt serve http`, with `Date` (hyper's own) and `Server`, on tokio's
//! current-thread runtime, one a core. It must stay what a hyper user would write.

#[path = "../../common/args.rs"]
mod args;
#[path = "../../common/host.rs"]
mod host;

use http_body_util::Full;
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderValue, SERVER},
    server::conn::http1::Builder,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use tokio::{net::TcpListener, runtime, task::LocalSet};

fn main() {
    let args = args::Peer {
        name: "hyper",
        buffer: (8 << 10, "a connection"),
        flag: None,
    }
    .args();
    let buffer = args.buffer.max(8 << 10);
    host::thread_per_core("hyper", args.listen, &args.cores, |listener, _| {
        match runtime::Builder::new_current_thread().enable_io().build() {
            Ok(runtime) => LocalSet::new().block_on(&runtime, accept(listener, buffer)),
            Err(error) => host::fail(1, format!("cannot start tokio: {error}")),
        }
    });
}

async fn accept(listener: std::net::TcpListener, buffer: usize) {
    let listener = listener
        .set_nonblocking(true)
        .and_then(|()| TcpListener::from_std(listener));
    let listener = listener.unwrap_or_else(|error| host::fail(1, format!("cannot register the listener: {error}")));
    let mut http = Builder::new();
    // Answers to a pipeline in one write, as brunt's are.
    http.pipeline_flush(true).max_buf_size(buffer);
    let mut spare = host::Spare::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) if spare.admits() => {
                let connection = http.serve_connection(TokioIo::new(stream), service_fn(hello));
                tokio::task::spawn_local(async move {
                    // A client that goes away, or speaks no HTTP, ends its own connection only.
                    let _ = connection.await;
                });
            }
            Ok(_) => {}
            Err(_) => spare.accept_failed(),
        }
    }
}

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"Hi, there!\n")));
    let headers = response.headers_mut();
    headers.insert(SERVER, HeaderValue::from_static("hyper"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}
