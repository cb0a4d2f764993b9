//! The verdict on a result: whether its figures are a property of the server.
//!
//! Each issue is a type that carries its evidence and has a remedy, so a report cannot print a warning without a reason.

use crate::connect_error::ConnectCause;
use crate::shared_cores::SharedCores;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::{cmp::Reverse, str::FromStr};

/// One reason not to trust a result, with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub enum ValidityIssue {
    /// An agent of a fleet was lost: what was measured ends after so many whole seconds of the load.
    AgentLost { agent: String, why: String, whole_seconds: u64 },
    /// What one agent of a load says of itself, as that of the whole load.
    AgentLimited { agent: String, evidence: String },
    /// The server's process exited, `after_s` seconds after the load began.
    ServerExited { pid: u32, after_s: f64 },
    /// Requests or connections failed, of `all`; `connections` without a request; `kinds` counts them, as `3 timeout, 1 reset`, and `first` tells of the first ones.
    Errors { failed: u64, all: u64, connections: u64, kinds: String, cause: FailureCause, first: Vec<String> },
    /// The generator sent late through its own fault, by this percentile.
    Lag { percentile: &'static str, lag_us: f64, response_us: f64 },
    /// A thread of the generator was saturated, not counting spinning, and no thread of the server was; 100 is one core.
    GeneratorCpu { generator_percent: f64, server_percent: Option<f64> },
    /// The generator is hardly faster against a null target: requests per second.
    Ceiling { rate: f64, ceiling: f64 },
    /// The offered rate was not reached. Rates are requests per second; `waited` is the share of requests that found every
    /// connection busy, 0 to 1, where they were counted.
    RateMissed { offered: f64, achieved: f64, waited: Option<f64> },
    /// A CPU quota stopped the server in so many of the periods of its control group.
    Throttled { throttled: u64, periods: u64, percent: f64, quota_cores: f64, group: String },
    /// A memory limit made processes of the server wait, or the kernel kill them.
    MemoryLimit { group: String, waits: u64, killed: u64 },
    /// So many of the replies had their first byte 35 to 45 ms before their last one.
    DelayedAck { delayed: u64, replies: u64 },
    /// A figure drifts over the window.
    NotStationary { evidence: String },
    /// Too few values for `quantile`, the highest shown.
    TooFewSamples { count: u64, needed: u64, quantile: &'static str },
    /// The hypervisor used the processor: percent of the CPU time of the window.
    Steal { percent: f64 },
    /// Other processes used the same cores: time that a thread of the `generator` or `server` was runnable without a core, in
    /// percent of the window.
    RunQueue { whose: &'static str, percent: f64 },
    /// The same, where generator and server may wait for each other.
    SharedCores { cores: SharedCores, waits: Vec<(&'static str, f64)> },
    /// The busiest other processes of a disturbed run, in percent of a core.
    Neighbours { busiest: Vec<(String, f64)> },
}

/// What is known of the cause of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// The target speaks TLS, the generator did not.
    Tls,
    /// The target speaks HTTP/2, the generator HTTP/1.
    Http2,
    /// The target redirects to another host.
    Redirect,
    /// Connections could not be opened.
    Connect(ConnectCause),
    /// The target accepted connections and sent no reply.
    NoReply,
    /// The target ended each connection of http:// without a byte.
    HungUp,
    /// The target closed connections between two replies.
    Closed,
    /// Most failures are replies with a status that is not accepted.
    Status,
    /// Most failures are replies whose body is not the required one.
    Mismatch,
    /// Most failures are requests without a reply in time, and others were answered.
    Timeout,
    Other,
}

impl FailureCause {
    /// What to do about it, as one sentence.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Tls => "the target speaks TLS: use https://",
            Self::Http2 => {
                "the target speaks HTTP/2, as gRPC servers do: use its port for HTTP/1.1, or --connect-to a proxy \
                 that translates"
            }
            Self::Redirect => "load the URL to which the redirect leads",
            Self::Connect(ConnectCause::Refused) => {
                "the target refused connections: see whether it still runs, and its log"
            }
            Self::Connect(ConnectCause::Exhausted) => {
                "the generator had no file or port left: fewer connections (-c), or more ports with --source"
            }
            Self::Connect(ConnectCause::Other) => {
                "connections could not be opened: see whether the target still runs, and its log; one that takes few at a time needs a lower -c"
            }
            Self::NoReply => {
                "nothing was answered in time: where --once is answered, the load is too high: lower -R or -c, or raise \
                 --timeout; else check the port and the protocol of the URL"
            }
            Self::Closed => "give --reuse that number, so that each connection ends before, and leave --pipeline out",
            Self::HungUp => {
                "every connection was ended without a reply: where the port speaks TLS, use https://; else look at its log"
            }
            Self::Status => "see what --once shows of such a reply; where it is right, --expect-status accepts it",
            Self::Mismatch => {
                "see what --once shows of such a reply; where it is right, correct --expect-length or --expect-body"
            }
            Self::Timeout => "lower -R or -c, or raise --timeout; if as many fail then, see the target's log",
            Self::Other => "look at the target's log, and at what --once shows of a reply",
        }
    }
}

impl ValidityIssue {
    pub fn kind(&self) -> Kind {
        match self {
            Self::AgentLost { .. } => Kind::AgentLost,
            Self::ServerExited { .. } | Self::Errors { .. } => Kind::Errors,
            Self::Lag { .. } | Self::GeneratorCpu { .. } | Self::Ceiling { .. } | Self::AgentLimited { .. } => {
                Kind::ClientLimited
            }
            Self::Throttled { .. } | Self::MemoryLimit { .. } => Kind::Throttled,
            Self::DelayedAck { .. } => Kind::DelayedAck,
            Self::RateMissed { .. } => Kind::RateMissed,
            Self::NotStationary { .. } => Kind::NotStationary,
            Self::TooFewSamples { .. } => Kind::TooFewSamples,
            Self::Steal { .. } | Self::RunQueue { .. } | Self::SharedCores { .. } | Self::Neighbours { .. } => {
                Kind::Disturbed
            }
        }
    }

    /// The evidence, as one sentence.
    pub fn evidence(&self) -> String {
        match self {
            Self::AgentLost { agent, why, whole_seconds } => {
                format!(
                    "agent {agent} was lost ({why}): the figures are those of the first {whole_seconds} s of the load"
                )
            }
            Self::AgentLimited { agent, evidence } => format!("agent {agent}: {evidence}"),
            Self::ServerExited { pid, after_s } => format!("server pid {pid} exited after {after_s:.1} s"),
            Self::Errors { failed, all, connections, kinds, first, .. } => {
                let first: String = first.iter().map(|one| format!("; {one}")).collect();
                let (requests, all) = (failed.saturating_sub(*connections), all.saturating_sub(*connections));
                let what = match (requests, connections) {
                    (_, 0) => format!("{failed} of {all} requests"),
                    (0, 1) => format!("1 connection, and none of {all} requests"),
                    (0, _) => format!("{connections} connections, and none of {all} requests"),
                    (_, 1) => format!("{requests} of {all} requests, and 1 connection,"),
                    (..) => format!("{requests} of {all} requests, and {connections} connections,"),
                };
                format!("{what} failed ({kinds}){first}")
            }
            Self::Lag { percentile, lag_us, response_us } => {
                format!(
                    "the generator sent late: lag {percentile} {lag_us:.0} us, response {percentile} {response_us:.0} us"
                )
            }
            Self::GeneratorCpu { generator_percent, server_percent } => {
                let server = server_percent.map_or("and the server could not be metered".to_owned(), |server| {
                    format!("while no thread of the server used more than {server:.0} %")
                });
                format!("a generator thread used {generator_percent:.0} % of its core {server}")
            }
            Self::Ceiling { rate, ceiling } => format!(
                "the generator reached {:.0} % of its own ceiling on this machine, {ceiling:.0} requests/s against a \
                 null target",
                rate / ceiling * 100.0
            ),
            Self::RateMissed { offered, achieved, waited } => {
                let busy = waited.map(|share| format!("; {:.1} % found every connection busy", share * 100.0));
                format!("{achieved:.0} requests/s were answered of {offered:.0} offered{}", busy.unwrap_or_default())
            }
            Self::Throttled { throttled, periods, percent, quota_cores, group } => {
                format!(
                    "the quota of {quota_cores:.2} cores of {group} stopped the server in {throttled} of {periods} periods \
                     ({percent:.0} %)"
                )
            }
            Self::MemoryLimit { group, waits, killed } => format!(
                "at the memory limit of {group}, processes waited {waits} times for memory to be reclaimed, and {killed} were killed"
            ),
            Self::DelayedAck { delayed, replies } => format!(
                "{delayed} of {replies} replies ({:.1} %) had their last byte 35 to 45 ms after their first one, as Nagle's \
                 algorithm makes it that waits for a delayed acknowledgement",
                *delayed as f64 * 100.0 / *replies as f64
            ),
            Self::NotStationary { evidence } => evidence.clone(),
            Self::TooFewSamples { count, needed, quantile } => {
                format!("{quantile} needs {needed} requests, {count} were recorded")
            }
            Self::Steal { percent } => format!("the hypervisor took {percent:.1} % of the CPU time"),
            Self::RunQueue { whose, percent } => {
                format!("a thread of the {whose} was runnable without a core for {percent:.0} % of the time")
            }
            Self::SharedCores { cores, waits } => {
                let waits: Vec<String> =
                    waits.iter().map(|(whose, percent)| format!("one of the {whose} for {percent:.0} %")).collect();
                format!("{cores}; a thread was runnable without a core, {} of the time", waits.join(", "))
            }
            Self::Neighbours { busiest } => {
                let words: Vec<String> =
                    busiest.iter().map(|(name, percent)| format!("{name} {percent:.0} %")).collect();
                format!("beside it ran, in percent of a core: {}", words.join(", "))
            }
        }
    }

    /// What to do about it, as one sentence.
    pub fn remedy(&self) -> Cow<'static, str> {
        let remedy = match self {
            Self::SharedCores { cores, .. } => return cores.remedy().into(),
            Self::AgentLost { .. } => "look at the log of that agent, and repeat the run",
            Self::AgentLimited { .. } => "use more agents (--on), or give that one more cores or less of the load",
            Self::ServerExited { .. } => "look at its log for the reason",
            Self::Errors { cause, .. } => cause.remedy(),
            Self::Lag { .. } => "give the generator a core of its own (--cores), more threads (-t), or a lower rate",
            Self::GeneratorCpu { .. } => {
                "give the generator more cores (-t, --cores) or the server fewer; --no-verify lightens each request"
            }
            Self::Ceiling { .. } => {
                "raise the number of connections (-c), or give the generator more cores (-t, --cores)"
            }
            Self::RateMissed { waited, .. } if waited.is_none_or(|share| share > 0.01) => {
                "the target is the limit at this rate: lower -R, or raise -c if the target can serve more at a time"
            }
            Self::RateMissed { .. } => "lower -R, or lengthen the run so that start and end weigh less",
            Self::Throttled { .. } => {
                "raise the quota (cpu.max, cpu.cfs_quota_us, --cpus of a container), or lower the rate; to measure under it, \
                 --allow throttled"
            }
            Self::MemoryLimit { .. } => {
                "raise the limit (memory.high, memory.max, --memory of a container); to measure under it, --allow throttled"
            }
            Self::DelayedAck { .. } => {
                "let the server send head and body in one write, or set TCP_NODELAY on its connections"
            }
            Self::NotStationary { .. } => "lengthen --warmup and -d until the figures settle",
            Self::TooFewSamples { .. } => "lengthen the run (-d) or raise the rate",
            Self::Steal { .. } => "repeat the run on a quieter machine",
            Self::RunQueue { .. } => {
                "stop other programs on these cores, or give generator and server cores of their own (--cores, --server-cores)"
            }
            Self::Neighbours { .. } => "stop them, or repeat the run when they have ended",
        };
        remedy.into()
    }
}

