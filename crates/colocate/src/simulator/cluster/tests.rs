use super::*;
use crate::policy::choice::Choice;
use crate::simulator::{Job, Load, Trouble, preset};

fn cluster(policy: Choice, placement: Placement, offered: f64) -> Cluster {
    let (machine, service, objective) = preset::server();
    let machine = Scenario {
        machine,
        service,
        objective,
        job: Job::MEMORY,
        turns: None,
        load: Load::Day,
        seconds: 1800,
        policy,
        missing: 0.0,
        knows_load: true,
        trouble: Trouble::default(),
        seed: 3,
    };
    Cluster { machine, machines: 6, placement, offered, job_seconds: 120.0 }
}

#[test]
fn all_work_that_arrives_is_done_once_where_there_is_room_for_it() {
    for placement in Placement::ALL {
        let outcome = simulate(&cluster(Choice::Static(4.0), placement, 0.2));
        assert!((outcome.be_rate - 0.2).abs() < 0.06, "{outcome:?}");
        assert!(outcome.slowdown < 2.0 && outcome.evicted == 0 && outcome.wasted == 0.0, "{outcome:?}");
        assert!(outcome.emu > outcome.be_rate && outcome.lowest_emu <= outcome.emu + 1e-9, "{outcome:?}");
    }
}

#[test]
fn jobs_wait_for_a_machine_with_room_instead_of_starving_on_one_without() {
    let [random, spare] =
        [Placement::Random, Placement::Spare].map(|placement| simulate(&cluster(Choice::Static(1.5), placement, 0.8)));
    assert!(random.evicted > 50 && spare.evicted == 0, "{random:?}\n{spare:?}");
    assert!(spare.wasted == 0.0 && random.wasted > 0.0, "{random:?}");
}

#[test]
fn the_same_seed_gives_the_same_cluster() {
    let outcomes = [(); 2].map(|()| simulate(&cluster(Choice::Graded, Placement::Spare, 0.5)));
    assert_eq!(outcomes[0], outcomes[1]);
    assert!(outcomes[0].bad < 0.02 && outcomes[0].be_rate > 0.3, "{:?}", outcomes[0]);
}
