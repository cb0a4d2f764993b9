//! A load as the source of counts of `brunt colocate run`, which cannot be made.

use brunt_colocate::objective::Objective;
use brunt_colocate::signals::requests::{From, Source};
use brunt_testkit::{free_port, until};
use std::path::Path;
use std::time::Instant;

#[test]
fn a_load_that_cannot_be_made_says_why() {
    let closed = format!("127.0.0.1:{}", free_port());
    let objective = Objective { quantile: 0.5, limit_ms: 5.0 };
    let arguments = vec![format!("tcp://{closed}")];
    let brunt = Path::new(env!("CARGO_BIN_EXE_brunt"));
    let mut source = Source::start(&From::Load(arguments), objective, None, brunt).unwrap();
    until("it has ended with its reason", || {
        source.ended(Instant::now()).is_some_and(|why| why.contains("brunt load") && why.contains(&closed))
    });
}
