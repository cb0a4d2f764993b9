//! A slab of slots with generations: the key of a freed slot stays invalid when the slot is used again.
//!
//! The first insertion reserves address space for all possible slots; memory is touched as they are used. So a value never
//! moves, growing copies nothing, and finding a slot is one multiplication.

use crate::mm;
use std::{io, marker::PhantomData, mem::needs_drop, ptr::NonNull};

/// Generations have 24 bits, so that one fits beside an index and a tag in a 64-bit word.
pub(crate) const GENERATION_MASK: u32 = 0x00ff_ffff;
/// Slots to reserve: an index has 24 bits in a token, which uses the last one for the future of `block_on`.
const MOST: usize = 0x00ff_fffe;
/// The fewest slots worth reserving.
const LEAST: usize = 1 << 12;

pub(crate) struct Slot<T> {
    /// Odd while the slot is live, even while it is free.
    generation: u32,
    value: T,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Key {
    pub index: u32,
    pub generation: u32,
}

/// Invariant: below `used` every slot holds a value, `T::default()` if it is free.
pub(crate) struct Slab<T> {
    base: NonNull<Slot<T>>,
    room: usize,
    used: usize,
    free: Vec<u32>,
    owns: PhantomData<T>,
}

impl<T: Default> Slab<T> {
    pub fn new() -> Self {
        Self { base: NonNull::dangling(), room: 0, used: 0, free: Vec::new(), owns: PhantomData }
    }

    pub fn len(&self) -> usize {
        self.used - self.free.len()
    }

    /// # Panics
    /// If all slots are taken (sixteen million unless address space is limited), or no address space is left.
    pub fn insert(&mut self, value: T) -> Key {
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.begin_slot(),
        };
        // SAFETY: `index` is below `used`: it was freed before, or `begin_slot` returned it.
        let slot = unsafe { self.base.add(index as usize).as_mut() };
        slot.generation = (slot.generation + 1) & GENERATION_MASK;
        slot.value = value;
        Key { index, generation: slot.generation }
    }

    #[cold]
    fn begin_slot(&mut self) -> u32 {
        if self.room == 0 {
            self.reserve().unwrap_or_else(|error| panic!("no address space is left: {error}"));
        }
        assert!(self.used < self.room, "all {} slots of this runtime are taken", self.room);
        // SAFETY: memory below `room` is reserved, and nothing refers to memory above `used`.
        unsafe { self.base.add(self.used).write(Slot { generation: 0, value: T::default() }) };
        self.used += 1;
        (self.used - 1) as u32
    }

    /// Reserves address space for as many slots as there can be, or as a limit (`ulimit -v`) allows.
    fn reserve(&mut self) -> io::Result<()> {
        let mut room = MOST;
        self.base = loop {
            match mm::reserve(room * size_of::<Slot<T>>()) {
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory && room / 4 >= LEAST => room /= 4,
                base => break base?,
            }
        };
        self.room = room;
        Ok(())
    }

    /// A free slot matches no key: its generation is even, those of keys are odd.
    #[inline]
    fn slot(&mut self, key: Key) -> Option<&mut Slot<T>> {
        if key.index as usize >= self.used {
            return None;
        }
        // SAFETY: below `used` every slot was written, and the borrow of `self` makes this the only reference to it.
        let slot = unsafe { self.base.add(key.index as usize).as_mut() };
        (slot.generation == key.generation).then_some(slot)
    }

    #[inline]
    pub fn get(&mut self, key: Key) -> Option<&mut T> {
        self.slot(key).map(|slot| &mut slot.value)
    }

    /// The value of a slot of any generation, for slots that link to each other.
    #[inline]
    pub fn at(&mut self, index: u32) -> &mut T {
        assert!((index as usize) < self.used, "the index is beyond the used slots");
        // SAFETY: below `used` every slot was written, and the borrow of `self` makes this the only reference to it.
        unsafe { &mut self.base.add(index as usize).as_mut().value }
    }

    pub fn remove(&mut self, key: Key) -> Option<T> {
        let slot = self.slot(key)?;
        slot.generation = (slot.generation + 1) & GENERATION_MASK;
        let value = std::mem::take(&mut slot.value);
        self.free.push(key.index);
        Some(value)
    }

    /// The keys of all live slots; not for hot paths.
    pub fn keys(&self) -> Vec<Key> {
        // SAFETY: below `used` every slot was written, and the borrow of `self` keeps them as they are.
        let slots = unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.used) };
        let live = slots.iter().enumerate().filter(|(_, slot)| slot.generation & 1 == 1);
        live.map(|(index, slot)| Key { index: index as u32, generation: slot.generation }).collect()
    }
}

impl<T> Drop for Slab<T> {
    fn drop(&mut self) {
        if needs_drop::<T>() {
            for index in 0..self.used {
                // SAFETY: below `used` every slot holds a value, which is not used again.
                unsafe { self.base.add(index).drop_in_place() };
            }
        }
        if self.room > 0 {
            // SAFETY: reserved in `reserve` with this length; no reference to a slot outlives the slab.
            unsafe { mm::release(self.base, self.room * size_of::<Slot<T>>()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn behaves_like_a_map_whose_keys_are_never_reused(
            ops in proptest::collection::vec((any::<bool>(), 0usize..64), 1..600),
        ) {
            let (mut slab, mut model, mut dead) = (Slab::new(), HashMap::new(), Vec::new());
            for (i, (insert, pick)) in ops.into_iter().enumerate() {
                if insert || model.is_empty() {
                    let key = slab.insert(i);
                    prop_assert!(model.insert(key, i).is_none());
                } else {
                    let key = *model.keys().nth(pick % model.len()).unwrap();
                    prop_assert_eq!(slab.remove(key), model.remove(&key));
                    dead.push(key);
                }
                prop_assert_eq!(slab.len(), model.len());
                prop_assert!(dead.iter().all(|key| slab.get(*key).is_none()));
            }
            prop_assert!(model.iter().all(|(key, value)| slab.get(*key) == Some(&mut value.clone())));
            prop_assert_eq!(slab.keys().len(), model.len());
        }
    }
}
