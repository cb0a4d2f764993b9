//! An upload server: `PUT /NAME` stores the body as a file, `GET /NAME` returns it. A file is there whole or not at all: it is
//! written under another name, and renamed once it is on the disk.
//!
//! `cargo run -p brunt-runtime --features hyper --example upload [ADDRESS] [uring|epoll] [FOLDER]`, then
//! `curl -T Cargo.lock http://127.0.0.1:7000/lock` and `curl http://127.0.0.1:7000/lock`

mod common;

use brunt_runtime::adapters::HyperTimer;
use brunt_runtime::fs::{self, File, OpenOptions};
use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::spawn;
use futures_lite::stream::{Stream, unfold};
use http_body_util::{BodyExt, Either, Full, StreamBody};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::{Method, Request, Response, StatusCode, server::conn::http1, service::service_fn};
use std::cell::Cell;
use std::convert::Infallible;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;

/// The longest body that is stored.
const LONGEST: u64 = 1 << 30;
/// Bytes of one read of a file.
const PART: u64 = 64 << 10;

type Parts = Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>>>>;
type Reply = Response<Either<Full<Bytes>, StreamBody<Parts>>>;

fn main() -> Result<(), Box<dyn Error>> {
    let (address, builder) = common::parse()?;
    let folder: PathBuf = std::env::args_os().nth(3).map_or_else(|| ".".into(), Into::into);
    Ok(builder.build()?.block_on(serve(address, folder))?)
}

async fn serve(address: SocketAddr, folder: PathBuf) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    let folder: &'static Path = Box::leak(folder.into_boxed_path());
    loop {
        spawn(connection(listener.accept().await?, folder));
    }
}

async fn connection(stream: TcpStream, folder: &'static Path) -> hyper::Result<()> {
    let service = service_fn(async |request| Ok::<_, Infallible>(respond(request, folder).await));
    http1::Builder::new().timer(HyperTimer).serve_connection(stream, service).await
}

async fn respond(request: Request<Incoming>, folder: &'static Path) -> Reply {
    let Some(name) = name_of(request.uri().path()) else {
        return said(
            StatusCode::BAD_REQUEST,
            "a name has 1 to 100 letters, digits, '-', '_' and '.', and begins with no '.'",
        );
    };
    let path = folder.join(name);
    let result = match *request.method() {
        // A task of its own, which removes what is not whole when the connection has gone.
        Method::PUT => match spawn(store(request.into_body(), path, folder)).await {
            Ok(stored) => stored,
            Err(panicked) => Err(panicked.into()),
        },
        Method::GET => load(&path).await,
        _ => return said(StatusCode::METHOD_NOT_ALLOWED, "PUT stores a file, GET returns it"),
    };
    result.unwrap_or_else(|error| {
        let status = match error.kind() {
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::FileTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        said(status, &error.to_string())
    })
}

/// The name of the file, if it is one that stays in the folder.
fn name_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix('/')?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (!name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.bytes().all(plain)).then_some(name)
}

fn said(status: StatusCode, text: &str) -> Reply {
    let mut reply = Response::new(Either::Left(Full::from(format!("{text}\n"))));
    *reply.status_mut() = status;
    reply
}

async fn store(body: Incoming, path: PathBuf, folder: &Path) -> io::Result<Reply> {
    thread_local!(static NEXT: Cell<u64> = const { Cell::new(0) });
    let number = NEXT.replace(NEXT.get() + 1);
    let temporary = folder.join(format!(".upload-{}-{number}", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).open(&temporary).await?;
    let stored = async {
        let len = receive(body, &file).await?;
        file.sync_all().await?;
        fs::rename(&temporary, &path).await?;
        // The name is safe once its folder is on the disk.
        File::open(folder).await?.sync_all().await?;
        Ok(said(StatusCode::CREATED, &format!("{len} bytes")))
    };
    match stored.await {
        Ok(reply) => Ok(reply),
        Err(error) => {
            let _ = fs::remove_file(&temporary).await;
            Err(error)
        }
    }
}

async fn receive(mut body: Incoming, file: &File) -> io::Result<u64> {
    let too_large = |len: u64| len > LONGEST;
    if too_large(body.size_hint().lower()) {
        return Err(ErrorKind::FileTooLarge.into());
    }
    let mut len = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(io::Error::other)?.into_data() else { continue };
        if too_large(len + data.len() as u64) {
            return Err(ErrorKind::FileTooLarge.into());
        }
        len += file.write_all_at(data, len).await?.len() as u64;
    }
    Ok(len)
}

async fn load(path: &Path) -> io::Result<Reply> {
    let file = File::open(path).await?;
    let len = file.metadata().await?.len();
    let parts = unfold(0, move |at| {
        let file = file.clone();
        async move {
            let part = (len - at).min(PART);
            if part == 0 {
                return None;
            }
            let read = file.read_exact_at(vec![0; part as usize], at).await;
            Some((read.map(|bytes| Frame::data(bytes.into())), at + part))
        }
    });
    let mut reply = Response::new(Either::Right(StreamBody::new(Box::pin(parts) as Parts)));
    reply.headers_mut().insert("content-length", len.into());
    Ok(reply)
}
