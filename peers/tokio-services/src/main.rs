//! The services of the examples of brunt-runtime on tokio, current-thread, one runtime a core. They must stay what a tokio user
//! would write: the counterparts that the examples are measured beside.

#[path = "../../common/args.rs"]
mod args;
mod chat;
#[path = "../../common/host.rs"]
mod host;
mod key_value;
mod reverse_proxy;
mod upload;

use std::future::Future;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::task::LocalSet;

fn main() {
    let args = args::Peer {
        name: "tokio-services",
        buffer: (16 << 10, "a connection"),
        flag: Some(("--service", &["key-value", "reverse-proxy", "upload", "chat"])),
    }
    .args();
    let (buffer, service) = (args.buffer, args.choice);
    let map = key_value::Map::new();
    host::thread_per_core(&format!("tokio {service}"), args.listen, &args.cores, |listener, _| {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.unwrap_or_else(|error| host::fail(1, format!("cannot start tokio: {error}")));
        LocalSet::new().block_on(&runtime, async {
            match service {
                "key-value" => accept(listener, |stream| key_value::serve(stream, map, buffer)).await,
                "reverse-proxy" => {
                    let upstream = reverse_proxy::Upstream::new(setting("UPSTREAM"));
                    accept(listener, |stream| reverse_proxy::serve(stream, upstream.clone())).await;
                }
                "upload" => {
                    let folder: &'static str = setting("FOLDER").leak();
                    accept(listener, |stream| upload::serve(stream, folder.as_ref())).await;
                }
                _ => {
                    let room = chat::Room::default();
                    accept(listener, |stream| chat::serve(stream, room.clone())).await;
                }
            }
        });
    });
}

fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| host::fail(2, format!("the environment has no {name}; see peers/README.md")))
}

async fn accept<S: Future + 'static>(listener: std::net::TcpListener, serve: impl Fn(TcpStream) -> S) {
    let listener = listener.set_nonblocking(true).and_then(|()| TcpListener::from_std(listener));
    let listener = listener.unwrap_or_else(|error| host::fail(1, format!("cannot register the listener: {error}")));
    let mut spare = host::Spare::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) if spare.admits() => {
                let connection = serve(stream);
                tokio::task::spawn_local(async {
                    // What goes wrong ends its own connection only.
                    connection.await;
                });
            }
            Ok(_) => {}
            Err(_) => spare.accept_failed(),
        }
    }
}