/// Names of verdicts, from best to worst. The worst issue names the verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// No issue was found.
    #[default]
    Ok,
    /// Too few values for the highest quantile shown.
    TooFewSamples,
    /// Something else used the processor.
    Disturbed,
    /// A figure drifts over the window.
    NotStationary,
    /// The offered rate was not reached.
    RateMissed,
    /// Replies waited for delayed acknowledgements.
    DelayedAck,
    /// A CPU quota or a memory limit stopped the server.
    Throttled,
    /// The generator was the limit.
    ClientLimited,
    /// Requests failed.
    Errors,
    /// An agent of a fleet was lost.
    AgentLost,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::TooFewSamples => "too-few-samples",
            Self::Disturbed => "disturbed",
            Self::NotStationary => "not-stationary",
            Self::RateMissed => "rate-missed",
            Self::DelayedAck => "delayed-ack",
            Self::Throttled => "throttled",
            Self::ClientLimited => "client-limited",
            Self::Errors => "errors",
            Self::AgentLost => "agent-lost",
        }
    }

    /// All kinds, from best to worst.
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::TooFewSamples,
        Self::Disturbed,
        Self::NotStationary,
        Self::RateMissed,
        Self::DelayedAck,
        Self::Throttled,
        Self::ClientLimited,
        Self::Errors,
        Self::AgentLost,
    ];

    /// Whether it doubts the figures. `errors` does not: the requests did fail. Nor does `agent-lost`: it can not be accepted.
    pub fn is_doubt(self) -> bool {
        !matches!(self, Self::Ok | Self::Errors | Self::AgentLost)
    }
}

