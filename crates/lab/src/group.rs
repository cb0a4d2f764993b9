//! Grouping and distinct values, in order of first occurrence.

pub(crate) fn grouped<K: PartialEq, V>(items: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in items {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

pub(crate) fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    grouped(items.into_iter().map(|item| (item, ()))).into_iter().map(|(item, _)| item).collect()
}
