//! The key-value server: protocol and map are those of the example.

#[path = "../../../crates/runtime/examples/common/resp.rs"]
mod resp;

pub use resp::Map;
use resp::Session;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub async fn serve(mut stream: TcpStream, map: &'static Map, size: usize) -> io::Result<()> {
    let (mut session, mut buffer) = (Session::default(), vec![0; size]);
    loop {
        let len = stream.read(&mut buffer).await?;
        if len == 0 {
            return Ok(());
        }
        let (answers, ends) = session.answer(&buffer[..len], map);
        stream.write_all(answers).await?;
        if ends {
            return Ok(());
        }
    }
}
