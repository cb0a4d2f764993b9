//! The verdict on a result: may its numbers be called a property of the server?
//!
//! Each doubt is a type that carries its evidence and knows a remedy, so no report can print a warning without a reason.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One reason not to believe a result, with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub enum ValidityIssue {
    /// Requests failed.
    Errors {
        /// Failed requests and failed connections.
        failed: u64,
        /// Completed requests.
        completed: u64,
        /// The kinds, as `3 timeout, 1 reset`.
        kinds: String,
    },
    /// The generator, not the server, set the figures.
    ClientLimited(ClientLimit),
    /// The schedule's rate was not reached.
    RateMissed {
        /// Requests per second asked for.
        offered: f64,
        /// Requests per second answered.
        achieved: f64,
        /// Share of requests that found every connection busy, 0 to 1.
        waited: f64,
    },
    /// The figures drift over the window.
    NotStationary {
        /// What drifts and by how much.
        evidence: String,
    },
    /// Too few values for the highest quantile shown.
    TooFewSamples {
        /// Values recorded.
        count: u64,
        /// Values needed.
        needed: u64,
        /// The quantile they are needed for, as `p99`.
        quantile: &'static str,
    },
    /// Something outside the run took the processor.
    Disturbed(Disturbance),
}

/// How the generator showed that it was the limit.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientLimit {
    /// It sent late by itself.
    Lag {
        /// 99th percentile of lag, microseconds.
        lag_p99_us: f64,
        /// 99th percentile of response time, microseconds.
        response_p99_us: f64,
    },
    /// Its threads were full while no thread of the server was.
    Cpu {
        /// CPU of its fullest thread, waiting excluded; 100 is one core full.
        generator_percent: f64,
        /// CPU of the server's fullest thread, where known.
        server_percent: Option<f64>,
    },
    /// It is not much faster on a target that does nothing.
    Ceiling {
        /// Requests per second answered.
        rate: f64,
        /// Requests per second that a target which does nothing answers.
        ceiling: f64,
    },
}

/// Who took the processor.
#[derive(Debug, Clone, PartialEq)]
pub enum Disturbance {
    /// The hypervisor.
    Steal {
        /// Share of CPU time it took over the window, in percent.
        percent: f64,
    },
    /// Other processes on the same cores.
    RunQueue {
        /// `generator` or `server`.
        whose: &'static str,
        /// How long a thread of it waited for its core, in percent of the window.
        percent: f64,
    },
    /// Whoever shares the processor unseen: the machine was slow for a while.
    SlowMachine {
        /// How fast a fixed piece of work went before or after, in percent of the fastest time of the experiment.
        percent: f64,
    },
}

