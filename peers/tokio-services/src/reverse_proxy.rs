//! The reverse proxy: hyper's server in front, hyper-util's client and its pool of connections behind.

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::convert::Infallible;
use std::error::Error;
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;

type Reply = Response<Either<Incoming, Full<Bytes>>>;
type Failure = Box<dyn Error + Send + Sync>;

/// Where requests go.
#[derive(Clone)]
pub struct Upstream {
    client: Client<HttpConnector, Incoming>,
    authority: String,
}

impl Upstream {
    pub fn new(authority: String) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self { client: Client::builder(TokioExecutor::new()).build(connector), authority }
    }
}

pub async fn serve(stream: TcpStream, upstream: Upstream) -> hyper::Result<()> {
    let service = service_fn(move |request| forward(upstream.clone(), request));
    let connection = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
    connection.with_upgrades().await
}

async fn forward(upstream: Upstream, request: Request<Incoming>) -> Result<Reply, Infallible> {
    Ok(ask(upstream, request).await.unwrap_or_else(|error| {
        let mut reply = Response::new(Either::Right(Full::from(format!("no reply from upstream: {error}\n"))));
        *reply.status_mut() = StatusCode::BAD_GATEWAY;
        reply
    }))
}

async fn ask(upstream: Upstream, mut request: Request<Incoming>) -> Result<Reply, Failure> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = Uri::builder().scheme("http").authority(upstream.authority.as_str()).path_and_query(path).build()?;
    if !request.headers().contains_key(HOST) {
        request.headers_mut().insert(HOST, upstream.authority.parse()?);
    }
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
        tokio::task::spawn_local(tunnel(near, hyper::upgrade::on(&mut reply)));
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

async fn tunnel(near: OnUpgrade, far: OnUpgrade) -> Result<(), Failure> {
    let (mut near, mut far) = (TokioIo::new(near.await?), TokioIo::new(far.await?));
    copy_bidirectional(&mut near, &mut far).await?;
    Ok(())
}
