//! What passed between clients and servers, from the trace of a world: an account that neither of them keeps.

use brunt_runtime::sim::World;
use std::collections::HashMap;

/// Bytes of the two directions, and the most requests in flight on one connection.
#[derive(Debug, Default)]
pub struct Wire {
    pub requests_sent: u64,
    pub requests_arrived: u64,
    pub replies_sent: u64,
    pub replies_arrived: u64,
    pub most_in_flight: u64,
}

#[derive(Default)]
struct Client {
    sent: u64,
    arrived: u64,
}

impl Wire {
    /// Of a world whose trace was recorded. Requests and replies have these lengths.
    pub fn of(world: &World, request: u64, reply: u64) -> Self {
        let (mut wire, mut clients) = (Self::default(), HashMap::<u32, Client>::new());
        for entry in world.trace() {
            let bytes = entry.value as u64;
            match (entry.what, clients.get_mut(&entry.who)) {
                ("connect", _) => drop(clients.insert(entry.who, Client::default())),
                ("send", Some(client)) => {
                    client.sent += bytes;
                    wire.requests_sent += bytes;
                    let in_flight = client.sent.div_ceil(request).saturating_sub(client.arrived / reply);
                    wire.most_in_flight = wire.most_in_flight.max(in_flight);
                }
                ("arrive", Some(client)) => {
                    client.arrived += bytes;
                    wire.replies_arrived += bytes;
                }
                ("send", None) => wire.replies_sent += bytes,
                ("arrive", None) => wire.requests_arrived += bytes,
                _ => (),
            }
        }
        wire
    }
}
