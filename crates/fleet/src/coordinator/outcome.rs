//! How a run ended.

use crate::words::{Refusal, Why};

/// How a run ended, and what is to be known of its agents. Times are those of the coordinator's clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub verdict: Verdict,
    /// First request, as armed; `None` if the agents were never armed.
    pub start_ns: Option<i64>,
    /// End of the window, as it was in the end; to a second, if all loads have ended by a count.
    pub close_ns: Option<i64>,
    /// Seconds from 0 on that are there from all agents that were not lost, as far as each has them.
    pub whole_seconds: u64,
    /// Seconds that the run had from start to close, or to the end of the load that ended last by a count.
    pub seconds: u64,
    /// Seconds that are missing: id of the agent, and number of the second.
    pub missing: Vec<(String, u64)>,
    /// First second that lacks a lost agent whose loss was tolerated.
    pub marked_from: Option<u64>,
    /// From the first to the last first request of the agents, in nanoseconds; `None` unless two agents have told theirs.
    pub spread_ns: Option<i64>,
    /// The agents, in the order of their ids.
    pub agents: Vec<AgentOutcome>,
}

/// One agent in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentOutcome {
    /// Id of the agent.
    pub id: String,
    /// Its incarnation, if it has ever answered.
    pub incarnation: Option<u64>,
    /// Its clock minus the coordinator's when the load was armed, in nanoseconds.
    pub offset_ns: Option<i64>,
    /// Largest error of the offset of its clock when the load was armed, or now, in nanoseconds.
    pub bound_ns: Option<i64>,
    /// By how much its clock runs too fast, beside the coordinator's; `None` until that is known well enough.
    pub drift_ppm: Option<f64>,
    /// Whether it sent requests.
    pub started: Started,
    /// Its first request, as near as the clocks are known.
    pub first_send_ns: Option<i64>,
    /// Seconds that have arrived.
    pub seconds: u64,
    /// Seconds that it was to have: those of the run, or fewer if its load has ended by a count.
    pub expected: u64,
    /// When and why it was lost.
    pub lost: Option<(i64, Lost)>,
}

/// Whether an agent sent requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// It cannot have sent any.
    No,
    /// It was told to begin, and it is not known whether it did.
    Perhaps,
    /// It has.
    Yes,
}

/// Why an agent is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// It did not answer for too long.
    Silent,
    /// It has started again, and what it measured is not known to it.
    Restarted,
    /// It knows nothing of the run.
    Unknown,
    /// A second was not there in time.
    Late {
        /// Number of the second.
        second: u64,
    },
    /// None of its threads has begun to send: it stood still.
    NeverSent,
    /// Its load ended before the run did.
    Ended(Option<Why>),
}

/// Another run, as agents that it has tell of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rival {
    /// Its id.
    pub run: String,
    /// Its owner.
    pub owner: String,
    /// What it is made to.
    pub targets: Vec<String>,
    /// Whether its load is described: it will be made.
    pub is_described: bool,
    /// Until its end, in nanoseconds, if that is decided.
    pub left_ns: Option<i64>,
}

/// How a run ended, from good to worse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// All agents were heard for every second.
    Ok,
    /// Ended by the user. What was measured until then is there.
    Interrupted,
    /// Agents were lost, no more than tolerated: their part of the load is missing from then on.
    Tolerated {
        /// Ids of the agents.
        agents: Vec<String>,
    },
    /// An agent was lost, and the run ended.
    AgentLost {
        /// Id of the agent.
        agent: String,
        /// Seconds that were whole then.
        whole_seconds: u64,
        /// Why it is lost.
        why: Lost,
    },
    /// The run has no agents.
    NoAgent,
    /// Another run has an agent.
    Busy {
        /// Id of the agent.
        agent: String,
        /// Owner of that run.
        owner: String,
        /// Id of that run.
        run: String,
    },
    /// Another run has a target of this one.
    Rival(Rival),
    /// An agent did not answer.
    NoAnswer {
        /// Id of the agent.
        agent: String,
        /// To what.
        to: &'static str,
    },
    /// An agent refused an order.
    Refused {
        /// Id of the agent.
        agent: String,
        /// The order.
        order: &'static str,
        /// Why.
        refusal: Refusal,
    },
    /// The load failed on an agent before the start.
    Failed {
        /// Id of the agent.
        agent: String,
        /// Why.
        why: Option<Why>,
    },
    /// The clock of an agent is not known well enough.
    ClockUncertain {
        /// Id of the agent.
        agent: String,
        /// Largest error of the offset, in nanoseconds.
        bound_ns: i64,
        /// What is allowed, in nanoseconds.
        limit_ns: i64,
    },
    /// Not all agents confirmed the start in time: it was cancelled.
    NotCommitted {
        /// Ids of the agents that did not.
        agents: Vec<String>,
    },
}

impl Verdict {
    /// One line that names the agent, what happened and what to do; empty for [`Verdict::Ok`].
    pub fn line(&self) -> String {
        match self {
            Self::Ok => String::new(),
            Self::Interrupted => "interrupted: what was measured until then is reported".to_owned(),
            Self::Tolerated { agents } => {
                format!("lost and tolerated: {}: their part of the load is missing from then on", agents.join(", "))
            }
            Self::AgentLost { agent, whole_seconds, why } => {
                format!("lost: agent {agent} after {whole_seconds} whole seconds ({}): look at its log", why.words())
            }
            Self::NoAgent => "no agent was named: name at least one".to_owned(),
            Self::Busy { agent, owner, run } => {
                format!("agent {agent} is busy with run {run} of {owner}: wait for it, or use other agents")
            }
            Self::Rival(Rival { run, owner, targets, left_ns, .. }) => {
                let until = match left_ns {
                    Some(left) => format!("for at most {} s more", left.max(&0) / crate::SECOND_NS + 1),
                    None => "which is about to begin".to_owned(),
                };
                let target = targets.join(", ");
                format!(
                    "run {run} of {owner} loads {target}, {until}: wait for it, or load it as well with --with-others"
                )
            }
            Self::NoAnswer { agent, to } => {
                format!("agent {agent} did not answer ({to}): see whether it runs and can be reached")
            }
            Self::Refused { agent, order, refusal } => {
                format!("agent {agent} refused '{order}' ({}): see who else uses it, and try again", refusal.words())
            }
            Self::Failed { agent, why } => {
                let why = why.as_ref().map_or("for an unknown reason", Why::words);
                format!("agent {agent} ended before the start ({why}): remove the cause and try again")
            }
            Self::ClockUncertain { agent, bound_ns, limit_ns } => {
                let ms = |ns: i64| ns as f64 / MS;
                let (bound, limit) = (ms(*bound_ns), ms(*limit_ns));
                format!(
                    "agent {agent}: its clock is known to {bound:.3} ms only, {limit:.3} ms are allowed: use a faster way \
                     to it, or give --allow-skew"
                )
            }
            Self::NotCommitted { agents } => {
                format!("not started: no confirmation in time from {}: try again", agents.join(", "))
            }
        }
    }
}

const MS: f64 = crate::MILLISECOND_NS as f64;

impl Lost {
    /// In words, for a line to a user.
    pub fn words(&self) -> String {
        match self {
            Self::Silent => "no answer for 5 s".to_owned(),
            Self::Restarted => "it has started again".to_owned(),
            Self::Unknown => "it has no such run any more".to_owned(),
            Self::Late { second } => format!("second {second} did not arrive"),
            Self::NeverSent => "its load never began".to_owned(),
            Self::Ended(why) => why.as_ref().map_or("its load ended early", Why::words).to_owned(),
        }
    }
}
