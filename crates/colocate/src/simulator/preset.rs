//! Machines to simulate.

use super::plant::{Machine, Service};
use crate::objective::Objective;

/// Eight cores, 10,000 requests a second within 6 ms at the 99th percentile: the machine and service of published tables of
/// Heracles' re-implementation, whose latency alone goes from 3.9 to 4.7 ms.
pub fn server() -> (Machine, Service, Objective) {
    let machine = Machine { cores: 8.0, knee: 0.85, pauses: 0.05, pause_ms: 3.0 };
    let service = Service {
        peak_rate: 10_000.0,
        peak_utilization: 0.45,
        peak_cores: 1.2,
        service_ms: 0.2,
        fixed_ms: 2.8,
        memory_bandwidth: 0.01,
        cache_slowdown: 0.2,
        memory_slowdown: 0.05,
    };
    (machine, service, Objective { quantile: 0.99, limit_ms: 6.0 })
}

/// Two cores of a shared virtual machine, 1,000 requests a second.
pub fn virtual_machine() -> (Machine, Service, Objective) {
    let machine = Machine { cores: 2.0, knee: 0.25, pauses: 1.0, pause_ms: 2.0 };
    let service = Service {
        peak_rate: 1_000.0,
        peak_utilization: 0.5,
        peak_cores: 0.6,
        service_ms: 0.4,
        fixed_ms: 0.3,
        memory_bandwidth: 0.05,
        cache_slowdown: 0.3,
        memory_slowdown: 0.12,
    };
    (machine, service, Objective { quantile: 0.99, limit_ms: 6.0 })
}
