//! `brunt stress`: a co-runner that works on one resource of the machine.

mod report;

use super::share;
use super::signals::{Repeated, SIGINT, SIGTERM, on_first};
use brunt_results::{Cores, Count, Error, ExitCode, Rate, Size, Span};
use brunt_stress::{Dose, Event, Options, Progress, Stop, StressError, Work, WorkingSet};
use brunt_stress::{cache, disk, fork, memory, network};
use brunt_view::status_line::StatusLine;
use clap::ValueEnum;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each prints the work it has done, in its own unit. A signal ends it early; the total is printed all \
                        the same.\n\nExit status: 0 good, 1 the machine or the sink failed, 2 wrong usage."
)]
pub struct Args {
    #[command(subcommand)]
    resource: Resource,
}

#[derive(Debug, clap::Subcommand)]
enum Resource {
    /// Arithmetic in registers, in operations
    Cpu(Common),
    /// Reads and writes within a working set, in accesses of one cache line
    Cache(Cache),
    /// Streams through arrays larger than the caches, in bytes as STREAM counts them
    Memory(Memory),
    /// TCP streams to another host or to this process, in bytes
    Network(Network),
    /// Writes to a file without a name, in bytes
    Disk(Disk),
    /// Processes that are started and waited for
    Fork(Fork),
}

/// Flags common to all resources.
#[derive(Debug, clap::Args)]
struct Common {
    /// Threads [default: 1, or one per core of --cores]
    #[arg(short, long, value_name = "N", help_heading = "Dose")]
    threads: Option<Count>,
    /// Cores to which the threads are pinned, in turn: 1 or 0,2-3 [default: not pinned]
    #[arg(long, value_name = "LIST", help_heading = "Dose")]
    cores: Option<Cores>,
    /// Time after which the co-runner ends [default: at SIGINT or SIGTERM]
    #[arg(short, long, value_name = "TIME", help_heading = "Dose")]
    duration: Option<Span>,
    /// Part of the time for which each thread works, in periods of 10 ms [default: 100%]
    #[arg(long, value_name = "P%", value_parser = part, conflicts_with = "rate", help_heading = "Dose")]
    share: Option<f64>,
    /// Most units per second over all threads, such as 200M
    #[arg(short = 'R', long, value_name = "RATE", help_heading = "Dose")]
    rate: Option<Rate>,
    /// Print ten lines a second on stdout: progress DONE UNIT SECONDS s
    #[arg(long, help_heading = "Result")]
    progress: bool,
    /// Print the total as JSON
    #[arg(long, conflicts_with = "progress", help_heading = "Result")]
    json: bool,
    /// Print nothing on stderr
    #[arg(short, long, help_heading = "Result")]
    quiet: bool,
}

