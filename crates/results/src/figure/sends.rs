//! The shape of an open loop: sends at a time and close to each other, beside the schedule, and rests of connections.

use super::{BASE, Better, Figure, Unit, figures};
use crate::result::{Rest, RunResult, Sends};

fn of(result: &RunResult, figure: fn(&Sends) -> f64) -> Option<f64> {
    result.sends.as_ref().map(figure)
}

fn rest(result: &RunResult, figure: fn(&Rest) -> f64) -> Option<f64> {
    result.sends.as_ref()?.rest.as_ref().map(figure)
}

figures! { FIGURES:
    SENDS_PER_WAKEUP {
        key: "sends_per_wakeup",
        label: "sends a wake-up",
        unit: Unit::Ratio,
        better: Better::Lower,
        help: "Mean number of requests that were due at a wake-up of a load thread; of an open loop",
        path: "sends",
        of: |result| of(result, |sends| sends.per_wakeup_mean),
    }
    SENDS_PER_WAKEUP_P99 {
        key: "sends_per_wakeup_p99",
        label: "sends a wake-up, p99",
        unit: Unit::Count,
        better: Better::Lower,
        help: "Number of requests due at a wake-up that 99 % of the wake-ups do not exceed; of an open loop",
        path: "sends",
        of: |result| of(result, |sends| sends.per_wakeup_p99),
    }
    SENDS_CLOSE {
        key: "sends_close",
        label: "close sends",
        unit: Unit::Percent,
        better: Better::Lower,
        help: "Requests sent within 10 us of the one before on their thread; of an open loop",
        path: "sends",
        of: |result| of(result, |sends| sends.close_percent),
    }
    SENDS_CLOSE_SCHEDULED {
        key: "sends_close_scheduled",
        label: "close sends of the schedule",
        unit: Unit::Percent,
        help: "Requests that the schedule asked for within 10 us of the one before on their thread",
        path: "sends",
        of: |result| of(result, |sends| sends.scheduled_close_percent),
    }
    REST_P50 {
        key: "rest_p50",
        label: "median rest of a connection",
        unit: Unit::Us,
        help: "Median time from a reply on a connection to its next request, in an open loop",
        path: "sends",
        of: |result| rest(result, |rest| rest.p50_us),
    }
    REST_MEAN {
        key: "rest_mean",
        label: "mean rest of a connection",
        unit: Unit::Us,
        help: "Mean time from a reply on a connection to its next request, in an open loop",
        path: "sends",
        of: |result| rest(result, |rest| rest.mean_us),
    }
}
