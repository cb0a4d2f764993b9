//! An echo over TLS, by rustls.
//!
//! `cargo run -p brunt-runtime --features futures-io --example tls_echo [ADDRESS] [uring|epoll]`, then
//! `openssl s_client -connect 127.0.0.1:7000 -CAfile crates/runtime/examples/localhost.pem`
//!
//! The certificate beside this file is for tests: its private key is public.

mod common;

use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::spawn;
use futures_lite::{AsyncReadExt, AsyncWriteExt};
use futures_rustls::TlsAcceptor;
use futures_rustls::rustls::ServerConfig;
use futures_rustls::rustls::pki_types::pem::PemObject;
use futures_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::{error::Error, io, net::SocketAddr, sync::Arc};

const CERTIFICATE_AND_KEY: &[u8] = include_bytes!("localhost.pem");

fn main() -> Result<(), Box<dyn Error>> {
    let (address, builder) = common::parse()?;
    let acceptor = acceptor()?;
    Ok(builder.build()?.block_on(serve(address, acceptor))?)
}

fn acceptor() -> Result<TlsAcceptor, Box<dyn Error>> {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE_AND_KEY)?;
    let key = PrivateKeyDer::from_pem_slice(CERTIFICATE_AND_KEY)?;
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn serve(address: SocketAddr, acceptor: TlsAcceptor) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        spawn(echo(listener.accept().await?, acceptor.clone()));
    }
}

async fn echo(stream: TcpStream, acceptor: TlsAcceptor) -> io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    let mut buffer = [0; 4096];
    loop {
        let len = stream.read(&mut buffer).await?;
        if len == 0 {
            return stream.close().await;
        }
        stream.write_all(&buffer[..len]).await?;
        stream.flush().await?;
    }
}
