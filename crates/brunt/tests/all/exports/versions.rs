//! `--junit FILE` of a comparison of two versions.

use crate::shared::consumers::{is, no_reader, read};
use crate::shared::repository::Tree;
use brunt_testkit::told;

#[test]
fn of_two_versions() {
    if no_reader() {
        return;
    }
    let tree = Tree::with_rates();
    let file = tree.home.path().join("ci.xml");
    let bounds = ["--allow-untrusted", "--fail-if", "rate>-99%", "--fail-if", "rate<-99%", "--junit"];
    let output = tree.compare(25, &[&bounds[..], &[file.to_str().unwrap()]].concat()).output().unwrap();
    told(&output, 99);
    let cases = read(&file, "brunt ci");
    assert!(is(&cases[0], "rate>-99%", "Failure", "rate>-99%: it was -97."), "{cases:?}");
    assert!(cases.len() == 3 && cases[1].0 == "rate<-99%" && cases[1].1.is_empty(), "{cases:?}");
    assert!(cases[2].0.starts_with("trust"), "{cases:?}");
}
