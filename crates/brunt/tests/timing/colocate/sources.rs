//! Sources of `brunt colocate run` that start something: brunt's own load, and a program.

use super::controller::{finish, plan, start, status, summary};
use super::scene::{BRUNT, Scene, until};
use brunt_colocate::audit::Record;
use brunt_colocate::objective::Objective;
use brunt_colocate::readings::Newest;
use brunt_colocate::signals::requests::{From, Source};
use brunt_testkit::{Signal, alone, free_port, told};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// An echo server that answers nothing while `stalled` is set.
fn echo(stalled: &Arc<AtomicBool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let stalled = Arc::clone(stalled);
    let serve = move |mut stream: TcpStream, stalled: Arc<AtomicBool>| {
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut bytes) {
            while stalled.load(Relaxed) {
                sleep(Duration::from_millis(1));
            }
            if stream.write_all(&bytes[..length]).is_err() {
                return;
            }
        }
    };
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            stream.set_nodelay(true).unwrap();
            let stalled = Arc::clone(&stalled);
            thread::spawn(move || serve(stream, stalled));
        }
    });
    address
}

/// Directories of the pipes of this process.
fn pipes() -> Vec<PathBuf> {
    let name = format!("brunt-counts-{}-", std::process::id());
    let entries = fs::read_dir(std::env::temp_dir()).unwrap().flatten().map(|entry| entry.path());
    entries.filter(|path| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&name))).collect()
}

#[test]
fn a_load_is_read_while_it_runs_and_a_stalled_service_is_slow() {
    let _alone = alone();
    let stalled = Arc::new(AtomicBool::new(false));
    let url = format!("tcp://{}", echo(&stalled));
    let arguments = [&url, "-R", "200", "-d", "5m", "--warmup", "0s"].map(str::to_owned);
    let objective = Objective { quantile: 0.99, limit_ms: 200.0 };
    let mut source = Source::start(&From::Load(arguments.into()), objective, Some(1000.0), Path::new(BRUNT)).unwrap();
    let mut reading = || source.poll(Instant::now()).map(|reading| reading.value);
    // Of its schedule, in whole requests of a tenth of a second.
    until("the load is read", || {
        let load = reading().filter(|requests| requests.count > 0).and_then(|requests| requests.load);
        load.is_some_and(|load| (load - 0.2).abs() < 0.1)
    });
    stalled.store(true, Relaxed);
    until("the service is slow", || {
        reading().is_some_and(|requests| requests.slow >= 5 && requests.slow == requests.count)
    });
    stalled.store(false, Relaxed);
    until("the service is well", || reading().is_some_and(|requests| requests.slow == 0 && requests.count > 0));
    assert_eq!((source.ended(Instant::now()), source.warning()), (None, None));
    assert_eq!(pipes().len(), 1);
    drop(source);
    assert!(pipes().is_empty());
}

#[test]
fn a_load_waits_for_a_service_that_starts_slowly() {
    let _alone = alone();
    let Some(scene) = Scene::new() else { return };
    scene.end();
    let home = brunt_testkit::home();
    let address = format!("127.0.0.1:{}", free_port());
    let text = fs::read_to_string(plan(home.path(), "none", "[[job]]\ncommand = [\"sleep\", \"60\"]\n")).unwrap();
    let serve = format!("sleep 0.5; exec {BRUNT} serve echo --listen {address} --quiet");
    let load = format!("load = [\"tcp://{address}\", \"-R\", \"100\", \"-d\", \"5m\", \"--warmup\", \"0s\"]");
    let text = text
        .replace(&format!("pid = {}", std::process::id()), &format!("command = [\"sh\", \"-c\", \"{serve}\"]"))
        .replace(&format!("file = \"{}\"", home.path().join("counts").display()), &load);
    let path = home.path().join("slow-start.toml");
    fs::write(&path, text).unwrap();
    let mut controller = start(home.path(), &path);
    let requests = || status(home.path()).and_then(|status| status.readings.requests);
    until("requests are counted", || {
        assert!(!controller.running.is_over(), "the run has ended");
        requests().is_some_and(|reading| reading.value.count > 0)
    });
    controller.running.signal(Signal::TERM);
    assert!(controller.end().success());
    assert!(summary(home.path()).service.requests > 0);
}

/// Requests of the windows in the audit log that lie in the run.
fn logged(home: &Path) -> u64 {
    let log = fs::read_to_string(home.join("out/audit.jsonl")).unwrap();
    let (mut newest, mut sum) = (Newest::default(), 0);
    for line in log.lines().skip(1) {
        let record: Record = serde_json::from_str(line).unwrap();
        let Some(reading) = record.readings.requests else { continue };
        let is_in_run = |end: f64| end >= reading.value.seconds / 2.0;
        sum += newest.end(record.now, &reading).filter(|end| is_in_run(*end)).map_or(0, |_| reading.value.count);
    }
    sum
}

#[test]
fn a_run_counts_the_requests_of_its_source_and_ends_with_it() {
    let _alone = alone();
    let Some(scene) = Scene::new() else { return };
    scene.end();
    let home = brunt_testkit::home();
    let text = fs::read_to_string(plan(home.path(), "none", "[[job]]\ncommand = [\"sleep\", \"60\"]\n")).unwrap();
    let file = format!("file = \"{}\"", home.path().join("counts").display());
    let with = |source: &str| {
        let path = home.path().join("with-source.toml");
        fs::write(&path, text.replace(&file, source)).unwrap();
        finish(home.path(), &path, &[])
    };
    let url = format!("tcp://{}", echo(&Arc::default()));
    let load =
        format!("load = [\"{url}\", \"-R\", \"200\", \"-d\", \"1s\", \"--warmup\", \"0s\", \"--allow-untrusted\"]");
    let (_, stderr) = told(&with(&load), 1);
    assert!(stderr.contains("brunt load, the source of the counts, has ended"), "{stderr}");
    // The last windows may come after the end was noticed.
    let counted = summary(home.path()).service.requests;
    assert!(counted <= 200 && counted == logged(home.path()), "{counted}");
    let script = r#"command = ["sh", "-c", "echo '{\"seconds\":1,\"count\":70,\"slow\":7,\"latency_ms\":3}'; sleep 1; echo bye >&2"]"#;
    let (_, stderr) = told(&with(script), 1);
    assert!(stderr.contains("sh, the source of the counts, has ended (exit code 0): bye"), "{stderr}");
    let (_, stderr) = told(&with("probe = \"https://127.0.0.1/\""), 2);
    assert!(stderr.contains("[source] 'https://127.0.0.1/': https is not supported here"), "{stderr}");
}
