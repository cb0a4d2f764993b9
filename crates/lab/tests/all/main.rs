//! All tests but those of the HTML page, which need a browser and the machine for themselves (`tests/page/`).

mod cells_and_order;
mod charts;
mod common;
mod figures;
mod history;
mod million_plans;
mod ping_pong_plans;
mod plan_errors;
mod plan_golden;
mod plan_malformed;
mod plan_requests;
mod plan_schema;
mod processes;
mod report;
mod results;
mod sliced;
mod slices;
mod styles;
mod testers;
mod trials;
mod verdicts;
