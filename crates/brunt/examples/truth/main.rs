//! Tests comparisons against the truth: `truth [--runs N] [--noise KINDS] [--order slices|trials] [--rows FILE] [--brunt PATH]
//! [-- RUN FLAGS]`.
//!
//! Runs experiments with two targets that are echo servers with a counted amount of work (`work_server`), within noise made on
//! purpose (`noise`): N with twins and N with servers of which one costs about 3 % more, for each kind of noise. The order of
//! the two targets alternates. Then it counts how often `brunt compare` was right, and how often its interval held the truth,
//! which four runs without noise find first: there one server has twice the work.
//!
//! Each run takes at most 35 s and adds a line to the rows' file. The same command, after Ctrl-C too, goes on after the runs that
//! the file has; with `--runs 0` it prints their table.
//!
//! ```text
//! cargo build --release -p brunt --bins --examples
//! target/release/examples/truth --runs 60 --noise none,freeze,busy,quota,cache
//! ```

mod answers;

use answers::{Answer, MARGIN, Pair, Row, STEPS, answers, table};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, fs, process};

/// Runs with twice the work.
const DOUBLES: u32 = 4;
/// Time of a run in seconds, after which it counts as failed.
const LIMIT: u32 = 35;
/// Settings of an experiment that takes less: by slices launching and warming up come on top of the budget, up to as much again.
const SLICES: &str = "budget = '16s'";
const TRIALS: &str = "repeats = 16";
const USAGE: &str = "usage: truth [--runs N] [--noise none,freeze,busy,quota,cache,all] [--order slices|trials] [--rows FILE] \
    [--brunt PATH] [-- RUN FLAGS]";

struct Arguments {
    runs: u32,
    noise: Vec<String>,
    order: String,
    rows: PathBuf,
    brunt: PathBuf,
    flags: Vec<String>,
}

impl Arguments {
    fn parse(mut args: impl Iterator<Item = String>, examples: &Path) -> Result<Self, String> {
        let (noise, order) = (vec!["none".to_owned()], "slices".to_owned());
        let (rows, brunt) = ("truth.jsonl".into(), examples.join("../brunt"));
        let mut own = Self { runs: 4, noise, order, rows, brunt, flags: Vec::new() };
        while let Some(flag) = args.next() {
            if flag == "--" {
                own.flags = args.collect();
                break;
            }
            let value = args.next().ok_or(USAGE)?;
            match flag.as_str() {
                "--runs" => own.runs = value.parse().map_err(|_| format!("--runs '{value}' is not a whole number"))?,
                "--noise" => own.noise = value.split(',').map(str::to_owned).collect(),
                "--order" if ["slices", "trials"].contains(&value.as_str()) => own.order = value,
                "--order" => return Err(format!("--order '{value}' is neither slices nor trials")),
                "--rows" => own.rows = value.into(),
                "--brunt" => own.brunt = value.into(),
                _ => return Err(format!("'{flag}' is unknown; {USAGE}")),
            }
        }
        Ok(own)
    }

    /// What all rows of a file have in common.
    fn settings(&self) -> String {
        [std::slice::from_ref(&self.order), &self.flags[..]].concat().join(" ")
    }
}

fn main() {
    if let Err(message) = run() {
        eprintln!("error: {message}");
        process::exit(2);
    }
}

fn run() -> Result<(), String> {
    let program = env::current_exe().map_err(|e| format!("the path of this program: {e}"))?;
    let examples = program.parent().unwrap_or(Path::new("."));
    let arguments = Arguments::parse(env::args().skip(1), examples)?;
    for built in [arguments.brunt.clone(), examples.join("noise"), examples.join("work_server")] {
        if !built.exists() {
            return Err(format!(
                "{} does not exist; cargo build --release -p brunt --bins --examples",
                built.display()
            ));
        }
    }
    let mut rows = read(&arguments)?;
    for (noise, servers, number) in experiments(&arguments) {
        let is_it = |row: &Row| (&row.noise, row.servers, row.number) == (&noise, servers, number);
        if !rows.iter().any(is_it) {
            let row = experiment(&arguments, examples, &noise, servers, number)?;
            append(&arguments.rows, &row)?;
            eprintln!("{}", row.words());
            rows.push(row);
        }
    }
    print!("{}", table(&rows)?);
    let longest = rows.iter().map(|row| row.seconds).fold(0.0, f64::max);
    println!("\nRuns by {}: {}, the longest {longest:.1} s", arguments.settings(), rows.len());
    Ok(())
}

/// The experiments in order: first what finds the truth, then run by run, so that all kinds see the machine's hours alike and a
/// table of fewer runs has some of each.
fn experiments(arguments: &Arguments) -> Vec<(String, Pair, u32)> {
    let doubles = (0..DOUBLES.min(arguments.runs)).map(|number| ("none".to_owned(), Pair::Double, number));
    let kinds =
        |number| arguments.noise.iter().flat_map(move |noise| Pair::TESTED.map(|pair| (noise.clone(), pair, number)));
    doubles.chain((0..arguments.runs).flat_map(kinds)).collect()
}

