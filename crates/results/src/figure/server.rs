//! Resources that the server takes, and what a request costs it.

use super::{BASE, Better, Column, Compared, Figure, Shown, Told, Unit, column, family, figures, gauge, indexed};

figures! { FIGURES:
    CPU_USER {
        key: "cpu_user",
        label: "CPU in user mode",
        unit: Unit::CpuPercent,
        better: Better::Lower,
        help: "CPU of the server in user mode; 100 is one core",
        path: "server.cpu_user_percent",
        of: |result| result.server.cpu_user_percent,
        column: column("server", "user %", 1, Shown::Number(1)),
    }
    CPU {
        key: "cpu",
        label: "server CPU",
        title: "Server CPU",
        missing: "server CPU",
        unit: Unit::CpuPercent,
        better: Better::Lower,
        help: "CPU of the server, user and system; 100 is one core",
        path: "server.cpu_user_percent",
        of: |result| result.server.cpu_percent(),
        column: column("server", "total %", 2, Shown::Number(1)),
        indexed: indexed("cpu_percent"),
    }
    RSS {
        key: "rss",
        label: "server memory",
        missing: "server memory",
        unit: Unit::Bytes,
        better: Better::Lower,
        help: "Resident memory of the server at the end",
        path: "server.rss_bytes",
        of: |result| result.server.rss_bytes.map(|bytes| bytes as f64),
        told: Some(Told { row: "server", word: "RSS" }),
        column: Some(Column { header: ["server", "MiB"], weight: 7, is_default: true, shown: Shown::Mebibytes }),
        indexed: indexed("rss_bytes"),
        prometheus: family("brunt_server_resident_memory_bytes", 1.0),
        gauge: gauge("brunt_server_resident_memory_bytes", "By", "Resident memory of the server", 1.0),
    }
}

figures! { COSTS:
    COST {
        key: "cost",
        label: "CPU time a request",
        short: "CPU",
        title: "CPU time per request",
        missing: "CPU time for a request",
        unit: Unit::Us,
        better: Better::Lower,
        help: "CPU time of the server and of what stands behind it for a completed request",
        path: "server.cpu_us_per_request",
        of: |result| result.server.service_us_per_request(),
        part: Err("whose share of the server's CPU time is unknown"),
        bound: Some("the server's CPU time for a request, as in cost>20us"),
        column: Some(Column { header: ["CPU us", "per req"], weight: 1, is_default: true, shown: Shown::Number(2) }),
        indexed: indexed("cost_us"),
        compared: Compared::Always,
        is_exported: true,
        measure: "cpu-time-per-request",
        prometheus: family("brunt_server_cpu_seconds_per_request", 1e6),
    }
    INSTRUCTIONS {
        key: "instructions_user",
        label: "instructions a request",
        missing: "user-mode instructions for a request",
        unit: Unit::Count,
        better: Better::Lower,
        help: "User-mode instructions of the server for a completed request",
        path: "server.instructions_user_per_request",
        of: |result| result.server.instructions_user_per_request,
        column: column("instr", "per req", 4, Shown::Number(0)),
    }
}