impl ValidityIssue {
    /// The word that stands for this doubt in results and tables.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Errors { .. } => Kind::Errors,
            Self::ClientLimited(_) => Kind::ClientLimited,
            Self::RateMissed { .. } => Kind::RateMissed,
            Self::NotStationary { .. } => Kind::NotStationary,
            Self::TooFewSamples { .. } => Kind::TooFewSamples,
            Self::Disturbed(_) => Kind::Disturbed,
        }
    }

    /// The evidence in one sentence.
    pub fn evidence(&self) -> String {
        match self {
            Self::Errors { failed, completed, kinds } => {
                let total = failed + completed;
                format!("{failed} of {total} requests failed ({kinds})")
            }
            Self::ClientLimited(ClientLimit::Lag { lag_p99_us, response_p99_us }) => {
                format!("the generator sent late: lag p99 {lag_p99_us:.0} us, response p99 {response_p99_us:.0} us")
            }
            Self::ClientLimited(ClientLimit::Cpu { generator_percent, server_percent: Some(server) }) => {
                format!(
                    "a generator thread used {generator_percent:.0} % of its core while the server's busiest thread used {server:.0} %"
                )
            }
            Self::ClientLimited(ClientLimit::Cpu { generator_percent, server_percent: None }) => {
                format!(
                    "a generator thread used {generator_percent:.0} % of its core and the server could not be metered"
                )
            }
            Self::ClientLimited(ClientLimit::Ceiling { rate, ceiling }) => format!(
                "the generator reached {:.0} % of its own ceiling on this machine, {ceiling:.0} requests/s from a target that does nothing",
                rate / ceiling * 100.0
            ),
            Self::RateMissed { offered, achieved, waited } => format!(
                "{achieved:.0} requests/s were answered of {offered:.0} offered; {:.1} % found every connection busy",
                waited * 100.0
            ),
            Self::NotStationary { evidence } => evidence.clone(),
            Self::TooFewSamples { count, needed, quantile } => {
                format!("{quantile} needs {needed} requests, {count} were recorded")
            }
            Self::Disturbed(Disturbance::Steal { percent }) => {
                format!("the hypervisor took {percent:.1} % of the CPU time")
            }
            Self::Disturbed(Disturbance::RunQueue { whose, percent }) => {
                format!("a thread of the {whose} waited {percent:.0} % of the time for its core while others had it")
            }
            Self::Disturbed(Disturbance::SlowMachine { percent }) => {
                format!(
                    "just before or after, the machine was at {percent:.0} % of the pace it has shown in this experiment"
                )
            }
        }
    }

    /// What to do about it, in one sentence.
    pub fn remedy(&self) -> String {
        match self {
            Self::Errors { .. } => {
                "look at the target's log; with a timeout, lower the rate or raise --timeout".to_owned()
            }
            Self::ClientLimited(ClientLimit::Lag { .. }) => {
                "give the generator a core of its own (--cores), more threads (-t), or a lower rate".to_owned()
            }
            Self::ClientLimited(ClientLimit::Ceiling { .. }) => {
                "what is left is the generator and the kernel: more of both at a time (-c), or more cores for them (-t, --cores)"
                    .to_owned()
            }
            Self::ClientLimited(ClientLimit::Cpu { .. }) => {
                "give the generator more cores (-t, --cores) or the server fewer; --no-verify lightens each request"
                    .to_owned()
            }
            Self::RateMissed { waited, .. } if *waited > 0.01 => {
                "the target is the limit at this rate: lower -R, or raise -c if the target can serve more at a time"
                    .to_owned()
            }
            Self::RateMissed { .. } => "lower -R, or lengthen the run so that start and end weigh less".to_owned(),
            Self::NotStationary { .. } => "lengthen --warmup and -d until the figures settle".to_owned(),
            Self::TooFewSamples { .. } => "lengthen the run (-d) or raise the rate".to_owned(),
            Self::Disturbed(Disturbance::Steal { .. }) => "repeat the run on a quieter machine".to_owned(),
            Self::Disturbed(Disturbance::SlowMachine { .. }) => {
                "more repeats, or --again to run disturbed trials anew; a machine of its own has no slow spells"
                    .to_owned()
            }
            Self::Disturbed(Disturbance::RunQueue { .. }) => {
                "end what else runs on these cores, or give generator and server cores of their own (--cores)"
                    .to_owned()
            }
        }
    }
}

/// The words a verdict can be, from best to worst; the worst doubt names the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// No doubt was found.
    Ok,
    /// Too few values for the quantiles shown.
    TooFewSamples,
    /// Something else took the processor.
    Disturbed,
    /// The figures drift.
    NotStationary,
    /// The offered rate was not reached.
    RateMissed,
    /// The generator set the figures.
    ClientLimited,
    /// Requests failed.
    Errors,
}

impl Kind {
    /// The word as it stands in results, tables and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::TooFewSamples => "too-few-samples",
            Self::Disturbed => "disturbed",
            Self::NotStationary => "not-stationary",
            Self::RateMissed => "rate-missed",
            Self::ClientLimited => "client-limited",
            Self::Errors => "errors",
        }
    }
}

/// All doubts of one result, worst first, as they are written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The worst doubt, or `ok`.
    pub kind: Kind,
    /// The evidence, one sentence a doubt.
    pub why: Vec<String>,
    /// What to do, one sentence a doubt.
    pub remedy: Vec<String>,
}

impl Verdict {
    /// The verdict that these doubts amount to.
    pub fn of(mut doubts: Vec<ValidityIssue>) -> Self {
        doubts.sort_by_key(|doubt| std::cmp::Reverse(doubt.kind()));
        Self {
            kind: doubts.first().map_or(Kind::Ok, ValidityIssue::kind),
            why: doubts.iter().map(ValidityIssue::evidence).collect(),
            remedy: doubts.iter().map(ValidityIssue::remedy).collect(),
        }
    }

    /// Adds a doubt that was found later.
    pub fn add(&mut self, doubt: &ValidityIssue) {
        let worst = doubt.kind() > self.kind;
        let place = if worst { 0 } else { self.why.len() };
        self.why.insert(place, doubt.evidence());
        self.remedy.insert(place, doubt.remedy());
        self.kind = self.kind.max(doubt.kind());
    }

    /// Whether the numbers may be believed.
    pub fn is_ok(&self) -> bool {
        self.kind == Kind::Ok
    }
}