/// The rows of runs made before, if any.
fn read(arguments: &Arguments) -> Result<Vec<Row>, String> {
    let path = arguments.rows.display();
    let text = match fs::read_to_string(&arguments.rows) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(|e| format!("{path}: {e}"))?,
    };
    let row = |(index, line): (usize, &str)| {
        let row: Row = serde_json::from_str(line)
            .map_err(|e| format!("{path}: line {} is not a run ({e}); remove the line", index + 1))?;
        let (own, asked) = (&row.settings, arguments.settings());
        match *own == asked {
            true => Ok(row),
            false => Err(format!("{path} has runs by '{own}', not by '{asked}'; name another file with --rows")),
        }
    };
    text.lines().enumerate().map(row).collect()
}

fn append(path: &Path, row: &Row) -> Result<(), String> {
    let line = serde_json::to_string(row).expect("a row holds only numbers and text");
    let file = fs::File::options().create(true).append(true).open(path);
    file.and_then(|mut file| writeln!(file, "{line}")).map_err(|e| format!("{}: {e}", path.display()))
}

/// Runs one experiment in noise.
fn experiment(arguments: &Arguments, examples: &Path, noise: &str, servers: Pair, number: u32) -> Result<Row, String> {
    let home = arguments.rows.with_extension("files");
    let begun = Instant::now();
    let (settings, noise) = (arguments.settings(), noise.to_owned());
    let ran = compared(arguments, examples, &home, &noise, servers, number);
    let seconds = begun.elapsed().as_secs_f64();
    let (answers, failed) = match ran {
        Ok(answers) => (answers, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    // A failed run leaves its files until the next.
    if failed.is_none() {
        fs::remove_dir_all(&home).map_err(|e| format!("{}: {e}", home.display()))?;
    }
    Ok(Row { noise, servers, number, settings, seconds, failed, answers })
}

/// What `brunt compare` says about the targets of an experiment.
fn compared(
    arguments: &Arguments,
    examples: &Path,
    home: &Path,
    noise: &str,
    servers: Pair,
    number: u32,
) -> Result<Vec<Answer>, String> {
    let (plan, out) = (home.join("plan.toml"), home.join("out"));
    let written = fs::create_dir_all(home)
        .and_then(|()| fs::write(&plan, plan_text(&arguments.order, examples, counts(servers, number))));
    written.map_err(|e| format!("{}: {e}", plan.display()))?;
    let mut run = Command::new(examples.join("noise"));
    // Another sequence of noise and another order of slices in each run.
    let seed = (number + 1).to_string();
    run.args([noise, "--seed", &seed, "--limit", &LIMIT.to_string(), "--"]);
    run.arg(&arguments.brunt).arg("run").arg(&plan).arg("--out").arg(&out);
    run.args(["--fresh", "--quiet", "--seed", &seed]).args(&arguments.flags);
    // 3: the absolute figures are not to be trusted, which is what noise does.
    finished(run.env("BRUNT_STATE_DIR", home.join("state")), &[0, 3])?;
    let mut compare = Command::new(&arguments.brunt);
    let margin = format!("{}%", MARGIN * 100.0);
    compare.arg("compare").arg(&out).args(["--targets", "first,other", "--json", "--allow-untrusted"]);
    answers(&finished(compare.args(["--margin", &margin]), &[0])?)
}

/// The standard output of a command that ends with one of these statuses.
fn finished(command: &mut Command, good: &[i32]) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{name}: {e}"))?;
    match output.status.code() {
        Some(code) if good.contains(&code) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Some(124) => Err(format!("{name}: took more than {LIMIT} s")),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{name}: {}: {}", output.status, said.trim().lines().last().unwrap_or_default()))
        }
    }
}

/// Steps of the two targets.
fn counts(servers: Pair, number: u32) -> [u32; 2] {
    let counts = [STEPS, servers.steps()];
    if Row::is_swapped(number) { [counts[1], counts[0]] } else { counts }
}

fn plan_text(order: &str, examples: &Path, counts: [u32; 2]) -> String {
    let server = examples.join("work_server");
    let settings = if order == "trials" { TRIALS } else { SLICES };
    let mut text = format!(
        "name = 'truth'\norder = '{order}'\nmargin = '{}%'\n{settings}\n[load]\nconnections = 8\nduration = '300ms'\nwarmup = '100ms'\n",
        MARGIN * 100.0
    );
    for (name, count) in ["first", "other"].iter().zip(counts) {
        // A JSON string is a TOML string.
        let server = serde_json::Value::from(server.to_string_lossy());
        text += &format!("[[target]]\nname = '{name}'\ncommand = [{server}, '{{listen}}', '{count:08}']\n");
    }
    text
}
