//! `brunt ci` tells a slower version from an equal one.

use super::shared::repository::Tree;
use brunt_testkit::{alone, told};
use std::fs;

#[test]
fn a_slower_tree_crosses_a_bound_and_an_equal_one_does_not() {
    let _alone = alone();
    let tree = Tree::new(5);
    tree.write("notes", "head is another commit");
    tree.commit();
    let bounds = ["plan.toml", "--base", "HEAD~1", "--fail-if", "rate<-50%&5"];
    let Some(output) = tree.compare(&bounds, false) else { return };
    let (stdout, stderr) = told(&output, 0);
    assert!(stdout.starts_with("A  base\nB  head\n") && stdout.contains(" rounds of slices"), "{stdout}");
    assert!(
        stderr.contains("base: HEAD~1 (") && stderr.contains(", built in place\n") && !stderr.contains("with changes"),
        "{stderr}"
    );
    tree.assert_clean();

    // The change is in no commit yet.
    tree.delay(50);
    let junit = tree.home.path().join("junit.xml");
    // The change is relatively large, and matters little by the second bound.
    let reported = [&bounds[..], &["--fail-if", "rate<-50%&10k", "--junit", junit.to_str().unwrap()]].concat();
    let Some(output) = tree.compare(&reported, true) else { return };
    let (stdout, stderr) = told(&output, 99);
    assert!(stderr.contains(" with changes that are in no commit, built in place"), "{stderr}");
    assert!(stderr.contains("threshold crossed: rate<-50%&5: it was -"), "{stderr}\n{stdout}");
    assert_eq!(stderr.matches("threshold crossed: ").count(), 1, "{stderr}");
    assert!(stderr.contains("::error title=brunt ci%3A rate<-50%25&5::"), "{stderr}");
    let junit = fs::read_to_string(junit).unwrap();
    assert!(junit.contains("<testcase classname=\"brunt ci\" name=\"rate&lt;-50%&amp;5\""), "{junit}");
    assert!(junit.contains("failures=\"1\""), "{junit}");
    tree.assert_clean();
    assert!(tree.root().join("runs/ci-2/report.md").exists());
}
