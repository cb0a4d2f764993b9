//! A worker's timers in a hierarchical wheel (Varghese and Lauck, SOSP 1987): constant cost of arming and removing.
//!
//! A slot of the lowest level holds the deadlines of one tick, a slot of the next level those of 64 ticks, and so on; nine
//! levels cover 64 bits of nanoseconds. When the time of a higher slot comes, its timers move down a level.
//!
//! Invariants:
//! - Slots only group: a timer fires at its exact deadline, neither earlier nor at the end of its tick.
//! - Equal deadlines fire in the order in which they were armed.
//! - Never runs foreign code, and never allocates for a timer.

use crate::slab::{Key, Slab};
use crate::task::waiter::{Waiter, Wakers};
use std::time::{Duration, Instant};
use std::{mem, task::Context};

/// A tick is 2^10 ns. With longer ticks a slot of thousands of timers is walked for each one that comes due.
const TICK_BITS: u32 = 10;
const LEVEL_BITS: u32 = 6;
const SLOTS: usize = 1 << LEVEL_BITS;
const LEVELS: usize = (u64::BITS - TICK_BITS).div_ceil(LEVEL_BITS) as usize;
const NEVER: u64 = u64::MAX;
/// Timers processed in one turn, rounded up to whole slots: after a long pause the rest follows in later turns.
const WORK_A_TURN: usize = 1024;
/// Links from here on denote slots: a slot and its timers form a ring. No slab grows that far.
const RING: u32 = 1 << 24;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Links {
    previous: u32,
    next: u32,
}

impl Links {
    /// Links of a fired timer, which is in no slot.
    const NONE: Self = Self { previous: u32::MAX, next: u32::MAX };

    /// Reads one field only: both were written separately, and one combined load would stall on store forwarding.
    #[inline]
    fn are_none(self) -> bool {
        self.previous == Self::NONE.previous
    }

    fn to_itself(slot: usize) -> Self {
        Self { previous: RING + slot as u32, next: RING + slot as u32 }
    }
}

struct Timer {
    deadline: u64,
    links: Links,
    waiter: Waiter,
}

impl Default for Timer {
    fn default() -> Self {
        Self { deadline: NEVER, links: Links::NONE, waiter: Waiter::default() }
    }
}

/// The first and last timer of a slot, and a lower bound of its deadlines, exact unless the earliest timer was removed.
struct Slot {
    links: Links,
    least: u64,
}

pub(crate) struct Timers {
    timers: Slab<Timer>,
    slots: Box<[Slot]>,
    /// Bitmaps of occupied slots by level, and of levels with such slots.
    occupied: [u64; LEVELS],
    levels: u16,
    /// The wheel's current tick. A timer's level is that of the highest digit in which its tick differs from this one.
    tick: u64,
    /// The `least` of the first slot, in nanoseconds and as an `Instant` for the check in every turn.
    next: u64,
    next_at: Instant,
    start: Instant,
    /// Due timers of one slot, in order: deadline, position in the slot, number.
    due: Vec<(u64, u32, u32)>,
}

impl Timers {
    pub fn new(start: Instant) -> Self {
        let slots = (0..LEVELS * SLOTS).map(|slot| Slot { links: Links::to_itself(slot), least: NEVER });
        Self {
            timers: Slab::new(),
            slots: slots.collect(),
            occupied: [0; LEVELS],
            levels: 0,
            tick: 0,
            next: NEVER,
            next_at: start,
            start,
            due: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.timers.len()
    }

    #[inline]
    pub fn is_idle(&self) -> bool {
        self.next == NEVER
    }

    /// When to call `fire` again: the first deadline, or earlier if that timer was removed from a slot with others.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        (self.next != NEVER).then_some(self.next_at)
    }

