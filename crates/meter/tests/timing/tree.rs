//! CPU time of a process tree agrees with what its processes say of themselves, also of those that ended: it lies between two
//! readings of their own accounts, just inside and just outside of the window.

use crate::shared::{Actor, Bracket};
use brunt_meter::process::{Tree, Usage, Window};
use brunt_testkit::{alone, judge, until};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
/// Ended children, and the split into user and system, are known in ticks: one each of user and system at both ends.
const TICKS: Duration = Duration::from_millis(20);

/// Use of a new actor while it follows an order, and its own account.
fn usage_of(order: &str, account: &str) -> (Usage, Bracket) {
    let mut actor = Actor::start();
    let mut tree = Tree::new(&[actor.pid()]).unwrap();
    usage_in(&mut actor, &mut tree, order, account)
}

fn usage_in(actor: &mut Actor, tree: &mut Tree, order: &str, account: &str) -> (Usage, Bracket) {
    let shared = std::cell::RefCell::new(tree);
    let open = || Window::open(&mut shared.borrow_mut());
    let work = |actor: &mut Actor| order.split(';').for_each(|order| _ = actor.run(order));
    Bracket::around(actor, account, open, work, |window: Window| window.close(&mut shared.borrow_mut()))
}

#[test]
fn total_lies_between_readings_of_getrusage() {
    let _turn = alone();
    let (usage, truth) = usage_of("burn 700;burn-system 300", "cpu");
    assert!(truth.least() >= 1000 * MS);
    truth.assert_holds("total", usage.cpu.total(), Duration::ZERO);
    assert!(usage.rss_bytes > 500_000 && usage.rss_peak_bytes.unwrap() >= usage.rss_bytes);
    assert!(usage.alive && usage.threads >= 1 && !usage.cores.unwrap().is_empty());
}

#[test]
fn user_and_system_time_are_those_of_getrusage() {
    let _turn = alone();
    for order in ["burn 400", "burn-system 300"] {
        let (usage, truth) = usage_of(order, "cpu-user");
        truth.assert_holds("user", usage.cpu.user, 2 * TICKS);
        let (usage, truth) = usage_of(order, "cpu-system");
        truth.assert_holds("system", usage.cpu.system, 2 * TICKS);
    }
    let (user, system) = (usage_of("burn 200", "cpu").0.cpu, usage_of("burn-system 200", "cpu").0.cpu);
    assert!(user.user > user.system && system.system > system.user, "{user:?}, {system:?}");
}

#[test]
fn threads_that_end_inside_the_window_are_counted() {
    let _turn = alone();
    let (usage, truth) = usage_of("threads 60", "cpu");
    assert!(truth.least() >= 240 * MS);
    truth.assert_holds("total", usage.cpu.total(), Duration::ZERO);
}

#[test]
fn the_busiest_thread_is_reported() {
    let _turn = alone();
    let mut actor = Actor::start();
    let mut tree = Tree::new(&[actor.pid()]).unwrap();
    let outside = Instant::now();
    // The first thread burns all of it, another one half.
    let (usage, truth) = usage_in(&mut actor, &mut tree, "uneven 200", "cpu-thread");
    let longest = outside.elapsed();
    assert!(truth.least() >= 200 * MS);
    let share = usage.busiest_thread_percent.unwrap() / 100.0;
    // The length of the window is that of the order at least.
    let (least, most) = (truth.least().div_duration_f64(longest), truth.most().div_duration_f64(truth.least()));
    assert!((least..=most).contains(&share), "{share} is not in {least}..={most}");
    assert!(usage.cpu.total() >= truth.least() + 100 * MS, "{:?}, {truth:?}", usage.cpu);
}

#[test]
fn children_that_ended_and_were_waited_for_are_counted() {
    let _turn = alone();
    let (usage, truth) = usage_of("child 150;child 50", "cpu-family");
    assert!(truth.least() >= 200 * MS);
    truth.assert_holds("total", usage.cpu.total(), TICKS);
}

