//! The upload server: `PUT /NAME` stores the body as a file, `GET /NAME` returns it.

use bytes::Bytes;
use futures_util::stream::{Stream, unfold};
use http_body_util::{BodyExt, Either, Full, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::fs::{self, File, OpenOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The longest body that is stored.
const LONGEST: u64 = 1 << 30;
/// Bytes of one read of a file.
const PART: u64 = 64 << 10;

type Parts = Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>>>>;
type Reply = Response<Either<Full<Bytes>, StreamBody<Parts>>>;

pub async fn serve(stream: TcpStream, folder: &'static Path) -> hyper::Result<()> {
    let service = service_fn(async |request| Ok::<_, Infallible>(respond(request, folder).await));
    http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service).await
}

async fn respond(request: Request<Incoming>, folder: &'static Path) -> Reply {
    let Some(name) = name_of(request.uri().path()) else {
        return said(StatusCode::BAD_REQUEST, "a name has 1 to 100 letters, digits, '-', '_' and '.', and begins with no '.'");
    };
    let path = folder.join(name);
    let result = match *request.method() {
        Method::PUT => match tokio::task::spawn_local(store(request.into_body(), path, folder)).await {
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
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let temporary = folder.join(format!(".upload-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed)));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary).await?;
    let stored = async {
        let len = receive(body, &mut file).await?;
        file.sync_all().await?;
        fs::rename(&temporary, &path).await?;
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

async fn receive(mut body: Incoming, file: &mut File) -> io::Result<u64> {
    if body.size_hint().lower() > LONGEST {
        return Err(ErrorKind::FileTooLarge.into());
    }
    let mut len = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(io::Error::other)?.into_data() else { continue };
        len += data.len() as u64;
        if len > LONGEST {
            return Err(ErrorKind::FileTooLarge.into());
        }
        file.write_all(&data).await?;
    }
    file.flush().await?;
    Ok(len)
}

async fn load(path: &Path) -> io::Result<Reply> {
    let file = File::open(path).await?;
    let len = file.metadata().await?.len();
    let parts = unfold((file, 0), move |(mut file, at)| async move {
        let part = (len - at).min(PART);
        if part == 0 {
            return None;
        }
        let mut bytes = vec![0; part as usize];
        let read = file.read_exact(&mut bytes).await;
        Some((read.map(|_| Frame::data(bytes.into())), (file, at + part)))
    });
    let mut reply = Response::new(Either::Right(StreamBody::new(Box::pin(parts) as Parts)));
    reply.headers_mut().insert("content-length", len.into());
    Ok(reply)
}
