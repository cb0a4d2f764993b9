//! Reads the directory of a load, or of a run, as it is being written.
//!
//! Files that are missing, truncated or half written are the usual state of such a directory.

use super::model::{Model, Silence};
use brunt_results::{Error, directory::Directory, lock::is_locked};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time without a new line that is worth a word.
const SILENCE: Duration = Duration::from_secs(3);
/// Time that a directory has to appear, and to hold files of a load.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two looks at the files.
const EVERY: Duration = Duration::from_millis(250);
/// Bytes read at a time, so that keys are answered while a long series is read.
const MOST_BYTES: u64 = 4 << 20;
/// Longest line with its end; a longer one is no second.
const LONGEST_LINE: usize = 64 << 10;

/// Identity and version of a file.
type Version = (u64, u64, i64, i64);

fn version(path: &Path) -> Option<Version> {
    let is = fs::metadata(path).ok()?;
    Some((is.ino(), is.len(), is.mtime(), is.mtime_nsec()))
}

/// New lines of a file that grows.
#[derive(Debug, Default)]
struct Tail {
    inode: u64,
    offset: u64,
    /// The begin of a line.
    half: Vec<u8>,
    /// Whether the file had more when it was read last, and gave what was asked for.
    is_behind: bool,
}

impl Tail {
    /// Calls `line` with each new line of the next [`MOST_BYTES`]. If the file has been replaced or has become shorter, its lines
    /// come from the start, and `begin` is called before these.
    fn read<T>(&mut self, path: &Path, target: &mut T, begin: fn(&mut T), line: fn(&mut T, &[u8])) -> io::Result<()> {
        self.is_behind = false;
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let is = file.metadata()?;
        if is.ino() != self.inode || is.len() < self.offset {
            *self = Self { inode: is.ino(), ..Self::default() };
            begin(target);
        }
        let from = file.seek(SeekFrom::Start(self.offset))?;
        let mut input = BufReader::with_capacity(LONGEST_LINE, file.take(MOST_BYTES));
        loop {
            let length = input.read_until(b'\n', &mut self.half)?;
            if length == 0 {
                self.is_behind = self.offset > from && self.offset < is.len();
                return Ok(());
            }
            self.offset += length as u64;
            let is_whole = self.half.ends_with(b"\n");
            if is_whole && self.half.len() <= LONGEST_LINE {
                line(target, &self.half);
            }
            match is_whole {
                true => self.half.clear(),
                // What follows makes it longer than a line can be.
                false => self.half.truncate(LONGEST_LINE),
            }
        }
    }
}

/// The load that is shown.
#[derive(Debug)]
pub struct Source {
    root: PathBuf,
    /// Of the load: `root`, or a trial of the run in it.
    directory: Directory,
    tail: Tail,
    start: Option<Version>,
    result: Option<Version>,
    agents: Option<Version>,
    model: Model,
    opened: Instant,
    /// Of the last line.
    heard: Instant,
}

