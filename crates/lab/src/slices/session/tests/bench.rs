//! A machine of which the time stands still but in slices and sleeps, with servers of known times.

use crate::clock::given::{Given, Machine, Still};
use crate::slices::account::TargetAccount;
use crate::slices::participant::{Freeze, Participant};
use crate::slices::{Loader, SliceError, SliceSpec};
use brunt_results::LatencySummary;
use brunt_results::result::Load;
use brunt_slices::Slice;
use std::cell::{Cell, RefCell};
use std::{rc::Rc, time::Duration};

pub struct Bench {
    machine: Rc<Still>,
    /// What was ordered of which server, in order.
    pub made: Rc<RefCell<Vec<(&'static str, SliceSpec)>>>,
    /// When something was frozen and thawed.
    pub frozen: Rc<RefCell<Vec<&'static str>>>,
    _given: Given,
}

/// Called at the begin of each slice.
type During = Box<dyn FnMut(&Still) -> Result<(), SliceError>>;

/// Replies one after the other on its only connection.
#[derive(Clone)]
pub struct Server(Rc<State>);

struct State {
    name: &'static str,
    machine: Rc<Still>,
    made: Rc<RefCell<Vec<(&'static str, SliceSpec)>>>,
    frozen: Rc<RefCell<Vec<&'static str>>>,
    /// Of a reply.
    time: Duration,
    cost: Duration,
    load: Load,
    burns: Cell<bool>,
    used: Cell<Duration>,
    /// Since when it runs.
    thawed: Cell<Option<Duration>>,
    during: RefCell<During>,
}

impl Bench {
    pub fn begin() -> Self {
        let machine = Rc::new(Still::default());
        let _given = Given::begin(machine.clone());
        Self { machine, made: Rc::default(), frozen: Rc::default(), _given }
    }

    /// A server with these times of a reply, and of its CPU.
    pub fn server(&self, name: &'static str, time: Duration, cost: Duration) -> Server {
        Server(Rc::new(State {
            name,
            machine: self.machine.clone(),
            made: self.made.clone(),
            frozen: self.frozen.clone(),
            time,
            cost,
            load: Load { connections: 1, ..Load::default() },
            burns: Cell::default(),
            used: Cell::default(),
            thawed: Cell::new(Some(self.machine.time())),
            during: RefCell::new(Box::new(|_| Ok(()))),
        }))
    }
}

impl Server {
    /// Uses all of a core while it is not frozen.
    pub fn burning(self) -> Self {
        self.0.burns.set(true);
        self
    }

    /// Works as long as that one while it has the load.
    pub fn with_backend(self, backend: &Self) -> Self {
        let (behind, cost) = (backend.clone(), self.0.cost);
        self.during(move |_| {
            behind.0.used.set(behind.0.used.get() + cost * 100);
            Ok(())
        });
        self
    }

    pub fn during(&self, during: impl FnMut(&Still) -> Result<(), SliceError> + 'static) {
        *self.0.during.borrow_mut() = Box::new(during);
    }

    pub fn participant<'a>(&self) -> Participant<'a> {
        let server = self.clone();
        Participant {
            name: self.0.name.to_owned(),
            loader: Box::new(self.clone()),
            process: None,
            server: Some(Box::new(self.clone())),
            freezable: Some(Box::new(move || Some(Box::new(server.clone())))),
        }
    }

    /// Adds what it has burnt until now.
    fn account(&self) {
        let (state, now) = (&self.0, self.0.machine.time());
        if let Some(since) = state.thawed.get().filter(|_| state.burns.get()) {
            state.used.set(state.used.get() + (now - since));
            state.thawed.set(Some(now));
        }
    }
}

impl Loader for Server {
    fn slice(&mut self, spec: &SliceSpec) -> Result<Slice, SliceError> {
        let state = &self.0;
        state.made.borrow_mut().push((state.name, *spec));
        state.during.borrow_mut()(&state.machine)?;
        let length = spec.lead + spec.window;
        state.machine.pass(length);
        let fit = |time: Duration| (time.as_nanos() / state.time.as_nanos()) as u64;
        let (completed, replies) = (fit(length) - fit(spec.lead), fit(length));
        state.used.set(state.used.get() + state.cost * replies as u32);
        let us = Some(state.time.as_secs_f64() * 1e6);
        Ok(Slice {
            window_us: spec.window.as_micros() as u64,
            busy_us: length.as_micros() as u64,
            completed,
            replies,
            latency: LatencySummary { count: completed, mean_us: us, p50_us: us, ..LatencySummary::default() },
            ..Slice::default()
        })
    }

    fn set_rate(&mut self, _: f64) -> Result<(), String> {
        Ok(())
    }

    fn threads(&self) -> &[u32] {
        &[]
    }

    fn load(&self) -> &Load {
        &self.0.load
    }
}

impl TargetAccount for Server {
    fn cpu(&mut self) -> Option<Duration> {
        self.account();
        Some(self.0.used.get())
    }

    fn source(&self) -> String {
        "a test".to_owned()
    }

    fn leaves_out_interrupts(&self) -> bool {
        false
    }

    fn rss_bytes(&self) -> u64 {
        1 << 20
    }
}

impl Freeze for Server {
    fn freeze(&mut self) -> Result<(), String> {
        self.account();
        self.0.thawed.set(None);
        self.0.frozen.borrow_mut().push("freeze");
        Ok(())
    }

    fn thaw(&mut self) {
        self.0.thawed.set(Some(self.0.machine.time()));
        self.0.frozen.borrow_mut().push("thaw");
    }

    fn method(&self) -> &'static str {
        "ice"
    }
}
