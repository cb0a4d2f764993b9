//! What `brunt colocate run` reports at its end, in `summary.json` of its directory.

use serde::{Deserialize, Serialize};

/// A figure that could not be measured is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub policy: String,
    pub seconds: f64,
    pub service: Service,
    pub jobs: Jobs,
    pub allotment: Allotted,
    pub machine: Machine,
    pub controller: Controller,
}

/// The latency-critical service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Service {
    /// Of the objective, between 0 and 1.
    pub quantile: f64,
    pub limit_ms: f64,
    pub requests: u64,
    /// Of these, slower than the limit, or failed.
    pub slow: u64,
    /// Whole seconds with requests.
    pub seconds: u64,
    /// Of these, those in which more requests were slow than the objective allows.
    pub bad_seconds: u64,
    /// Mean load as a share of the service's peak.
    pub load: Option<f64>,
}

/// The best-effort jobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Jobs {
    pub attempts: u64,
    pub done: u64,
    pub failed: u64,
    pub preempted: u64,
    /// Sum of the progress figures of all attempts; `None` if a job reports none.
    pub progress: Option<f64>,
    pub cpu_seconds: f64,
}

/// What the jobs were given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Allotted {
    /// Mean over time.
    pub cores: f64,
    pub frozen_seconds: f64,
    pub emergencies: u64,
    pub changes: u64,
}

/// Means over the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// CPU time of the service, of the jobs, and of all processes, in cores.
    pub service_cores: Option<f64>,
    pub job_cores: Option<f64>,
    pub total_cores: Option<f64>,
    /// Share of the time that the machine took from all processes.
    pub lost: Option<f64>,
    /// Bytes a second read from and written to memory by all processes.
    pub memory_bytes_per_s: Option<f64>,
    /// Bytes a second sent by the service, and by the jobs.
    pub service_network_bytes_per_s: Option<f64>,
    pub job_network_bytes_per_s: Option<f64>,
}

/// What the controller and its guardian use themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Controller {
    /// CPU time of both, as a share of one core.
    pub cpu: f64,
    /// Memory of both at the end: proportional set size, in which a shared page counts in equal parts for each process that maps it.
    pub memory_bytes: u64,
}
