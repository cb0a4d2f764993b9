//! The table of pages in `docs/results/README.md`: its rows begin with a link to the page, its last column is generated.

/// The folder that a row links in its first cell.
fn page(line: &str) -> Option<&str> {
    let cell = line.strip_prefix("| [")?.split('|').next()?;
    cell.split_once("](")?.1.strip_suffix("/README.md) ").filter(|folder| !folder.contains('/'))
}

/// The pages with a row.
pub fn pages(index: &str) -> Vec<&str> {
    index.lines().filter_map(page).collect()
}

/// The index with this text in the last cell of the page's row.
pub fn with_changed(index: &str, wanted: &str, changed: &str) -> Result<String, String> {
    let rows = pages(index).iter().filter(|page| **page == wanted).count();
    if rows != 1 {
        return Err(format!("{rows} rows of the table begin with a link to {wanted}/README.md; it has to be one"));
    }
    let replaced = |line: &str| match line.trim_end().strip_suffix('|').and_then(|line| line.rsplit_once('|')) {
        Some((rest, _)) if page(line) == Some(wanted) => format!("{rest}| {changed} |\n"),
        _ => line.to_owned(),
    };
    Ok(index.split_inclusive('\n').map(replaced).collect())
}

#[test]
fn the_last_cell_of_a_row_is_replaced() {
    let index = "| report | contents | changed |\n|---|---|---|\n| [a](a/README.md) | [b](b/README.md) | x |\n";
    let expected = index.replace("| x |", "| load, serve |");
    assert_eq!(with_changed(index, "a", "load, serve"), Ok(expected));
    assert_eq!(pages(index), ["a"]);
    assert!(with_changed(index, "b", "none").unwrap_err().starts_with("0 rows"));
    assert!(with_changed(&index.repeat(2), "a", "none").unwrap_err().starts_with("2 rows"));
}
