//! A line of those who wait: first come, first served, and who gives up leaves no gap behind for long.

use std::collections::VecDeque;

/// A place in one line. A ticket is never given out twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

pub(crate) struct Line<T> {
    /// By ticket, ascending; `None` has given up and is swept out when half of the line has.
    places: VecDeque<(u64, Option<T>)>,
    next: u64,
    gone: usize,
}

impl<T> Line<T> {
    pub const fn new() -> Self {
        Self { places: VecDeque::new(), next: 0, gone: 0 }
    }

    /// Stands at the end.
    pub fn enter(&mut self, value: T) -> Ticket {
        let ticket = self.next;
        self.next += 1;
        self.places.push_back((ticket, Some(value)));
        Ticket(ticket)
    }

    /// Who stands at this place, if anybody still does.
    pub fn get(&mut self, ticket: Ticket) -> Option<&mut T> {
        self.place(ticket)?.as_mut()
    }

    /// Gives a place up.
    pub fn leave(&mut self, ticket: Ticket) -> Option<T> {
        let value = self.place(ticket)?.take()?;
        self.gone += 1;
        self.sweep();
        Some(value)
    }

    /// Takes whoever has waited longest.
    pub fn pop(&mut self) -> Option<T> {
        while let Some((_, value)) = self.places.pop_front() {
            if value.is_some() {
                self.sweep();
                return value;
            }
            self.gone -= 1;
        }
        None
    }

    /// Sweeps the gone out once they are more than half of the line, so that each is paid for by one who left.
    fn sweep(&mut self) {
        if self.gone * 2 > self.places.len() {
            self.places.retain(|(_, value)| value.is_some());
            self.gone = 0;
            if self.places.capacity() > 16 + 4 * self.places.len() {
                self.places.shrink_to(2 * self.places.len());
            }
        }
    }

    /// All that wait, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|(_, value)| value.as_ref())
    }

    /// Takes all that wait, in order.
    pub fn take_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.gone = 0;
        std::mem::take(&mut self.places).into_iter().filter_map(|(_, value)| value)
    }

    fn place(&mut self, ticket: Ticket) -> Option<&mut Option<T>> {
        let index = self.places.binary_search_by_key(&ticket.0, |(ticket, _)| *ticket).ok()?;
        Some(&mut self.places[index].1)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn serves_in_order_and_keeps_no_room_for_the_gone(ops in proptest::collection::vec((0u8..5, 0usize..64), 1..500)) {
            let (mut line, mut model) = (Line::new(), Vec::<(Ticket, usize)>::new());
            let mut gone = Vec::new();
            for (value, (op, pick)) in ops.into_iter().enumerate() {
                match op {
                    0 | 1 => model.push((line.enter(value), value)),
                    2 if !model.is_empty() => {
                        let (ticket, value) = model.remove(pick % model.len());
                        prop_assert_eq!(line.leave(ticket), Some(value));
                        gone.push(ticket);
                    }
                    3 => {
                        let first = (!model.is_empty()).then(|| model.remove(0));
                        prop_assert_eq!(line.pop(), first.map(|(_, value)| value));
                        gone.extend(first.map(|(ticket, _)| ticket));
                    }
                    _ if pick == 0 => {
                        let all: Vec<_> = line.take_all().collect();
                        prop_assert!(all.iter().eq(model.iter().map(|(_, value)| value)));
                        gone.extend(model.drain(..).map(|(ticket, _)| ticket));
                    }
                    _ => (),
                }
                prop_assert!(line.iter().eq(model.iter().map(|(_, value)| value)));
                prop_assert!(line.places.len() <= 2 * model.len(), "{} places for {}", line.places.len(), model.len());
                prop_assert!(gone.iter().all(|ticket| line.get(*ticket).is_none()));
                prop_assert!(gone.iter().all(|ticket| line.leave(*ticket).is_none()));
            }
            prop_assert!(model.iter().all(|(ticket, value)| line.get(*ticket) == Some(&mut value.clone())));
        }
    }
}
