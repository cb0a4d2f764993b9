//! Chunked slots with generations: an index that was freed and used again is told from the first one.
//!
//! Grows by whole chunks and never moves a value: doubling a vector would double the memory of a million connections.

const CHUNK_BITS: u32 = 8;
const CHUNK: usize = 1 << CHUNK_BITS;

/// Generations are kept to 24 bits so that they fit beside an index and a tag in one 64-bit word.
pub(crate) const GENERATION_MASK: u32 = 0x00ff_ffff;

struct Slot<T> {
    generation: u32,
    value: T,
}

/// Which slot, and which use of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub index: u32,
    pub generation: u32,
}

/// The slots. `T::default()` is what a free slot holds.
pub(crate) struct Slab<T> {
    chunks: Vec<Box<[Slot<T>; CHUNK]>>,
    free: Vec<u32>,
    live: usize,
}

impl<T: Default> Slab<T> {
    pub fn new() -> Self {
        Self { chunks: Vec::new(), free: Vec::new(), live: 0 }
    }

    pub fn len(&self) -> usize {
        self.live
    }

    pub fn insert(&mut self, value: T) -> Key {
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.grow(),
        };
        let slot = &mut self.chunks[(index >> CHUNK_BITS) as usize][index as usize & (CHUNK - 1)];
        // Odd generations are live, even ones free: one word answers both questions.
        slot.generation = (slot.generation + 1) & GENERATION_MASK;
        slot.value = value;
        self.live += 1;
        Key { index, generation: slot.generation }
    }

    fn grow(&mut self) -> u32 {
        let base = (self.chunks.len() as u32) << CHUNK_BITS;
        let chunk: Box<[_]> = (0..CHUNK).map(|_| Slot { generation: 0, value: T::default() }).collect();
        self.chunks.push(chunk.try_into().unwrap_or_else(|_| unreachable!("a chunk has CHUNK slots")));
        self.free.extend((base + 1..base + CHUNK as u32).rev());
        base
    }

    /// Keys are made of odd generations only, so a free slot, whose generation is even, matches none.
    #[inline]
    fn slot(&mut self, key: Key) -> Option<&mut Slot<T>> {
        let chunk = self.chunks.get_mut((key.index >> CHUNK_BITS) as usize)?;
        let slot = &mut chunk[key.index as usize & (CHUNK - 1)];
        (slot.generation == key.generation).then_some(slot)
    }

    #[inline]
    pub fn get(&mut self, key: Key) -> Option<&mut T> {
        self.slot(key).map(|slot| &mut slot.value)
    }

    pub fn remove(&mut self, key: Key) -> Option<T> {
        let slot = self.slot(key)?;
        slot.generation = (slot.generation + 1) & GENERATION_MASK;
        let value = std::mem::take(&mut slot.value);
        self.free.push(key.index);
        self.live -= 1;
        Some(value)
    }

    /// The keys of all live slots, for shutting down; not for hot paths.
    pub fn keys(&self) -> Vec<Key> {
        let slots = self.chunks.iter().flat_map(|chunk| chunk.iter());
        slots
            .enumerate()
            .filter(|(_, slot)| slot.generation & 1 == 1)
            .map(|(index, slot)| Key { index: index as u32, generation: slot.generation })
            .collect()
    }
}

/// Bytes one value of `T` takes in a slab.
pub(crate) const fn slot_size<T>() -> usize {
    size_of::<Slot<T>>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn behaves_like_a_map_and_never_confuses_two_lives_of_a_slot(ops in proptest::collection::vec((any::<bool>(), 0usize..64), 1..600)) {
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
