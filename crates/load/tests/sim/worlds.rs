//! Worlds for loads, and the run of a load in one.

use brunt_load::{Direct, LoadError, Observer, Options, Report, Silent, Target, run_in_world};
use brunt_results::{latency::new_histogram, series::Second};
use brunt_runtime::Builder;
use brunt_runtime::net::Address;
use brunt_runtime::sim::{Costs, Settings, World};
use brunt_spec::Spread;
use hdrhistogram::Histogram;
use std::net::SocketAddr;
use std::time::Duration;

pub const US: Duration = Duration::from_micros(1);
pub const MS: Duration = Duration::from_millis(1);
pub const SECOND: Duration = Duration::from_secs(1);
/// From sending a request until its reply, in the world of [`exact`]: two ways of 10 us, and a turn at each end, which sends when
/// it is over.
pub const WAY: Duration = Duration::from_micros(22);
/// Lag of a request of an open loop there: it is assigned to a connection in one turn and sent in the next.
pub const LAG: Duration = US;
/// Requests of a thread after which the dispatcher has learnt that sleeps are exact: it then wakes up two turns before a request
/// is due. Before, it wakes up between whole microseconds.
pub const LEARNING: u32 = 2000;
/// Bytes of a message.
pub const SIZE: usize = 64;

pub fn address() -> SocketAddr {
    ([127, 0, 0, 1], 7000).into()
}

/// Targets listen on an address of each family.
pub fn addresses() -> [Address; 2] {
    [address().into(), Address::Unix("\0brunt-load".into())]
}

/// A world in which a turn of a worker takes a microsecond, a link ten, and nothing else takes time: all that happens is at whole
/// microseconds.
pub fn exact(seed: u64) -> World {
    let turn = Costs {
        turn: US,
        request: Duration::ZERO,
        completion: Duration::ZERO,
        poll: Duration::ZERO,
        clock: Duration::ZERO,
        wake: Duration::ZERO,
        spread: 0.0,
    };
    World::with_settings(seed, Settings { costs: turn, ..Settings::default() })
}

/// An open loop of one second of that rate after its dispatchers have learnt.
pub fn open(rate: f64, connections: usize, threads: usize) -> Options {
    let warmup = Duration::from_secs_f64(f64::from(LEARNING) * threads as f64 / rate);
    Options { rate: Some(rate), connections, threads: vec![None; threads], warmup, ..options() }
}

/// A closed loop of one second over one connection.
pub fn options() -> Options {
    let target = Target::Echo { address: address().into(), size: SIZE, reuse: None };
    Options { seed: 7, ..Options::new(format!("tcp://{}", address()), target) }
}

/// Connections of an open loop take requests in turn.
pub fn turns() -> Direct {
    Direct { spread: Some(Spread::Turns), ..Direct::default() }
}

/// The same load of an echo on another address.
pub fn on(address: Address, options: Options) -> Options {
    let Target::Echo { size, reuse, .. } = options.target else { unreachable!("a load of an echo") };
    Options { url: format!("tcp://{address}"), target: Target::Echo { address, size, reuse }, ..options }
}

/// Runs `work` beside a target, which is a worker of its own.
pub fn beside<T>(world: &World, target: impl Future<Output = ()> + 'static, work: impl Future<Output = T>) -> T {
    world.spawn_worker(&Builder::default(), target).unwrap();
    world.run(work).unwrap()
}

/// What a run reports, and the response times that its observer was told.
pub struct Run {
    pub report: Report,
    /// Of the window's seconds.
    pub responses: Histogram<u64>,
}

struct Responses(Histogram<u64>);

impl Observer for Responses {
    fn recorded(&mut self, second: &Second, response: &Histogram<u64>) {
        if !second.warmup {
            self.0.add(response).unwrap();
        }
    }
}

/// Runs a load against `target`, which is a worker of its own.
pub fn run(world: &World, options: &Options, target: impl Future<Output = ()> + 'static) -> Run {
    let mut responses = Responses(new_histogram());
    let report = beside(world, target, run_in_world(options, &mut responses)).unwrap_or_else(|error| panic!("{error}"));
    adds_up(options, &report);
    Run { report, responses: responses.0 }
}

/// What holds in every result.
fn adds_up(options: &Options, report: &Report) {
    let (result, window) = (&report.result, report.seconds.iter().filter(|second| !second.warmup));
    let [completed, failed] =
        window.fold([0, 0], |[completed, failed], second| [completed + second.completed, failed + second.failed]);
    assert_eq!(completed, result.requests.completed, "the series adds up");
    // Without those of the warm-up, and with those that are lost after the window.
    assert!(!options.warmup.is_zero() || failed <= result.requests.failed, "the series adds up");
    let measured_s = result.load.measured_s;
    assert_eq!(result.requests.rate, if measured_s > 0.0 { completed as f64 / measured_s } else { 0.0 });
    assert_eq!((report.saturated, result.generator.thread_cpu_percent.len()), (0, options.threads.len()));
    assert!(measured_s <= options.duration.as_secs_f64());
}

/// Why a load against `target` has no result.
pub fn fails(world: &World, options: &Options, target: impl Future<Output = ()> + 'static) -> LoadError {
    let outcome = beside(world, target, run_in_world(options, &mut Silent));
    outcome.map(|report| panic!("{:?}", report.result)).unwrap_err()
}

/// The histogram of these times.
pub fn histogram(times: impl IntoIterator<Item = Duration>) -> Histogram<u64> {
    let mut histogram = new_histogram();
    times.into_iter().for_each(|time| histogram.record(time.as_nanos() as u64).unwrap());
    histogram
}

/// The histogram of one time, as often.
pub fn times(count: u64, time: Duration) -> Histogram<u64> {
    let mut histogram = new_histogram();
    histogram.record_n(time.as_nanos() as u64, count).unwrap();
    histogram
}

/// The values of a histogram with their counts, in words: what two differ in is seen at once.
pub fn values(histogram: &Histogram<u64>) -> Vec<(Duration, u64)> {
    let values = histogram.iter_recorded();
    values.map(|value| (Duration::from_nanos(value.value_iterated_to()), value.count_at_value())).collect()
}
