//! The Ctrl-Z test: quantiles of a target that is stopped for a known time, at a known rate, in closed form.
//!
//! With a stall of length S in a window of length D at a constant rate, the share S/D of all requests is intended during the
//! stall, and each of them waits for the rest of it: uniform on (0, S). So for q > 1 - S/D the quantile is
//! S (1 - (1-q) D/S), the median is that of a target without a stall, and the mean is S^2 / 2D. A closed loop, or an open
//! one that forgets the requests it could not send, shows one slow request for each connection instead.

use crate::shared::target::{Run, Target, json, load, number, pass};
use brunt_testkit::{Signal, alone, assert_code, judge, text};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Output;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const RATE: f64 = 1000.0;
const WINDOW_S: f64 = 5.0;
/// How far a time may be below theory, in seconds.
const BELOW_S: f64 = 0.06;
/// How far a time may be above the longer one of theory and control: seconds, and a share.
const ABOVE: (f64, f64) = (0.02, 0.1);
/// Bounds of the duration of the stall in seconds: a shell is started for each signal.
type Stall = (f64, f64);

/// Times of a reference client on the same target in the same window, in seconds and sorted: what the machine adds to
/// theory at this moment, by preemption and by the backlog after the stall.
#[derive(Default)]
struct Control {
    response: Vec<f64>,
    service: Vec<f64>,
    lag: Vec<f64>,
}

impl Control {
    /// Sends at the rate of the load on one connection, from now on.
    fn start(port: u16) -> JoinHandle<Self> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        thread::spawn(move || {
            let (begun, mut free, mut late, mut message) = (Instant::now(), Duration::ZERO, Duration::ZERO, [0; 64]);
            let mut control = Self::default();
            for number in 0..(RATE * WINDOW_S) as u32 {
                let intended = Duration::from_secs(number.into()).div_f64(RATE);
                thread::sleep(intended.saturating_sub(begun.elapsed()));
                let sent = begun.elapsed();
                stream.write_all(&message).unwrap();
                stream.read_exact(&mut message).unwrap();
                let done = begun.elapsed();
                control.response.push((done - intended).as_secs_f64());
                control.service.push((done - sent).as_secs_f64());
                // One that waited because this thread was late has the same lag, as in the load.
                if free <= intended {
                    late = sent - intended;
                }
                control.lag.push((sent - intended.max(free.saturating_sub(late))).as_secs_f64());
                free = done;
            }
            for times in [&mut control.response, &mut control.service, &mut control.lag] {
                times.sort_unstable_by(f64::total_cmp);
            }
            control
        })
    }
}

fn quantile(sorted: &[f64], q: f64) -> f64 {
    sorted[((q * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1]
}

/// Runs a load with a stall in the middle of its window.
fn stalled() -> (Output, Stall, Control) {
    let mut target = Target::start();
    let flags = "-R 1000 -d 5s -c 20 --warmup 500ms --json - --quiet --seed 1";
    let run = Run::start(load(&target.url(), flags));
    target.until_asked();
    pass(Duration::from_millis(500), "the warm-up");
    let control = Control::start(target.port());
    pass(Duration::from_millis(1500), "a part of the window");
    let before = Instant::now();
    target.signal(Signal::STOP);
    let stopped = Instant::now();
    pass(Duration::from_secs(1), "the stall");
    let least_s = stopped.elapsed().as_secs_f64();
    target.signal(Signal::CONT);
    let most_s = before.elapsed().as_secs_f64();
    let output = run.end();
    assert_code(&output, &[0, 3]);
    (output, (least_s, most_s), control.join().unwrap())
}

/// Compares the times with theory and control; the error names one that is out of bounds.
fn check(result: &Value, (least_s, most_s): Stall, control: &Control) -> Result<(), String> {
    let within = |figure: &str, theory_s: [f64; 2], control_s: f64| {
        let s = number(result, &format!("latency.{figure}_us")) / 1e6;
        let (least, most) = (theory_s[0] - BELOW_S, theory_s[1].max(control_s) * (1.0 + ABOVE.1) + ABOVE.0);
        match (least..most).contains(&s) {
            true => Ok(()),
            false => Err(format!("{figure} {s} s, not {least} to {most} s (control {control_s} s)")),
        }
    };
    for (figure, q) in [("response.p90", 0.9), ("response.p99", 0.99), ("response.p999", 0.999), ("response.max", 1.0)]
    {
        let theory = |stall_s: f64| stall_s * (1.0 - (1.0 - q) * WINDOW_S / stall_s);
        within(figure, [least_s, most_s].map(theory), quantile(&control.response, q))?;
    }
    let mean = control.response.iter().sum::<f64>() / control.response.len() as f64;
    within("response.mean", [least_s, most_s].map(|stall_s| stall_s * stall_s / (2.0 * WINDOW_S)), mean)?;
    within("response.p50", [0.0; 2], quantile(&control.response, 0.5))?;
    // Busy connections are not generator lag.
    let lag = quantile(&control.lag, 0.99);
    within("lag.p99", [0.0; 2], lag)?;
    let why = result["verdict"]["why"].to_string();
    if why.contains("the generator sent late") && lag < ABOVE.0 {
        return Err(format!("{why}, not the control, with a lag of {lag} s"));
    }
    // Service times omit the time before sending: the trap that this test is named for.
    within("service.p90", [0.0; 2], quantile(&control.service, 0.9))
}

#[test]
fn a_stall_of_a_second_shows_in_every_quantile_as_computed() {
    let _alone = alone();
    let run = judge("a stall shows in every quantile", || {
        let (output, stall, control) = stalled();
        check(&json(&output), stall, &control).map(|()| (output, stall))
    });
    let Some((output, (least_s, _))) = run else { return };
    let result = json(&output);
    // Every request that was due is counted; the edges of the window may add or take one.
    let due = RATE * WINDOW_S;
    let counted = number(&result, "requests.completed") + number(&result, "requests.unanswered");
    assert!((counted - due).abs() <= 0.01 * due, "{counted}");
    assert!((number(&result, "latency.response.count") - due).abs() <= 0.01 * due);
    assert_eq!(number(&result, "requests.failed"), 0.0);
    // During the stall, all but twenty requests found every connection busy.
    assert!(number(&result, "requests.waited") > 0.9 * RATE * least_s - 20.0, "{}", text(&output));
}
