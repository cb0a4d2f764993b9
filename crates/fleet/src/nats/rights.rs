//! What the NATS server lets the holder of a key say and hear.

use super::about::is_id;
use super::subject::{self, ALL};
use crate::words::VERSION;
use std::fmt;
use std::str::FromStr;

/// The holder of a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// One that starts loads.
    Operator,
    /// The agent of this id.
    Agent(String),
    /// The agents that a launcher starts together, whose ids are this name, `-` and one part more.
    Launch(String),
}

/// Subjects, in the words of a NATS server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    /// Those on which it may send.
    pub publish: Vec<String>,
    /// Those that it may hear.
    pub subscribe: Vec<String>,
}

impl Holder {
    /// Whether an agent of this id may use the key.
    pub fn is_for(&self, id: &str) -> bool {
        match self {
            Self::Operator => false,
            Self::Agent(own) => own == id,
            Self::Launch(name) => {
                let rest = id.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix('-'));
                rest.is_some_and(|rest| !rest.contains('-'))
            }
        }
    }

    /// What the key is good for.
    pub fn rights(&self) -> Rights {
        let end = match self {
            Self::Operator => {
                return Rights {
                    publish: vec![
                        subject::who(),
                        subject::stop(),
                        subject::collect(),
                        subject::orders(ALL),
                        subject::pieces(ALL),
                        subject::sessions(ALL),
                    ],
                    subscribe: vec![format!("{VERSION}.about.{ALL}"), format!("{VERSION}.run.{ALL}"), subject::stop()],
                };
            }
            Self::Agent(id) => subject::parts(id),
            Self::Launch(name) => format!("{}.*", subject::parts(name)),
        };
        let own = |begin: &str| format!("{VERSION}.{begin}.{end}");
        Rights {
            publish: vec![subject::who(), own("about.*"), own("run.*.*")],
            subscribe: vec![
                subject::who(),
                subject::stop(),
                subject::collect(),
                own("about.*"),
                own("agent.order"),
                own("agent.file"),
                own("agent.session"),
            ],
        }
    }
}

/// `web-1`, or `NAME-*` of a launch.
impl FromStr for Holder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_suffix("-*") {
            Some(name) if is_id(name) => Ok(Self::Launch(name.to_owned())),
            None if is_id(text) => Ok(Self::Agent(text.to_owned())),
            _ => Err(format!(
                "'{}' names no agent: a name has 1 to 64 letters, digits, - and _, and NAME-* those of a launch",
                text.escape_debug()
            )),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator => f.write_str("operator"),
            Self::Agent(id) => f.write_str(id),
            Self::Launch(name) => write!(f, "{name}-*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a subject of a NATS server has another one.
    fn has(wide: &str, subject: &str) -> bool {
        let (mut wide, mut parts) = (wide.split('.'), subject.split('.'));
        loop {
            match (wide.next(), parts.next()) {
                (Some(">"), Some(_)) | (None, None) => return true,
                (Some("*"), Some(_)) => (),
                (Some(one), Some(other)) if one == other => (),
                _ => return false,
            }
        }
    }

    #[test]
    fn an_agent_speaks_and_hears_as_itself_alone() {
        let may = |holder: &str, subject: &str| {
            let holder: Holder = holder.parse().unwrap();
            let Rights { publish, subscribe } = holder.rights();
            [publish, subscribe].map(|rights| rights.iter().any(|right| has(right, subject)))
        };
        let ids = ["web", "web-1", "web-2", "web-1-2", "web-", "web--1", "other"];
        for holder in ids.into_iter().chain(["web-*"]) {
            for id in ids {
                let is_for = holder.parse::<Holder>().unwrap().is_for(id);
                let said = [
                    subject::replies("run", id),
                    subject::events("run", id),
                    subject::seconds("run", id),
                    subject::journals("run", id),
                    subject::wanted("run", id),
                ];
                assert!(said.iter().all(|subject| may(holder, subject) == [is_for, false]), "{holder} {id}");
                assert_eq!(may(holder, &subject::about(7, id)), [is_for, is_for], "{holder} {id}");
                let heard = [subject::orders(id), subject::pieces(id)];
                assert!(heard.iter().all(|subject| may(holder, subject) == [false, is_for]), "{holder} {id}");
            }
            assert_eq!(may(holder, &subject::stop()), [false, true], "{holder}");
        }
        assert!(["web-1", "web-0"].iter().all(|id| Holder::Launch("web".to_owned()).is_for(id)));
        for text in ["", "*", "-*", "a.b", "a*", "a b", ">"] {
            assert!(text.parse::<Holder>().is_err(), "{text}");
        }
    }
}
