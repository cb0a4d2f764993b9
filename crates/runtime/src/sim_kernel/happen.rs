//! Events: what each does to the sockets.

use super::machine::{Event, State};

impl State {
    /// The next event happens.
    pub fn happen(&mut self) {
        let Some((at, event)) = self.take_event() else { return };
        match event {
            Event::Arrive { from, to, len } => self.arrive(from, to, len as usize, at),
            Event::Fin { to } => self.fin(to, at),
            Event::Reset { to } => self.reset(to, at),
            Event::Syn { from, attempt } => self.syn(from, attempt, at),
            Event::Connected { client, errno } => self.connected(client, errno, at),
            Event::Established { listener, server } => self.established(listener, server, at),
            Event::Pump { to } => {
                if let Some(socket) = self.sockets.get(to) {
                    socket.inbound.pump_scheduled = false;
                    self.pump(to, at);
                }
            }
            Event::Space { from } => {
                let peer = self.sockets.get(from).map(|socket| socket.peer).unwrap_or_default();
                if let Some(to) = self.sockets.get(peer) {
                    to.inbound.space_scheduled = false;
                }
                self.notify(from, false, at);
            }
            Event::Datagram(datagram) => self.datagram(*datagram, at),
            Event::Unreachable { to } => self.unreachable(to, at),
            Event::Delayed { socket } => self.notify_now(socket, [true, true], at),
        }
    }
}