/// CPU time of an ended process before it is reaped, in ticks.
fn of_zombie(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    assert_eq!(fields[0], "Z", "{stat}");
    fields[11..13].iter().map(|ticks| ticks.parse::<u32>().unwrap() * 10 * MS).sum()
}

#[test]
fn time_of_a_child_before_the_window_is_excluded_though_inherited_inside() {
    let _turn = alone();
    let mut actor = Actor::start();
    let child = actor.count("keep") as u32;
    actor.run("forward burn 200");
    actor.run("reply");
    actor.run("forward cpu");
    let of_child = actor.run("reply");
    assert!(of_child >= 200 * MS);
    let mut tree = Tree::new(&[actor.pid()]).unwrap();
    let own = actor.run("cpu");
    let window = Window::open(&mut tree);
    assert_eq!(tree.pids().len(), 2);
    actor.run("forward quit");
    // Its parent waits for it at its own end; until then it is a zombie.
    until("the end of the child", || {
        tree.sample();
        tree.pids().len() == 1
    });
    let total = window.close(&mut tree).cpu.total();
    // What both used after the readings before the window.
    let most = of_zombie(child) + TICKS - of_child + actor.run("cpu") - own;
    assert!(total <= most && most < 200 * MS, "{total:?} of at most {most:?}");
}

/// The sum over a tree whose middle ends, which makes its child one of init, before that ends as well.
fn total_of_an_orphan() -> Duration {
    // actor -> middle -> burner; middle ends, burner goes on as a child of init, then ends.
    let mut actor = Actor::start();
    actor.run("keep");
    actor.run("forward keep");
    let burner = actor.run("reply").as_nanos() as u32;
    let mut tree = Tree::new(&[actor.pid()]).unwrap();
    assert_eq!(tree.pids().len(), 3);
    let window = Window::open(&mut tree);
    let first = window.first;
    actor.run("forward forward burn 100");
    actor.run("reply");
    actor.run("forward quit");
    let mut last = Duration::ZERO;
    let mut sample = |tree: &mut Tree| {
        let total = tree.sample().since(&first).total();
        assert!(total >= last, "the sum fell from {last:?} to {total:?}");
        last = total;
        total
    };
    until("the burn", || sample(&mut tree) >= 95 * MS);
    // Its stdin is closed with the end of middle, so it ends after the burn.
    until("the end of the burner", || {
        sample(&mut tree);
        !tree.pids().contains(&burner)
    });
    window.close(&mut tree).cpu.total()
}

#[test]
fn an_orphan_stays_in_the_tree_and_its_time_is_kept_when_init_reaps_it() {
    let _turn = alone();
    // The burner's clock is not read at its end: what its end costs has no bound but that of an undisturbed machine.
    judge("an orphan counts once", || {
        let total = total_of_an_orphan();
        assert!(total >= 95 * MS, "{total:?}");
        if total < 190 * MS { Ok(()) } else { Err(format!("{total:?} of a burn of 100 ms")) }
    });
}

#[test]
fn cost_per_request_is_cpu_time_divided() {
    let _turn = alone();
    let mut actor = Actor::start();
    let meter = std::cell::RefCell::new(brunt_meter::ServerMeter::attach(actor.pid()).unwrap());
    let open = || _ = meter.borrow_mut().open();
    let work = |actor: &mut Actor| _ = actor.run("burn 200");
    let ((), truth) = Bracket::around(&mut actor, "cpu", open, work, |()| meter.borrow_mut().stop());
    actor.run("burn 50");
    let (server, _) = meter.into_inner().close(1000, Duration::MAX);
    let cost = Duration::from_secs_f64(server.cpu_us_per_request.unwrap() / 1e6);
    truth.assert_holds("cost", cost * 1000, 10 * MS / 1000);
}
