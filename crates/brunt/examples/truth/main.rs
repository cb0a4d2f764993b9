//! Tests comparisons against the truth: `truth [--runs N] [--noise KINDS] [--order slices|trials] [--brunt PATH] [-- RUN FLAGS]`.
//!
//! Runs experiments with two targets that are echo servers with a counted amount of work (`work_server`), within noise made on
//! purpose (`noise`): N with twins and N with servers of which one costs 3 % more, for each kind of noise. The order of the two
//! targets alternates. Then it counts how often `brunt compare` was right, and how often its interval held the truth.
//!
//! ```text
//! cargo build --release -p brunt --bins --examples
//! target/release/examples/truth --runs 60 --noise none,freeze,busy,quota,cache
//! ```

mod answers;

use answers::{Answers, Pair};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, process};

/// Steps of work for a message, 100 us. The rest of a message costs 5 to 14 us, more where the server wakes up for each, and is
/// taken as 8 % of the whole.
const STEPS: u32 = 80_000;
/// More steps by 3 % of a message's cost.
const MORE_STEPS: u32 = 82_600;
/// The true ratio of costs, and of rates inversely, of the slower server to the other.
const SLOWER: f64 = 1.03;
/// Smaller differences do not matter.
const MARGIN: &str = "2%";
const USAGE: &str = "usage: truth [--runs N] [--noise none,freeze,busy,quota,cache,all] [--order slices|trials] \
    [--brunt PATH] [-- RUN FLAGS]";

struct Arguments {
    runs: u32,
    noise: Vec<String>,
    order: String,
    brunt: PathBuf,
    flags: Vec<String>,
}

impl Arguments {
    fn parse(mut args: impl Iterator<Item = String>, examples: &Path) -> Result<Self, String> {
        let (noise, order) = (vec!["none".to_owned()], "trials".to_owned());
        let mut own = Self { runs: 4, noise, order, brunt: examples.join("../brunt"), flags: Vec::new() };
        while let Some(flag) = args.next() {
            if flag == "--" {
                own.flags = args.collect();
                break;
            }
            let value = args.next().ok_or(USAGE)?;
            match flag.as_str() {
                "--runs" => own.runs = value.parse().map_err(|_| format!("--runs '{value}' is not a whole number"))?,
                "--noise" => own.noise = value.split(',').map(str::to_owned).collect(),
                "--order" => own.order = value,
                "--brunt" => own.brunt = value.into(),
                _ => return Err(format!("'{flag}' is unknown; {USAGE}")),
            }
        }
        Ok(own)
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
    let home = env::temp_dir().join(format!("brunt-truth-{}", process::id()));
    println!("{}", Answers::HEADER);
    for noise in &arguments.noise {
        for pair in [Pair::Twins, Pair::Slower(SLOWER)] {
            let mut answers = Answers::default();
            for number in 0..arguments.runs {
                let swapped = number % 2 == 1;
                match experiment(&arguments, examples, &home, noise, number, counts(pair, swapped)) {
                    Ok(json) => answers.add(&json, pair, swapped)?,
                    Err(message) => {
                        eprintln!("{noise}, run {number}: {message}");
                        answers.failed();
                    }
                }
            }
            answers.print(noise, pair);
        }
    }
    fs::remove_dir_all(&home).map_err(|e| format!("{}: {e}", home.display()))
}

fn counts(pair: Pair, swapped: bool) -> [u32; 2] {
    match (pair, swapped) {
        (Pair::Twins, _) => [STEPS, STEPS],
        (Pair::Slower(_), false) => [STEPS, MORE_STEPS],
        (Pair::Slower(_), true) => [MORE_STEPS, STEPS],
    }
}

/// Runs one experiment in noise; the comparison of its targets as JSON.
fn experiment(
    arguments: &Arguments,
    examples: &Path,
    home: &Path,
    noise: &str,
    number: u32,
    counts: [u32; 2],
) -> Result<String, String> {
    let failed = |what: &str, e: &dyn std::fmt::Display| format!("{what}: {e}; its files are in {}", home.display());
    let (plan, out) = (home.join("plan.toml"), home.join("out"));
    fs::create_dir_all(home)
        .and_then(|()| fs::write(&plan, plan_text(arguments, examples, counts)))
        .map_err(|e| failed("the plan", &e))?;
    let mut run = Command::new(examples.join("noise"));
    // Another sequence of noise and another order of slices in each run.
    run.args([noise, "--seed", &number.to_string(), "--"])
        .arg(&arguments.brunt)
        .arg("run")
        .arg(&plan)
        .arg("--out")
        .arg(&out);
    run.args(["--fresh", "--quiet", "--seed", &number.to_string()]).args(&arguments.flags);
    let ran = run.env("BRUNT_STATE_DIR", home.join("state")).stdin(Stdio::null()).output();
    let ran = ran.map_err(|e| failed("noise", &e))?;
    // 3: the absolute figures are not to be trusted, which is what noise does.
    if !matches!(ran.status.code(), Some(0 | 3)) {
        return Err(failed("brunt run", &String::from_utf8_lossy(&ran.stderr).trim()));
    }
    let mut compare = Command::new(&arguments.brunt);
    compare.arg("compare").arg(&out).args([
        "--targets",
        "first,other",
        "--json",
        "--allow-untrusted",
        "--margin",
        MARGIN,
    ]);
    let compared = compare.output().map_err(|e| failed("brunt compare", &e))?;
    if !compared.status.success() {
        return Err(failed("brunt compare", &String::from_utf8_lossy(&compared.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&compared.stdout).into_owned())
}

fn plan_text(arguments: &Arguments, examples: &Path, counts: [u32; 2]) -> String {
    let server = examples.join("work_server");
    let settings = match arguments.order.as_str() {
        "trials" => "repeats = 16\nretries = 0".to_owned(),
        _ => format!("margin = '{MARGIN}'\nbudget = '30s'"),
    };
    let mut text = format!(
        "name = 'truth'\norder = '{}'\n{settings}\n[load]\nconnections = 8\nduration = '300ms'\nwarmup = '100ms'\n",
        arguments.order
    );
    for (name, count) in ["first", "other"].iter().zip(counts) {
        // A JSON string is a TOML string.
        let server = serde_json::Value::from(server.to_string_lossy());
        text += &format!("[[target]]\nname = '{name}'\ncommand = [{server}, '{{listen}}', '{count:08}']\n");
    }
    text
}
