//! For tests on the simulated ring: checks that each buffer and each request is in exactly one place.

use super::Io;
use crate::buffers::recv::{BUFFERS, NO_BUFFER, OVERFLOW_START, RecvBuffers};
use crate::io::conn::{Conn, flag};
use crate::{driver::Driver, driver::ring::Ring, driver::user_data::OpKind, slab::Key};
use std::{collections::HashMap, time::Instant};

/// Requests of a connection, and the flags set while they are open.
const REQUESTS: [(OpKind, u16); 3] =
    [(OpKind::Receive, flag::RECEIVING), (OpKind::Send, flag::SENDING), (OpKind::Connect, flag::CONNECTING)];

/// Where each buffer is, the send buffers in use, and the contradictions found.
#[derive(Default)]
struct Account {
    places: HashMap<u16, &'static str>,
    blocks: Vec<u32>,
    violations: Vec<String>,
}

impl Account {
    fn report(&mut self, violation: String) {
        self.violations.push(violation);
    }

    fn enter(&mut self, buffer: u16, place: &'static str) {
        if let Some(other) = self.places.insert(buffer, place) {
            self.report(format!("buffer {buffer} is {place} and {other}"));
        }
    }

    fn enter_conn(&mut self, key: Key, conn: &Conn, buffers: &mut RecvBuffers, open: &[(OpKind, Key)]) {
        for (kind, bit) in REQUESTS {
            if conn.has(bit) != open.contains(&(kind, key)) {
                self.report(format!("{key:?} has flags {:#b}, but the open requests are {open:?}", conn.flags));
            }
        }
        if conn.has(flag::SENDING) {
            match conn.source.as_buffer() {
                Some(buffer) => self.enter(buffer, "being sent"),
                None => self.blocks.push(conn.source.as_block()),
            }
        }
        let mut segment = conn.front();
        for _ in 0..conn.inbox_len {
            let Some(buffer) = segment else { break };
            self.enter(buffer, "in an inbox");
            segment = Some(buffers.segment(buffer).next).filter(|next| *next != NO_BUFFER);
        }
        if segment.is_some() {
            self.report(format!("{key:?} has more than its {} segments", conn.inbox_len));
        }
    }
}

impl Io {
    /// # Errors
    /// The contradictions found.
    pub fn audit(&mut self) -> Result<(), String> {
        let Driver::Uring(Ring::Scripted(sim)) = &self.driver else { return Ok(()) };
        let kernel = sim.0.borrow();
        let mut account = Account::default();
        kernel.held.iter().for_each(|buffer| account.enter(*buffer, "held by the kernel"));
        let held = kernel.held.iter().filter(|buffer| !(BUFFERS..OVERFLOW_START).contains(*buffer)).count();
        let provided = self.replenisher.available;
        if held != provided as usize {
            account.report(format!("{provided} buffers are counted as provided, {held} are"));
        }
        self.buffers.free_overflow().iter().for_each(|buffer| account.enter(*buffer, "free"));
        for key in self.conns.keys() {
            let conn = self.conns.get(key).expect("the key is live");
            account.enter_conn(key, conn, &mut self.buffers, &kernel.open);
        }
        for (kind, key) in kernel.open.iter().filter(|(kind, _)| REQUESTS.iter().any(|(of, _)| of == kind)) {
            if self.conns.get(*key).is_none() {
                account.report(format!("{kind:?} of {key:?}, which is gone, is open"));
            }
        }
        if kernel.in_flight() as usize != kernel.open.len() {
            account.report(format!("{} requests are counted, {:?} are open", kernel.in_flight(), kernel.open));
        }
        let known: Vec<u16> = self.buffers.known().collect();
        let lent = known.iter().filter(|buffer| !account.places.contains_key(buffer)).count();
        let (all, found, counted) = (known.len(), account.places.len(), self.buffers.leased);
        if lent != counted as usize || all != found + lent {
            account.report(format!("of {all} buffers {found} were found, and {counted} are counted as lent"));
        }
        let (mut sent, busy) = (std::mem::take(&mut account.blocks), self.send_buffers.busy());
        sent.sort_unstable();
        if sent != busy {
            account.report(format!("send buffers {sent:?} are being sent, {busy:?} are not free"));
        }
        if account.violations.is_empty() { Ok(()) } else { Err(account.violations.join("; ")) }
    }

    /// Whether a connection that needs a buffer has to wait because none is left.
    pub fn no_buffer_is_left(&self) -> bool {
        let Driver::Uring(Ring::Scripted(sim)) = &self.driver else { return false };
        sim.0.borrow().net.lent.is_empty() && self.buffers.all_are_out()
    }

    /// Makes the limit of all lingering sends expire.
    pub fn age(&mut self) {
        self.lingering.iter_mut().for_each(|send| (send.until, send.left) = (Instant::now(), Some(0)));
    }

    /// What is left, in words; `None` if nothing is.
    pub fn remains(&self) -> Option<String> {
        let counts = [
            ("connections", self.conns.len()),
            ("watches", self.watches.len()),
            ("addresses", self.addresses.len()),
            ("lingering sends", self.lingering.len()),
            ("waiting connections", usize::from(!self.replenisher.is_idle())),
            ("foreign wakers", self.wakers.foreign.len()),
            ("tasks", self.wakers.tasks.len()),
            ("send buffers", self.send_buffers.busy().len()),
            ("lent buffers", self.buffers.leased as usize),
        ];
        let left: Vec<_> = counts.iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!("{n} {what}")).collect();
        (!left.is_empty()).then(|| left.join(", "))
    }
}