#[derive(Debug, clap::Args)]
struct Cache {
    /// Working set over all threads: a size such as 16MiB, or a part or multiple of the last-level cache such as 1/4 or 1x
    #[arg(long, value_name = "SIZE", default_value = "1/2")]
    size: WorkingSet,
    /// Order of the accesses
    #[arg(long, value_enum, value_name = "ORDER", default_value = "random")]
    order: CacheOrder,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CacheOrder {
    /// Each address is read from the line before, along a random cycle
    Dependent,
    /// Independent random lines
    Random,
    /// One line after the other
    Sequential,
}

#[derive(Debug, clap::Args)]
struct Memory {
    /// Arrays of all threads: a size such as 512MiB, or a part or multiple of the last-level cache [default: 4x, at most a
    /// quarter of the memory]
    #[arg(long, value_name = "SIZE")]
    size: Option<WorkingSet>,
    /// Kernel of STREAM
    #[arg(long, value_enum, value_name = "KERNEL", default_value = "triad")]
    kernel: MemoryKernel,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MemoryKernel {
    /// a = b: 16 bytes an element
    Copy,
    /// a = b + q c: 24 bytes an element
    Triad,
}

#[derive(Debug, clap::Args)]
struct Network {
    /// Host and port of a server that discards what it receives [default: a sink in this process, over loopback]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "listen")]
    connect: Option<String>,
    /// Be the sink: receive on this host and port. Port 0 picks a free port
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["size", "share", "rate"])]
    listen: Option<String>,
    /// Bytes of one write; sent at once, without waiting for more (TCP_NODELAY)
    #[arg(long, value_name = "SIZE", default_value = "128KiB")]
    size: Size,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
struct Disk {
    /// Directory on the disk to be written to
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Size of the files of all threads; they are written again and again
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    size: Size,
    /// Bytes of one write
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    block: Size,
    /// When a block counts as written
    #[arg(long, value_enum, value_name = "MODE", default_value = "fsync")]
    write: WriteMode,
    /// Order of the blocks
    #[arg(long, value_enum, value_name = "ORDER", default_value = "sequential")]
    order: DiskOrder,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WriteMode {
    /// After fdatasync
    Fsync,
    /// On the device, past the page cache (O_DIRECT)
    Direct,
    /// In the page cache
    Buffered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DiskOrder {
    Sequential,
    Random,
}

#[derive(Debug, clap::Args)]
struct Fork {
    /// Processes that a thread starts before it waits for all of them
    #[arg(long, value_name = "N", default_value = "1")]
    burst: Count,
    #[command(flatten)]
    common: Common,
}

/// The value of --share.
fn part(text: &str) -> Result<f64, String> {
    share(text, |percent| (0.1..=100.0).contains(&percent), "from 0.1% to 100%")
}

impl Args {
    pub fn run(self) -> Result<ExitCode, Error> {
        let (work, common) = match self.resource {
            Resource::Cpu(common) => (Work::Cpu, common),
            Resource::Cache(cache) => (cache.work(), cache.common),
            Resource::Memory(memory) => (memory.work(), memory.common),
            Resource::Network(network) => network.work(),
            Resource::Disk(disk) => disk.work(),
            Resource::Fork(fork) => (Work::Fork(fork::Options { burst: fork.burst.0 }), fork.common),
        };
        common.run(work)
    }
}

impl Cache {
    fn work(&self) -> Work {
        let order = match self.order {
            CacheOrder::Dependent => cache::Order::Dependent,
            CacheOrder::Random => cache::Order::Random,
            CacheOrder::Sequential => cache::Order::Sequential,
        };
        Work::Cache(cache::Options { size: self.size, order })
    }
}

impl Memory {
    fn work(&self) -> Work {
        let kernel = match self.kernel {
            MemoryKernel::Copy => memory::Kernel::Copy,
            MemoryKernel::Triad => memory::Kernel::Triad,
        };
        Work::Memory(memory::Options { size: self.size, kernel })
    }
}

impl Network {
    fn work(self) -> (Work, Common) {
        let peer = match (self.connect, self.listen) {
            (Some(address), _) => network::Peer::Connect(address),
            (None, Some(address)) => network::Peer::Listen(address),
            (None, None) => network::Peer::Own,
        };
        (Work::Network(network::Options { peer, write: self.size.0 }), self.common)
    }
}

impl Disk {
    fn work(self) -> (Work, Common) {
        let mode = match self.write {
            WriteMode::Fsync => disk::WriteMode::Fsync,
            WriteMode::Direct => disk::WriteMode::Direct,
            WriteMode::Buffered => disk::WriteMode::Buffered,
        };
        let order = match self.order {
            DiskOrder::Sequential => disk::Order::Sequential,
            DiskOrder::Random => disk::Order::Random,
        };
        let options = disk::Options { dir: self.dir, size: self.size.0, block: self.block.0, mode, order };
        (Work::Disk(options), self.common)
    }
}

impl Common {
    fn run(self, work: Work) -> Result<ExitCode, Error> {
        let dose = match (self.share, self.rate) {
            (Some(share), _) if share < 1.0 => Dose::Share(share),
            (_, Some(rate)) => Dose::Rate(rate.0),
            _ => Dose::Full,
        };
        let options = Options {
            work,
            threads: self.threads.map(|threads| threads.0),
            cores: self.cores,
            duration: self.duration.map(|duration| duration.0),
            dose,
        };
        let stop = Stop::new();
        let stopped = stop.clone();
        on_first(&[SIGINT, SIGTERM], Repeated::Kill, move || stopped.stop())?;

        let line = StatusLine::new(self.quiet);
        let (mut last, mut broken) = (None, None);
        let total = brunt_stress::run(&options, &stop, &mut |event| match event {
            Event::Begins { notice } => {
                if let Some(notice) = notice {
                    line.print(&format!("brunt stress: {notice}"));
                }
            }
            Event::Progress(now) => {
                if last.is_none_or(|last: Progress| now.elapsed - last.elapsed >= Duration::from_secs(1)) {
                    line.set(report::line(last.replace(now).as_ref(), &now));
                }
                if self.progress && broken.is_none() {
                    broken = report::progress(now.done, now.unit, now.elapsed.as_secs_f64()).err();
                }
            }
        });
        line.clear();
        let total = total.map_err(|error| match error {
            StressError::Usage(text) => Error::Usage(text),
            StressError::Failed(text) => Error::Failed(text),
        })?;
        if let Some(error) = broken {
            return Err(error.into());
        }
        if self.progress {
            report::progress(total.done, total.unit, total.elapsed_s)?;
        }
        super::stdout::print_as(self.json, &total, report::text)?;
        Ok(ExitCode::Good)
    }
}
