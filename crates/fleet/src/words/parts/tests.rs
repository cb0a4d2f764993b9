//! Parts in any order, repeated, corrupted, and more than there is room for.

use super::super::{decode, encode};
use super::*;
use proptest::prelude::*;

fn origin(second: u64) -> Origin {
    Origin { run: "r".to_owned(), epoch: 1, agent: "a".to_owned(), incarnation: 7, second }
}

fn tables() -> impl Strategy<Value = Vec<Table>> {
    let distributions = prop::collection::btree_map("[a-z]{1,9}", prop::collection::vec(any::<u8>(), 0..90), 0..4);
    let counters = prop::collection::btree_map("[a-z]{1,9}", any::<u64>(), 0..4);
    let table = (distributions, counters).prop_map(|(distributions, counters)| Table { distributions, counters });
    prop::collection::vec(table, 1..5)
}

proptest! {
    #[test]
    fn parts_in_any_order_and_repeated_give_each_table(
        tables in tables(),
        limit in 1..120usize,
        shuffled in any::<prop::sample::Index>(),
        repeated in any::<prop::sample::Index>(),
    ) {
        let mut parts: Vec<Part> = (0..).zip(&tables).flat_map(|(second, table)| split(&origin(second), &table.encode(), limit)).collect();
        prop_assert!(parts.iter().all(|part| part.data.len() <= limit));
        parts.push(parts[repeated.index(parts.len())].clone());
        let mut keyed: Vec<(u64, Part)> = parts
            .into_iter()
            .zip(0u64..)
            .map(|(part, number)| ((number + 1).wrapping_mul(shuffled.index(usize::MAX) as u64 | 1) >> 7, part))
            .collect();
        keyed.sort_by_key(|(key, _)| *key);
        let mut assembler = Assembler::new("r", 1, 1 << 20);
        let mut found = BTreeMap::new();
        for (_, part) in keyed {
            let read: Part = decode(&encode(&part).unwrap()).unwrap();
            prop_assert_eq!(&read, &part);
            if let Some(whole) = assembler.take(part).unwrap() {
                prop_assert_eq!((whole.agent.as_str(), whole.incarnation), ("a", 7));
                found.insert(whole.second, whole.table);
            }
        }
        prop_assert_eq!(found.into_values().collect::<Vec<_>>(), tables);
    }

    #[test]
    fn whatever_arrives_the_limit_holds_and_no_wrong_table_comes_out(
        tables in tables(),
        limit in 300..4000usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..5u8, any::<u8>()), 0..40),
    ) {
        let whole: Vec<Part> = (0..).zip(&tables).flat_map(|(second, table)| split(&origin(second), &table.encode(), 16)).collect();
        let mut assembler = Assembler::new("r", 1, limit);
        for (which, field, value) in damage {
            let mut part = whole[which.index(whole.len())].clone();
            match field {
                0 => part.data[0] ^= value,
                1 => part.part = u32::from(value),
                2 => part.bytes = u64::from(value) << 3,
                3 => part.origin.second = u64::from(value),
                _ => (),
            }
            if let Ok(Some(assembled)) = assembler.take(part) {
                // The digest covers the whole, not its number.
                prop_assert!(tables.contains(&assembled.table));
            }
            prop_assert!(assembler.held() <= limit);
        }
    }
}

#[test]
fn the_largest_part_is_below_the_largest_message() {
    let bytes = vec![255; 3 * PART_BYTES];
    let table = Table { distributions: [("response".to_owned(), bytes)].into(), counters: BTreeMap::new() };
    let names = Origin { agent: "a".repeat(1000), second: u64::MAX, ..origin(0) };
    let parts = split(&names, &table.encode(), usize::MAX);
    assert_eq!(parts.len(), 4);
    for part in &parts {
        assert!(encode(part).unwrap().len() <= MAX_MESSAGE_BYTES);
    }
    let mut foreign = Assembler::new("r", 2, 10 * PART_BYTES);
    assert!(matches!(foreign.take(parts[0].clone()), Err(PartError::Foreign { epoch: 1, .. })));
    let mut assembler = Assembler::new("r", 1, PART_BYTES);
    assert!(matches!(assembler.take(parts[0].clone()), Err(PartError::Large { .. })));
    assert_eq!(assembler.held(), 0);
}
