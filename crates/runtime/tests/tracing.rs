//! Events and spans of the feature `tracing`, on both backends.
#![cfg(feature = "tracing")]

mod shared;

use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::time::sleep;
use brunt_runtime::{BackendKind, Runtime, spawn, spawn_blocking};
use shared::{backends, guarded, in_own_process, limit_files};
use std::fmt::{self, Write as _};
use std::fs::File;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};

/// Records everything as lines. Uses the runtime while doing so, like a subscriber that sends its lines over a socket.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>, Arc<AtomicU64>);

impl Notes {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn count(&self, text: &str) -> usize {
        self.lines().iter().filter(|line| line.contains(text)).count()
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Notes {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line(format!("span {}", span.metadata().name()));
        span.record(&mut line);
        self.0.lock().unwrap().push(line.0);
        Id::from_u64(self.1.fetch_add(1, Ordering::Relaxed) + 1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
        // Panics if the worker is borrowed; also without a worker, which is allowed.
        if let Err(panic) = std::panic::catch_unwind(|| (brunt_runtime::metrics(), drop(spawn(async {})))) {
            let why = panic.downcast_ref::<&str>().map_or_else(String::new, ToString::to_string);
            if !why.contains("inside Runtime::block_on") {
                self.0.lock().unwrap().push(format!("the runtime was not ready for a subscriber: {why}"));
            }
        }
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn noted<T>(backend: BackendKind, body: impl Future<Output = T>) -> (Notes, T) {
    let notes = Notes::default();
    let output = with_default(notes.clone(), || {
        let runtime = Runtime::builder().backend(Some(backend)).build().unwrap();
        runtime.block_on(guarded(body))
    });
    assert_eq!(notes.count("not ready"), 0, "{:?}", notes.lines());
    (notes, output)
}

#[test]
fn start_end_and_panics_are_reported() {
    for backend in backends() {
        let (notes, ()) = noted(backend, async {
            assert!(
                spawn(async {
                    if true {
                        panic!("on purpose")
                    }
                })
                .await
                .is_err()
            );
            spawn(async {}).await.unwrap();
        });
        let lines = notes.lines();
        assert!(
            lines[0].starts_with("INFO message=a worker begins") && lines[0].contains(&format!("backend={backend}"))
        );
        assert!(lines[1].starts_with("span worker worker="), "{lines:?}");
        assert!(
            lines[2].starts_with("ERROR message=a panic ended a task") && lines[2].contains("on purpose"),
            "{lines:?}"
        );
        assert!(lines[3].contains("a worker has ended") && lines[3].contains("left_nothing=true"), "{lines:?}");
        assert_eq!(lines.len(), 4, "{lines:?}");
    }
}

#[test]
fn requests_are_not_reported() {
    for backend in backends() {
        let (notes, ()) = noted(backend, async {
            let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let address = listener.local_addr().unwrap();
            for _ in 0..20 {
                let mut client = TcpStream::connect(address).await.unwrap();
                let mut served = listener.accept().await.unwrap();
                for _ in 0..20 {
                    client.write_all(b"x").await.unwrap();
                    served.read(&mut [0]).await.unwrap();
                }
            }
            spawn_blocking(|| ()).await.unwrap();
        });
        assert_eq!(notes.lines().len(), 3, "begin, span, end: {:?}", notes.lines());
    }
}

#[test]
fn a_pause_of_accepting_is_reported_once() {
    // Takes all descriptors of the process.
    in_own_process("a_pause_of_accepting_is_reported_once", || {
        for backend in backends() {
            let (notes, ()) = noted(backend, async {
                let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
                let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                limit_files(1000);
                let mut hoard = Vec::new();
                while let Ok(file) = File::open("/dev/null") {
                    hoard.push(file);
                }
                let accepted = spawn(async move { listener.accept().await.unwrap() });
                sleep(Duration::from_millis(100)).await;
                hoard.clear();
                accepted.await.unwrap();
            });
            assert_eq!(
                (notes.count("WARN message=accepting pauses"), notes.count("INFO message=accepting resumes")),
                (1, 1)
            );
        }
    });
}

#[test]
fn exhausted_buffers_are_reported() {
    for backend in backends() {
        let (notes, ()) = noted(backend, async {
            let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let address = listener.local_addr().unwrap();
            let mut flooders = Vec::new();
            let mut buffers = Vec::new();
            for _ in 0..4 {
                let mut flooder = TcpStream::connect(address).await.unwrap();
                flooders.push(spawn(async move { while flooder.write_all(&[1; 65_536]).await.is_ok() {} }));
                let mut slow = listener.accept().await.unwrap();
                for _ in 0..600 {
                    buffers.push(slow.recv().await.unwrap());
                }
                buffers.push(slow.recv().await.unwrap());
            }
            assert!(brunt_runtime::metrics().spare_buffers > 0);
            flooders.iter().for_each(brunt_runtime::JoinHandle::abort);
        });
        assert!(notes.count("WARN message=receive buffers have run out") > 0, "{:?}", notes.lines());
    }
}
