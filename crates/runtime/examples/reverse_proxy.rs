//! A reverse proxy for HTTP/1.1, with upgrades such as WebSocket: hyper's server in front, hyper-util's client and its pool of
//! connections behind.
//!
//! `cargo run -p brunt-runtime --features hyper-util --example reverse_proxy [ADDRESS] [uring|epoll] [UPSTREAM]`

mod common;

use brunt_runtime::adapters::{HyperConnector, HyperExecutor, HyperStream, HyperTimer};
use brunt_runtime::net::{Tcp, TcpListener, TcpStream, copy_both};
use brunt_runtime::spawn;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::{OnUpgrade, Parts};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::SocketAddr;

type Reply = Response<Either<Incoming, Full<Bytes>>>;
type Failure = Box<dyn Error + Send + Sync>;

/// Where requests go.
#[derive(Clone)]
struct Upstream {
    client: Client<HyperConnector, Incoming>,
    authority: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (address, builder) = common::parse()?;
    let authority = std::env::args().nth(3).unwrap_or_else(|| "127.0.0.1:7001".to_owned());
    Ok(builder.build()?.block_on(serve(address, authority))?)
}

async fn serve(address: SocketAddr, authority: String) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    let upstream = Upstream { client: Client::builder(HyperExecutor).build(HyperConnector), authority };
    loop {
        let (stream, upstream) = (HyperStream::new(listener.accept().await?), upstream.clone());
        let service = service_fn(move |request| forward(upstream.clone(), request));
        let connection = http1::Builder::new().timer(HyperTimer).serve_connection(stream, service).with_upgrades();
        spawn(connection);
    }
}

async fn forward(upstream: Upstream, request: Request<Incoming>) -> Result<Reply, Infallible> {
    Ok(ask(upstream, request).await.unwrap_or_else(|error| {
        let mut reply =
            Response::new(Either::Right(Full::from(format!("no reply from upstream: {}\n", causes(&*error)))));
        *reply.status_mut() = StatusCode::BAD_GATEWAY;
        reply
    }))
}

/// An error and what has caused it.
fn causes(error: &dyn Error) -> String {
    let cause = error.source().map(|cause| format!(": {}", causes(cause)));
    format!("{error}{}", cause.unwrap_or_default())
}

async fn ask(upstream: Upstream, mut request: Request<Incoming>) -> Result<Reply, Failure> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() =
        Uri::builder().scheme("http").authority(upstream.authority.as_str()).path_and_query(path).build()?;
    if !request.headers().contains_key(HOST) {
        request.headers_mut().insert(HOST, upstream.authority.parse()?);
    }
    // The connection of the client, if it asks for another protocol from here on.
    let asked = request.headers().get(UPGRADE).cloned();
    let near = asked.is_some().then(|| hyper::upgrade::on(&mut request));
    remove_hop_by_hop(request.headers_mut());
    if let Some(protocol) = asked {
        request.headers_mut().insert(UPGRADE, protocol);
        request.headers_mut().insert(CONNECTION, "upgrade".parse()?);
    }
    let mut reply = upstream.client.request(request).await?;
    if reply.status() == StatusCode::SWITCHING_PROTOCOLS {
        let near = near.ok_or("it switches protocols without having been asked to")?;
        spawn(tunnel(near, hyper::upgrade::on(&mut reply)));
    } else {
        remove_hop_by_hop(reply.headers_mut());
    }
    Ok(reply.map(Either::Left))
}

/// Removes the fields of a message that are for the next hop only: RFC 9110, 7.6.1.
fn remove_hop_by_hop(fields: &mut HeaderMap) {
    let named: Vec<HeaderName> = fields
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.into_iter().chain([CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE]) {
        fields.remove(name);
    }
    for name in ["keep-alive", "proxy-connection"] {
        fields.remove(name);
    }
}

/// Copies between client and upstream once both have switched.
async fn tunnel(near: OnUpgrade, far: OnUpgrade) -> Result<(), Failure> {
    let ((mut near, from_near), (mut far, from_far)) = (stream(near).await?, stream(far).await?);
    far.write_all(&from_near).await?;
    near.write_all(&from_far).await?;
    copy_both(&mut near, &mut far).await?;
    Ok(())
}

/// The stream, and what hyper has read of it already.
async fn stream(upgrade: OnUpgrade) -> Result<(TcpStream, Bytes), Failure> {
    let Parts { io, read_buf, .. } =
        upgrade.await?.downcast::<HyperStream<Tcp>>().map_err(|_| "another kind of stream")?;
    Ok((io.into_inner(), read_buf))
}
