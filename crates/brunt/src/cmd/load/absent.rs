//! Why figures are absent that the load itself counts.

use brunt_results::result::CLOSED_LOOP_SENDS;
use brunt_results::{RunResult, figure};

/// The absent figures, each with the reason.
pub(super) fn of(result: &RunResult) -> impl Iterator<Item = (String, String)> + use<> {
    let connections = &result.connections;
    let unanswered = match result.load.spread.as_deref() {
        _ if result.has_changing_connections() => "connections were open for different parts of the window",
        Some("random") => "connections took requests at random: with --spread turns each takes as many",
        _ => "no connection got a good reply in the window",
    };
    let never = "the measured window never opened";
    let no_sends = match result.load.mode == "open" {
        true => "no request of the window was sent without waiting for a connection",
        false => CLOSED_LOOP_SENDS,
    };
    let figures = [
        ("generator.cpu_percent", result.generator.cpu_percent.is_none(), never),
        ("generator.spin_percent", result.generator.spin_percent.is_none(), never),
        (
            "connections.connect_rate_per_s",
            connections.connect_rate_per_s.is_none(),
            "no connection was opened before the load began",
        ),
        ("connections.served_percent", connections.served_percent.is_none(), unanswered),
        ("connections.jain_index", connections.jain_index.is_none(), unanswered),
        ("sends", result.sends.is_none(), no_sends),
        ("latency.first_byte", result.latency.first_byte.is_none(), "measured of HTTP alone"),
    ];
    let absent = figures.into_iter().filter(|(_, is_absent, _)| *is_absent);
    let counted: Vec<_> = absent.map(|(name, _, why)| (name.to_owned(), why.to_owned())).collect();
    counted.into_iter().chain(figure::absent(result).collect::<Vec<_>>())
}
