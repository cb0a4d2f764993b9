//! The lab beside a world. It blocks where it waits, so it has a thread of its own, which takes turns with the world: what it orders
//! takes the time of the world, and while it computes the world stands still.

use crate::worlds::{Serve, US};
use brunt_lab::clock::given::{Account, Given, Machine};
use brunt_lab::slices::{ConnectionSet, Generator, Measured, SliceSpec};
use brunt_load::{Options, Session};
use brunt_results::result::Load;
use brunt_runtime::sim::World;
use brunt_runtime::{CancellationToken, time};
use brunt_serve::Notice;
use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::{rc::Rc, thread, time::Duration};

/// What the world is to do; sessions are numbers, in the order in which they were opened.
enum Order {
    /// A session with the load of this number.
    Open(usize),
    Slice(usize, SliceSpec),
    Rate(usize, f64),
    Sleep(Duration),
}

enum Answer {
    Opened(Result<Load, String>),
    Made(Box<Result<Measured, String>>),
    Done(Result<(), String>),
}

/// The world as its lab sees it.
#[derive(Debug)]
pub struct Lab {
    orders: Sender<Order>,
    answers: Receiver<(Duration, Answer)>,
    time: Cell<Duration>,
    sessions: Cell<usize>,
    pauses: Vec<(Duration, Duration)>,
    /// What was asked of which session, and when.
    pub made: RefCell<Vec<(usize, SliceSpec, Duration)>>,
}

impl Lab {
    fn order(&self, order: Order) -> Answer {
        self.orders.send(order).expect("the world has stopped");
        let (time, answer) = self.answers.recv().expect("the world has stopped");
        self.time.set(time);
        answer
    }

    /// A session with the load of this number.
    pub fn open(self: &Rc<Self>, load: usize) -> Result<Box<dyn ConnectionSet>, String> {
        let Answer::Opened(opened) = self.order(Order::Open(load)) else { unreachable!() };
        let session = self.sessions.replace(self.sessions.get() + 1);
        Ok(Box::new(Set { lab: self.clone(), session, load: opened? }))
    }
}

impl Machine for Lab {
    fn time(&self) -> Duration {
        self.time.get()
    }

    fn sleep(&self, time: Duration) {
        self.order(Order::Sleep(time));
    }

    /// Pauses of the world are time that it takes.
    fn account(&self) -> Account {
        let until = |(at, length): &(Duration, Duration)| self.time.get().saturating_sub(*at).min(*length);
        Account { lost: self.pauses.iter().map(until).sum(), ..Account::default() }
    }
}

struct Set {
    lab: Rc<Lab>,
    session: usize,
    load: Load,
}

impl ConnectionSet for Set {
    fn slice(&mut self, spec: &SliceSpec) -> Result<Measured, String> {
        self.lab.made.borrow_mut().push((self.session, *spec, self.lab.time.get()));
        let Answer::Made(made) = self.lab.order(Order::Slice(self.session, *spec)) else { unreachable!() };
        *made
    }

    fn set_rate(&mut self, per_second: f64) -> Result<(), String> {
        let Answer::Done(done) = self.lab.order(Order::Rate(self.session, per_second)) else { unreachable!() };
        done
    }

    fn threads(&self) -> &[u32] {
        &[]
    }

    fn load(&self) -> &Load {
        &self.load
    }
}

/// Opens sessions; the first word is the number of the load.
#[derive(Debug)]
pub struct Sessions(pub Rc<Lab>);

impl Generator for Sessions {
    fn open(&self, words: &[String]) -> Result<Box<dyn ConnectionSet>, String> {
        self.0.open(words[0].parse().unwrap())
    }
}

/// Runs `work` beside a world with these servers, in which each of its sessions has one of these loads. The world is paused at
/// these times for so long.
pub fn beside<T: Send + 'static>(
    world: &World,
    servers: Vec<Serve>,
    loads: &[Options],
    pauses: &[(Duration, Duration)],
    work: impl FnOnce(&Rc<Lab>) -> T + Send + 'static,
) -> T {
    let ((orders, ordered), (answer, answers)) = (mpsc::channel(), mpsc::channel());
    let pauses = pauses.to_vec();
    pauses.iter().for_each(|(at, length)| world.pause(*at, *length));
    let lab = thread::spawn(move || {
        let (time, sessions, made) = Default::default();
        let lab = Rc::new(Lab { orders, answers, time, sessions, pauses, made });
        let _given = Given::begin(lab.clone());
        work(&lab)
    });
    let run = async {
        let stop = CancellationToken::new();
        let mut serving = Vec::new();
        for server in servers {
            let (notices, heard) = mpsc::channel();
            serving.push(brunt_runtime::spawn(server.run(stop.clone(), notices)));
            while !matches!(heard.try_recv(), Ok(Notice::Listening { .. }) | Err(TryRecvError::Disconnected)) {
                time::sleep(US).await;
            }
        }
        obey(world, loads, &ordered, &answer).await;
        stop.cancel();
        for server in serving {
            server.await.unwrap().unwrap();
        }
    };
    world.run(run).unwrap();
    drop(answer);
    lab.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Does what the lab orders until it has ended.
async fn obey(world: &World, loads: &[Options], ordered: &Receiver<Order>, answer: &Sender<(Duration, Answer)>) {
    let text = |error: brunt_load::LoadError| error.to_string();
    let mut sessions = Vec::new();
    while let Ok(order) = ordered.recv() {
        let done = match order {
            Order::Open(load) => {
                let opened = Session::open_in_world(&loads[load], &AtomicBool::new(false)).await;
                let load = opened.as_ref().map(|session| session.load().clone()).map_err(ToString::to_string);
                sessions.extend(opened);
                Answer::Opened(load)
            }
            Order::Slice(session, spec) => {
                Answer::Made(Box::new(sessions[session].slice_in_world(spec).await.map_err(text)))
            }
            Order::Rate(session, rate) => Answer::Done(sessions[session].set_rate(rate).map_err(text)),
            Order::Sleep(length) => {
                time::sleep(length).await;
                Answer::Done(Ok(()))
            }
        };
        if answer.send((world.elapsed(), done)).is_err() {
            return;
        }
    }
}
