//! A target that does not listen where it was told to.

use super::Scene;
use brunt_lab::clock;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use std::{cell::Cell, rc::Rc, thread};

/// Time that begins to pass when something listens at an address.
struct SinceListening {
    address: String,
    begun: Cell<Option<Instant>>,
}

#[allow(clippy::disallowed_methods, reason = "time that is given passes as the machine's does")]
impl clock::given::Machine for SinceListening {
    fn time(&self) -> Duration {
        self.begun.get().map_or(Duration::ZERO, |begun| begun.elapsed())
    }

    fn sleep(&self, time: Duration) {
        if self.begun.get().is_none() && TcpStream::connect(&self.address).is_ok() {
            self.begun.set(Some(Instant::now()));
        }
        thread::sleep(time);
    }
}

#[test]
fn a_target_that_listens_elsewhere_is_told_where() {
    let mut scene = Scene::with_echo("", &["deaf"]);
    let address = format!("127.0.0.1:{}", brunt_lab::system::ports::free().unwrap());
    scene.plan = scene.plan.replace("'{listen}'", &format!("'{address}'")) + "ready_timeout = '100ms'\n";
    scene.plan = scene.plan.replace("repeats = 2", "repeats = 1");
    // However long it takes to start, it listens when the time is over.
    let machine = SinceListening { address: address.clone(), begun: Cell::new(None) };
    let given = clock::given::Given::begin(Rc::new(machine));
    scene.run().unwrap();
    drop(given);
    let failure = scene.failure("target=deaf");
    let expected = format!("within 100ms: it listens on {address} instead: use {{listen}} or {{port}} in its command");
    assert!(failure.contains(&expected), "{failure}");
}
