//! For tests on the fake ring: whether everything the runtime has is in exactly one place.

use super::Io;
use crate::{
    buffers::recv::{BUFFERS, NO_BUFFER, OVERFLOW_START},
    driver::Driver,
    driver::user_data::OpKind,
    io::conn::{Source, flag},
    sim::Ring,
};
use std::{collections::HashMap, time::Instant};

/// Who has which buffer.
#[derive(Default)]
struct Book {
    places: HashMap<u16, &'static str>,
    faults: Vec<String>,
}

impl Book {
    fn enter(&mut self, buffer: u16, place: &'static str) {
        if let Some(other) = self.places.insert(buffer, place) {
            self.faults.push(format!("buffer {buffer} is {place} and {other}"));
        }
    }
}

impl Io {
    /// Counts everything; says what is in two places or in none.
    pub fn audit(&mut self) -> Result<(), String> {
        let Driver::Uring(Ring::Sim(sim)) = &self.driver else { return Ok(()) };
        let kernel = sim.kernel();
        let mut book = Book::default();
        kernel.held.iter().for_each(|buffer| book.enter(*buffer, "with the kernel"));
        let is_large = |buffer: &&u16| (BUFFERS..OVERFLOW_START).contains(*buffer);
        let held = kernel.held.len() - kernel.held.iter().filter(is_large).count();
        if held != self.replenisher.available() as usize {
            book.faults.push(format!("{} buffers are counted as provided, {held} are", self.replenisher.available()));
        }
        self.buffers.free_overflow().iter().for_each(|spare| book.enter(*spare, "at home"));
        let mut blocks = Vec::new();
        let kinds =
            [(OpKind::Receive, flag::RECEIVING), (OpKind::Send, flag::SENDING), (OpKind::Connect, flag::CONNECTING)];
        for key in self.conns.keys() {
            let conn = self.conns.get(key).expect("the key is live");
            for (kind, bit) in kinds {
                if conn.has(bit) != kernel.open.contains(&(kind, key)) {
                    book.faults.push(format!("{key:?} has flags {:#b}, and of requests {:?}", conn.flags, kernel.open));
                }
            }
            if conn.has(flag::SENDING) {
                let source: Source = conn.source;
                match source.as_buffer() {
                    Some(buffer) => book.enter(buffer, "being sent"),
                    None => blocks.push(source.as_block()),
                }
            }
            let (mut segment, mut many) = (conn.front(), 0);
            while let Some(buffer) = segment {
                book.enter(buffer, "in an inbox");
                let next = self.buffers.segment(buffer).next;
                segment = (next != NO_BUFFER).then_some(next);
                many += 1;
                if many > conn.inbox_len {
                    book.faults.push(format!("{key:?} has more than its {} segments", conn.inbox_len));
                    break;
                }
            }
        }
        for (kind, key) in kernel.open.iter().filter(|(kind, _)| kinds.iter().any(|(of, _)| of == kind)) {
            if self.conns.get(*key).is_none() {
                book.faults.push(format!("{kind:?} of {key:?}, which is gone, is open"));
            }
        }
        if kernel.in_flight() as usize != kernel.open.len() {
            book.faults.push(format!("{} requests are counted, {:?} are open", kernel.in_flight(), kernel.open));
        }
        drop(kernel);
        let known: Vec<u16> = self.buffers.known().collect();
        let leased = known.iter().filter(|buffer| !book.places.contains_key(buffer)).count();
        if leased != self.buffers.leased as usize || known.len() != book.places.len() + leased {
            let (all, places) = (known.len(), book.places.len());
            let counted = self.buffers.leased;
            book.faults.push(format!("of {all} buffers {places} are somewhere, and {counted} leased"));
        }
        blocks.sort_unstable();
        if blocks != self.send_buffers.busy() {
            book.faults.push(format!("blocks {blocks:?} are being sent, {:?} are not free", self.send_buffers.busy()));
        }
        if book.faults.is_empty() { Ok(()) } else { Err(book.faults.join("; ")) }
    }

    /// Whether a connection that wants a buffer has to wait for one: there is none.
    pub fn no_buffer_is_left(&self) -> bool {
        let Driver::Uring(Ring::Sim(sim)) = &self.driver else { return false };
        sim.kernel().net.lent.is_empty() && self.buffers.all_are_out()
    }

    /// As if the time of all sends that linger were over.
    pub fn age(&mut self) {
        self.lingering.iter_mut().for_each(|lingering| lingering.until = Instant::now());
    }

    /// What is still there, in words; nothing if nothing is.
    pub fn remains(&self) -> Option<String> {
        let counts = [
            ("connections", self.conns.len()),
            ("listeners", self.listeners.len()),
            ("watches", self.watches.len()),
            ("addresses", self.addresses.len()),
            ("lingering sends", self.lingering.len()),
            ("waiting connections", usize::from(!self.replenisher.is_idle())),
            ("foreign wakers", self.wakers.foreign_count()),
            ("tasks", self.wakers.task_count()),
            ("blocks", self.send_buffers.busy().len()),
            ("leases", self.buffers.leased as usize),
        ];
        let left: Vec<String> =
            counts.iter().filter(|(_, many)| *many > 0).map(|(what, many)| format!("{many} {what}")).collect();
        (!left.is_empty()).then(|| left.join(", "))
    }
}