    /// Nanoseconds since `start`, saturating at both ends.
    #[inline]
    fn nanos(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.start);
        since.as_secs().saturating_mul(1_000_000_000).saturating_add(since.subsec_nanos().into()).min(NEVER - 1)
    }

    pub fn insert(&mut self, at: Instant) -> Key {
        let deadline = self.nanos(at);
        let key = self.timers.insert(Timer { deadline, ..Timer::default() });
        self.attach(key.index, deadline);
        if deadline < self.next {
            (self.next, self.next_at) = (deadline, at);
        }
        key
    }

    /// True when the timer has fired; otherwise registers the waker.
    pub fn poll(&mut self, key: Key, wakers: &mut Wakers, cx: &Context<'_>) -> bool {
        match self.timers.get(key) {
            Some(timer) if !timer.links.are_none() => {
                wakers.park(&mut timer.waiter, cx);
                false
            }
            _ => true,
        }
    }

    pub fn remove(&mut self, key: Key, wakers: &mut Wakers) {
        let Some(timer) = self.timers.get(key) else { return };
        let links = timer.links;
        wakers.forget(&mut timer.waiter);
        self.timers.remove(key);
        if !links.are_none() && self.detach(links) {
            self.find_next();
        }
    }

    /// Fires timers due at `now`, earliest first. If very many are due, some remain, and `next_deadline` is in the past.
    #[inline]
    pub fn fire(&mut self, now: Instant, wakers: &mut Wakers) {
        if self.next != NEVER && self.next_at <= now {
            self.turn(self.nanos(now), wakers);
        }
    }

    fn turn(&mut self, now: u64, wakers: &mut Wakers) {
        let mut work = 0;
        while work < WORK_A_TURN
            && let Some(slot) = self.first()
            && self.slots[slot].least <= now
        {
            // No timer is earlier than the first slot's lower bound, so the wheel may advance to it.
            self.tick = self.tick.max(self.slots[slot].least >> TICK_BITS);
            work += match self.alone_in(slot) {
                // Fires without moving down.
                Some(number) if self.timers.at(number).deadline <= now => self.fire_one(number, wakers),
                _ if slot < SLOTS => self.fire_slot(slot, now, wakers),
                _ => self.move_down(slot),
            };
        }
        self.find_next();
    }

    fn find_next(&mut self) {
        let next = self.first().map_or(NEVER, |slot| self.slots[slot].least);
        // Rarely changes: saves the division.
        if mem::replace(&mut self.next, next) != next && next != NEVER {
            self.next_at = self.start + Duration::from_nanos(next);
        }
    }

    /// The slot with the first deadline: all slots of a lower level precede those of a higher one.
    #[inline]
    fn first(&self) -> Option<usize> {
        let level = self.levels.trailing_zeros() as usize;
        Some(level * SLOTS + self.occupied.get(level)?.trailing_zeros() as usize)
    }

    fn alone_in(&self, slot: usize) -> Option<u32> {
        let Links { previous, next } = self.slots[slot].links;
        (previous == next).then_some(next)
    }

    fn fire_one(&mut self, number: u32, wakers: &mut Wakers) -> usize {
        let timer = self.timers.at(number);
        let links = mem::replace(&mut timer.links, Links::NONE);
        wakers.wake(&mut timer.waiter);
        self.detach(links);
        1
    }

    /// Fires the due timers of a slot of one tick; returns the number of timers visited.
    fn fire_slot(&mut self, slot: usize, now: u64, wakers: &mut Wakers) -> usize {
        let (mut looked, mut least) = (0, NEVER);
        let mut next = self.slots[slot].links.next;
        while next < RING {
            let number = next;
            let timer = self.timers.at(number);
            let links = timer.links;
            next = links.next;
            looked += 1;
            if timer.deadline > now {
                least = least.min(timer.deadline);
                continue;
            }
            timer.links = Links::NONE;
            self.due.push((timer.deadline, looked, number));
            self.detach(links);
        }
        self.slots[slot].least = least;
        self.due.sort_unstable();
        for &(_, _, number) in &self.due {
            wakers.wake(&mut self.timers.at(number).waiter);
        }
        self.due.clear();
        self.due.shrink_to(WORK_A_TURN);
        looked as usize
    }

    /// Distributes the timers of the current slot over lower levels; returns their number.
    fn move_down(&mut self, slot: usize) -> usize {
        let mut next = mem::replace(&mut self.slots[slot].links, Links::to_itself(slot)).next;
        self.vacate(slot);
        let mut moved = 0;
        while next < RING {
            let number = next;
            let timer = self.timers.at(number);
            let deadline = timer.deadline;
            next = timer.links.next;
            self.attach(number, deadline);
            moved += 1;
        }
        moved
    }

    /// Appends a timer to the slot of its deadline.
    #[inline]
    fn attach(&mut self, number: u32, deadline: u64) {
        // Overdue timers belong to the current tick.
        let tick = (deadline >> TICK_BITS).max(self.tick);
        // The level is that of the highest digit in which the two ticks differ.
        let level = ((tick ^ self.tick) | 1).ilog2() / LEVEL_BITS;
        let place = (tick >> (level * LEVEL_BITS)) as usize % SLOTS;
        let level = level as usize;
        self.occupied[level] |= 1 << place;
        self.levels |= 1 << level;
        let ring = level * SLOTS + place;
        let slot = &mut self.slots[ring];
        slot.least = slot.least.min(deadline);
        let previous = mem::replace(&mut slot.links.previous, number);
        self.timers.at(number).links = Links { previous, next: RING + ring as u32 };
        self.links(previous).next = number;
    }

    /// Unlinks a timer with these links; true if that emptied the first slot.
    #[inline]
    fn detach(&mut self, Links { previous, next }: Links) -> bool {
        self.links(previous).next = next;
        self.links(next).previous = previous;
        // Both neighbours are the same only if it is the slot itself.
        if previous != next {
            return false;
        }
        let slot = (next - RING) as usize;
        let first = self.slots[slot].least == self.next;
        self.vacate(slot);
        first
    }

    fn vacate(&mut self, slot: usize) {
        self.slots[slot].least = NEVER;
        self.occupied[slot / SLOTS] &= !(1 << (slot % SLOTS));
        if self.occupied[slot / SLOTS] == 0 {
            self.levels &= !(1 << (slot / SLOTS));
        }
    }

    #[inline]
    fn links(&mut self, of: u32) -> &mut Links {
        match of.checked_sub(RING) {
            Some(slot) => &mut self.slots[slot as usize].links,
            None => &mut self.timers.at(of).links,
        }
    }
}

#[cfg(test)]
mod tests;
