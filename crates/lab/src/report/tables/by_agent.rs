//! Tables of the agents of a fleet that made a load.

use super::RenderedTable;
use super::columns::Column;
use crate::format::time;
use crate::report::Report;
use brunt_results::result::{AgentSeen, Fleet};

/// The agents of each row that has them.
pub fn by_agent(report: &Report) -> impl Iterator<Item = RenderedTable> {
    let is_one = report.rows.len() == 1;
    report.rows.iter().filter_map(move |row| {
        let title = if is_one { "By agent".to_owned() } else { format!("By agent: {}", row.cell.id()) };
        row.parts.fleet.as_ref().map(|fleet| table(fleet, title))
    })
}

fn table(fleet: &Fleet, title: String) -> RenderedTable {
    const HEADS: [&str; 12] = [
        "agent",
        "machine",
        "threads",
        "connections",
        "requests",
        "p50",
        "p99",
        "lag p99",
        "busiest thread",
        "clock known to",
        "first request",
        "lost",
    ];
    let row = |agent: &AgentSeen| {
        [
            agent.id.clone(),
            agent.host.clone(),
            agent.threads.to_string(),
            agent.connections.to_string(),
            agent.completed.to_string(),
            time(agent.p50_us),
            time(agent.p99_us),
            time(agent.lag_p99_us),
            agent.thread_cpu_percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.1} %")),
            time(agent.clock_error_us),
            agent.first_send_us.map_or_else(|| "-".to_owned(), |us| format!("after {}", time(Some(us)))),
            lost(agent),
        ]
    };
    let rows: Vec<[String; 12]> = fleet.agents.iter().map(row).collect();
    let column = |(place, head): (usize, &&str)| Column {
        header: [String::new(), (*head).to_owned()],
        right: place > 1 && place + 1 < HEADS.len(),
        weight: 0,
        is_default: true,
        cells: rows.iter().map(|row| row[place].clone()).collect(),
    };
    let columns = HEADS.iter().enumerate().map(column).collect();
    RenderedTable { title, columns, groups: vec![0; rows.len()], headings: Vec::new() }
}

fn lost(agent: &AgentSeen) -> String {
    match (&agent.lost, agent.lost_at_s) {
        (Some(why), Some(at)) => format!("after {at:.1} s: {why}"),
        (Some(why), None) => why.clone(),
        (None, _) => "no".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_a_row_with_what_is_known_of_it() {
        let lost = AgentSeen { id: "b".to_owned(), lost: Some("silent".to_owned()), ..AgentSeen::default() };
        let good = AgentSeen { id: "a".to_owned(), completed: 7, p99_us: Some(1500.0), ..AgentSeen::default() };
        let fleet = Fleet { agents: vec![good, AgentSeen { lost_at_s: Some(2.0), ..lost }], ..Fleet::default() };
        let table = table(&fleet, String::new());
        let of = |head: &str| &table.columns.iter().find(|column| column.header[1] == head).unwrap().cells;
        assert_eq!(
            (of("agent"), of("requests")),
            (&vec!["a".to_owned(), "b".into()], &vec!["7".to_owned(), "0".into()])
        );
        assert_eq!((of("p99")[0].as_str(), of("p99")[1].as_str()), ("1.50 ms", "-"));
        assert_eq!((of("lost")[0].as_str(), of("lost")[1].as_str()), ("no", "after 2.0 s: silent"));
        assert_eq!(table.groups.len(), 2);
    }
}
