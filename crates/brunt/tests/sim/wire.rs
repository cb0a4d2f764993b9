//! What passed between clients and servers, from the trace of a world: an account that neither of them keeps.

use brunt_runtime::sim::World;

/// Bytes of the two directions, and how connections were used.
#[derive(Debug, Default)]
pub struct Wire {
    pub requests_sent: u64,
    pub requests_arrived: u64,
    pub replies_sent: u64,
    pub replies_arrived: u64,
    /// The most requests in flight on one connection.
    pub most_in_flight: u64,
    /// The most requests that others sent while one connection had none in flight.
    pub most_passed_over: u64,
}

#[derive(Clone, Default)]
struct Client {
    sent: u64,
    arrived: u64,
    /// Requests of all clients when it had its last reply.
    idle_at: u64,
}

impl Wire {
    /// Of a world whose trace was recorded. Requests and replies have these lengths.
    pub fn of(world: &World, request: u64, reply: u64) -> Self {
        let (mut wire, mut clients, mut requests) = (Self::default(), Vec::<Option<Client>>::new(), 0);
        for entry in world.trace() {
            let (socket, bytes) = (entry.who as usize, entry.value as u64);
            match (entry.what, clients.get_mut(socket).and_then(Option::as_mut)) {
                ("connect", _) => {
                    clients.resize(clients.len().max(socket + 1), None);
                    clients[socket] = Some(Client::default());
                }
                ("send", Some(client)) => {
                    let before = client.sent.div_ceil(request);
                    client.sent += bytes;
                    wire.requests_sent += bytes;
                    let (begun, ended) = (client.sent.div_ceil(request), client.arrived / reply);
                    wire.most_in_flight = wire.most_in_flight.max(begun.saturating_sub(ended));
                    if before == ended {
                        wire.most_passed_over = wire.most_passed_over.max(requests - client.idle_at);
                    }
                    requests += begun - before;
                }
                ("arrive", Some(client)) => {
                    client.arrived += bytes;
                    client.idle_at = requests;
                    wire.replies_arrived += bytes;
                }
                ("send", None) => wire.replies_sent += bytes,
                ("arrive", None) => wire.requests_arrived += bytes,
                _ => (),
            }
        }
        let idle = clients.iter().flatten().filter(|client| client.sent / request == client.arrived / reply);
        let last = idle.map(|client| requests - client.idle_at).max().unwrap_or(0);
        wire.most_passed_over = wire.most_passed_over.max(last);
        wire
    }
}