impl Source {
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            directory: Directory::open(root),
            tail: Tail::default(),
            start: None,
            result: None,
            agents: None,
            model: Model::default(),
            opened: Instant::now(),
            heard: Instant::now(),
        }
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Shows that the load is asked to stop; returns whether that is new.
    pub(super) fn stop_asked(&mut self) -> bool {
        !std::mem::replace(&mut self.model.is_stopping, true)
    }

    /// Whether the directory is that of a load or a run.
    ///
    /// # Errors
    /// It is not, and has had time to become one.
    pub fn is_found(&self) -> Result<bool, Error> {
        let root = self.root.display();
        let wanted = "name the directory of brunt load --out, or of brunt run";
        let known = ["env.json", "load.json", "series.jsonl", "result.json", "experiment.json"];
        match fs::metadata(&self.root) {
            Ok(is) if !is.is_dir() => Err(Error::Usage(format!("{root} is a file: {wanted}"))),
            Ok(_) if known.iter().any(|name| self.root.join(name).exists()) => Ok(true),
            _ if self.opened.elapsed() < PATIENCE => Ok(false),
            Ok(_) => Err(Error::Usage(format!(
                "{root} holds no load: it has neither env.json nor experiment.json; {wanted}"
            ))),
            Err(error) => Err(Error::Usage(format!("{root}: {error}: {wanted}"))),
        }
    }

    /// Reads what is new; returns whether anything is.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn poll(&mut self) -> Result<bool, Error> {
        let mut is_new = self.follow_run();
        is_new |= self.read_start();
        let before = self.model.points.end_s();
        let read = self.tail.read(&self.place("series.jsonl"), &mut self.model, Model::clear, |model, line| {
            model.line(line);
        });
        read.map_err(|error| self.unreadable(&error))?;
        if self.model.points.end_s() != before {
            (self.heard, is_new) = (Instant::now(), true);
        }
        is_new |= self.read_agents();
        is_new |= self.read_result();
        let silence = self.silence();
        is_new |= silence != self.model.silence;
        self.model.silence = silence;
        Ok(is_new)
    }

    /// Time to wait before the next [`Source::poll`]: none while there is more to read than one call reads.
    pub fn pause(&self) -> Duration {
        if self.tail.is_behind { Duration::ZERO } else { EVERY }
    }

    /// Whether all is read, and no line will follow.
    pub fn is_over(&self) -> bool {
        if self.tail.is_behind {
            return false;
        }
        if self.is_run() {
            return self.heard.elapsed() > SILENCE && is_locked(&self.root.join("lock")) != Some(true);
        }
        self.model.is_ended() || self.is_dead()
    }

    /// Whether the load ended without a result.
    pub fn is_dead(&self) -> bool {
        self.model.silence.is_some_and(|silence| silence.is_running == Some(false))
    }

    fn place(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn is_run(&self) -> bool {
        self.root.join("experiment.json").exists()
    }

    fn unreadable(&self, error: &io::Error) -> Error {
        Error::Failed(format!("cannot read {}: {error}", self.place("series.jsonl").display()))
    }

    /// In the directory of a run, turns to the newest trial once the shown one has ended.
    fn follow_run(&mut self) -> bool {
        let is_shown = self.directory.path() != self.root && !self.model.is_ended() && self.model.silence.is_none();
        if is_shown || !self.is_run() {
            return false;
        }
        match newest_trial(&self.root.join("trials")) {
            Some((trial, name)) if trial != self.directory.path() => {
                self.directory = Directory::open(trial);
                (self.tail, self.start, self.result) = (Tail::default(), None, None);
                self.model = Model { name: Some(name), ..Model::default() };
                self.heard = Instant::now();
                true
            }
            _ => false,
        }
    }

    fn read_start(&mut self) -> bool {
        let version = version(&self.place("load.json"));
        if version == self.start {
            return false;
        }
        let Ok(start) = self.directory.read_start() else { return false };
        self.start = version;
        self.agents = None;
        self.model.begin(start);
        self.tail = Tail::default();
        self.heard = Instant::now();
        true
    }

    /// Those of a load that goes on.
    fn read_agents(&mut self) -> bool {
        let version = version(&self.place("agents.json"));
        if version == self.agents || version.is_none() {
            return false;
        }
        self.agents = version;
        self.model.agents = self.directory.read_agents().unwrap_or_default();
        true
    }

    fn read_result(&mut self) -> bool {
        let version = version(&self.place("result.json"));
        if version == self.result {
            return false;
        }
        match self.directory.read_result() {
            Ok(result) => self.model.end(result),
            // Removed by the next load into this directory.
            Err(_) => self.model.result = None,
        }
        self.result = version;
        true
    }

    fn silence(&self) -> Option<Silence> {
        let since = self.heard.elapsed();
        let is_running = || self.directory.is_written();
        // Opening many connections takes its time.
        let has_begun = self.model.last.is_some() || self.is_run() || is_running() == Some(false);
        let is_silent = since >= SILENCE && !self.model.is_ended() && has_begun;
        is_silent.then(|| Silence { seconds: since.as_secs(), is_running: is_running() })
    }
}

