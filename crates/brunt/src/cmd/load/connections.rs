//! Why figures of the connections are absent.

use brunt_results::result::Connections;

/// The absent figures, each with the reason.
pub(super) fn absent(connections: &Connections) -> impl Iterator<Item = (String, String)> + use<> {
    let unanswered = "no connection got a good reply in the window";
    let figures = [
        ("connect_rate_per_s", connections.connect_rate_per_s, "no connection was opened before the load began"),
        ("served_percent", connections.served_percent, unanswered),
        ("jain_index", connections.jain_index, unanswered),
    ];
    let absent = figures.into_iter().filter(|(_, value, _)| value.is_none());
    absent.map(|(figure, _, why)| (format!("connections.{figure}"), why.to_owned()))
}