/// The word of a doubt.
impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kind = Self::ALL.into_iter().find(|kind| kind.word() == text);
        match kind {
            Some(kind) if kind.is_doubt() => Ok(kind),
            Some(Self::AgentLost) => Err("agent-lost is no doubt: the load was another than was asked for".to_owned()),
            Some(Self::Errors) => {
                Err("errors are no doubt: say how many are acceptable, as in --fail-if 'errors>0.1%'".to_owned())
            }
            _ => {
                let words: Vec<&str> = Self::ALL.into_iter().filter(|kind| kind.is_doubt()).map(Self::word).collect();
                Err(format!("'{text}' is none of {}", words.join(", ")))
            }
        }
    }
}

/// All issues of one result, worst first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Name of the worst issue, or `ok`.
    pub kind: Kind,
    /// The name of each issue; empty in results of older versions.
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// The evidence, one sentence per issue.
    pub why: Vec<String>,
    /// What to do, one sentence per issue.
    pub remedy: Vec<String>,
}

impl Verdict {
    pub fn of(mut issues: Vec<ValidityIssue>) -> Self {
        // The exit of the server explains what follows it.
        issues.sort_by_key(|issue| (Reverse(issue.kind()), !matches!(issue, ValidityIssue::ServerExited { .. })));
        let mut verdict = Self::default();
        issues.iter().for_each(|issue| verdict.add(issue));
        verdict
    }

    /// Adds an issue found later.
    pub fn add(&mut self, issue: &ValidityIssue) {
        let worst = issue.kind() > self.kind;
        let at = if worst { 0 } else { self.why.len() };
        self.kinds.insert(at.min(self.kinds.len()), issue.kind());
        self.why.insert(at, issue.evidence());
        self.remedy.insert(at, issue.remedy().into_owned());
        self.kind = self.kind.max(issue.kind());
    }

    /// Whether the figures can be trusted.
    pub fn is_ok(&self) -> bool {
        self.kind == Kind::Ok
    }

    /// Whether requests or connections failed.
    pub fn has_failures(&self) -> bool {
        self.kind == Kind::Errors
    }

    /// Whether the load was another than was asked for, since an agent of a fleet was lost.
    pub fn has_lost_an_agent(&self) -> bool {
        self.kind == Kind::AgentLost
    }

    /// The kinds of its doubts.
    pub fn doubts(&self) -> impl Iterator<Item = Kind> {
        self.kinds.iter().copied().chain([self.kind]).filter(|kind| kind.is_doubt())
    }
}
