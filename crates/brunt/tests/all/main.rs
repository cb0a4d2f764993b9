//! What the commands print, write and leave; no test here judges a measured time.

mod as_cli;
mod as_pages;
mod ci;
mod colocate_plan;
mod colocate_queue;
mod colocate_simulate;
mod colocate_source;
mod compare;
mod cost;
mod doctor;
mod exports;
mod find;
mod first_hour;
mod install;
mod list;
mod load_step;
mod plan_models;
mod render;
mod run_cli;
mod run_experiments;
mod run_killed;
mod run_testers;
mod truth;
mod ui;

#[path = "../shared"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod shared {
    pub mod consumers;
    pub mod example;
    pub mod find;
    pub mod recorder;
    pub mod repository;
    pub mod server;
    pub mod web_load;
}
