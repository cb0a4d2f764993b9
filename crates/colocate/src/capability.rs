//! What can be limited or measured on a machine.

use serde::Serialize;

/// Whether a resource can be limited here, or a signal measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capability<Name> {
    pub name: Name,
    pub available: bool,
    /// The file in use, or why there is none.
    pub evidence: String,
    /// What follows where it is not available, or only in part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consequence: Option<String>,
}

impl<Name> Capability<Name> {
    pub fn available(name: Name, evidence: impl Into<String>) -> Self {
        Self { name, available: true, evidence: evidence.into(), consequence: None }
    }

    pub fn missing(name: Name, evidence: impl Into<String>, consequence: &str) -> Self {
        Self { name, available: false, evidence: evidence.into(), consequence: Some(consequence.to_owned()) }
    }

    pub fn but(self, consequence: &str) -> Self {
        Self { consequence: Some(consequence.to_owned()), ..self }
    }
}
