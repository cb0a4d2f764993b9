//! Summary row for HTTP replies: statuses and bytes per reply.

use super::format;
use brunt_results::result::Responses;
use std::fmt::Write;

/// Formats the row; `received` is the byte count of all replies.
pub(super) fn row(responses: &Responses, received: u64) -> String {
    let all: u64 = responses.statuses.values().sum();
    if all == 0 {
        return "none".to_owned();
    }
    let statuses: Vec<String> =
        responses.statuses.iter().map(|(status, count)| format!("{count} with status {status}")).collect();
    let mut row = statuses.join(", ");
    let each = |bytes: u64| format::bytes(bytes as f64 / all as f64);
    let _ = write!(row, "; {} each", each(received));
    if let Some(bodies) = responses.body_bytes {
        let _ = write!(row, ", of it {} of body", each(bodies));
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_every_status_and_the_bytes_of_one_reply() {
        let mut responses = Responses { body_bytes: Some(1200), ..Responses::default() };
        assert_eq!(row(&responses, 0), "none");
        responses.statuses = [("200".to_owned(), 90), ("503".to_owned(), 10)].into();
        assert_eq!(row(&responses, 15_000), "90 with status 200, 10 with status 503; 150 B each, of it 12 B of body");
    }
}