/// The trial that was changed last, and its name.
fn newest_trial(trials: &Path) -> Option<(PathBuf, String)> {
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let repeats = entries(trials).flat_map(|cell| entries(&cell).collect::<Vec<_>>());
    let changed = |path: PathBuf| Some((fs::metadata(&path).ok().filter(|is| is.is_dir())?.modified().ok()?, path));
    let (_, newest) = repeats.filter_map(changed).max()?;
    let name = newest.strip_prefix(trials).ok()?.display().to_string();
    Some((newest, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn line(at_s: f64, completed: u64) -> String {
        format!("{{\"at_s\": {at_s}, \"completed\": {completed}}}\n")
    }

    fn sum(source: &Source) -> (f64, u64) {
        let all = source.model.points.all();
        (source.model.points.end_s(), all.iter().filter_map(|point| point.completed).sum())
    }

    #[test]
    fn half_lines_wait_for_their_end_and_a_shorter_file_is_read_again() {
        let home = tempfile::tempdir().unwrap();
        let series = home.path().join("series.jsonl");
        let mut source = Source::new(home.path());
        assert!(!source.is_found().unwrap());
        assert!(!source.poll().unwrap());
        let (first, second) = (line(1.0, 5), line(2.0, 7));
        fs::write(&series, format!("{first}{}", &second[..9])).unwrap();
        assert!(source.is_found().unwrap() && source.poll().unwrap());
        assert_eq!(sum(&source), (1.0, 5));
        assert!(!source.poll().unwrap());
        let mut file = File::options().append(true).open(&series).unwrap();
        file.write_all(&second.as_bytes()[9..]).unwrap();
        assert!(source.poll().unwrap());
        assert_eq!(sum(&source), (2.0, 12));
        // Another load begins: the file is truncated, then written.
        fs::write(&series, line(1.0, 3)).unwrap();
        assert!(source.poll().unwrap());
        assert_eq!(sum(&source), (1.0, 3));
        fs::remove_file(&series).unwrap();
        assert!(!source.poll().unwrap());
        // No line ends for long, and a line follows.
        fs::write(&series, "x".repeat(3 * LONGEST_LINE) + "\n" + &line(1.0, 4)).unwrap();
        source.poll().unwrap();
        assert_eq!(sum(&source), (1.0, 4));
    }

    #[test]
    fn a_long_series_is_read_in_pieces() {
        let home = tempfile::tempdir().unwrap();
        let mut source = Source::new(home.path());
        // Blanks as long as the rest of a second.
        let lines: Vec<String> = (1..=9000).map(|at| format!("{:1000}{}", " ", line(f64::from(at), 1))).collect();
        fs::write(home.path().join("series.jsonl"), lines.concat()).unwrap();
        let mut polls = 0;
        while polls == 0 || source.pause().is_zero() {
            assert!(source.poll().unwrap());
            polls += 1;
        }
        assert_eq!((polls, sum(&source)), (3, (9000.0, 9000)));
        assert!(!source.poll().unwrap() && !source.pause().is_zero());
        // The whole course of a load that has long ended.
        let mut source = Source::new(home.path());
        Directory::open(home.path()).write_result(&brunt_results::RunResult::new("brunt")).unwrap();
        while !source.is_over() {
            source.poll().unwrap();
        }
        assert_eq!(sum(&source), (9000.0, 9000));
    }

    #[test]
    fn a_run_is_followed_from_trial_to_trial() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("experiment.json"), "{}").unwrap();
        let mut source = Source::new(home.path());
        assert!(source.is_found().unwrap() && !source.poll().unwrap());
        for (number, cell) in ["target=a", "target=b"].into_iter().enumerate() {
            let trial = home.path().join("trials").join(cell).join("1");
            fs::create_dir_all(&trial).unwrap();
            let later = std::time::SystemTime::now() + Duration::from_secs(number as u64);
            fs::write(trial.join("series.jsonl"), line(1.0, number as u64 + 1)).unwrap();
            File::open(&trial).unwrap().set_modified(later).unwrap();
            assert!(source.poll().unwrap());
            assert_eq!(source.model.name(), Some(format!("{cell}/1").as_str()));
            assert_eq!(sum(&source), (1.0, number as u64 + 1));
            Directory::open(&trial).write_result(&brunt_results::RunResult::new("wrk")).unwrap();
            assert!(source.poll().unwrap() && source.model.is_ended());
        }
    }
}
