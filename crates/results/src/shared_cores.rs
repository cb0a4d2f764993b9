//! Cores on which both generator and server may run, so that they wait for each other.

use crate::units::Cores;
use std::fmt;

#[derive(Debug, Clone, PartialEq)]
pub struct SharedCores {
    shared: Cores,
    /// The flags that give each cores of its own; `None` if there is one core for both.
    apart: Option<String>,
}

impl SharedCores {
    /// `None` if they share none. `threads`: those of the generator.
    pub fn of(generator: &[usize], server: &[usize], threads: usize) -> Option<Self> {
        let shared: Vec<usize> = generator.iter().copied().filter(|core| server.contains(core)).collect();
        if shared.is_empty() {
            return None;
        }
        let mut all: Vec<usize> = generator.iter().chain(server).copied().collect();
        all.sort_unstable();
        all.dedup();
        // Each core of --cores has as many threads.
        let of_generator = (1..=all.len() / 2).rev().find(|cores| threads.max(1).is_multiple_of(*cores));
        let apart = of_generator.map(|count| {
            let (generator, server) = all.split_at(count);
            format!("--cores {} --server-cores {}", Cores(generator.to_vec()), Cores(server.to_vec()))
        });
        Some(Self { shared: Cores(shared), apart })
    }

    /// What to do about it, as one sentence.
    pub fn remedy(&self) -> String {
        match &self.apart {
            Some(flags) => format!("give each cores of its own: {flags}"),
            None => "let the generator or the server run on a second core, or load from another machine".to_owned(),
        }
    }
}

impl fmt::Display for SharedCores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "generator and server share {}", self.shared.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(generator: &[usize], server: &[usize], threads: usize) -> Option<(String, String)> {
        SharedCores::of(generator, server, threads).map(|shared| (shared.to_string(), shared.remedy()))
    }

    #[test]
    fn each_gets_cores_that_the_other_has_not() {
        let case = |generator: &[usize], server: &[usize], threads, said: &str, remedy: &str| {
            let (is_said, is_remedy) = shared(generator, server, threads).unwrap();
            assert_eq!((is_said.as_str(), is_remedy.as_str()), (said, remedy));
        };
        let own = "give each cores of its own: ";
        case(&[0, 1], &[0, 1], 1, "generator and server share cores 0-1", &format!("{own}--cores 0 --server-cores 1"));
        case(&[0], &[0, 1], 1, "generator and server share core 0", &format!("{own}--cores 0 --server-cores 1"));
        case(
            &[0, 1, 2, 3],
            &[2, 3],
            3,
            "generator and server share cores 2-3",
            &format!("{own}--cores 0 --server-cores 1-3"),
        );
        case(
            &[0, 1, 2, 3],
            &[2, 3],
            4,
            "generator and server share cores 2-3",
            &format!("{own}--cores 0-1 --server-cores 2-3"),
        );
        let alone = "let the generator or the server run on a second core, or load from another machine";
        case(&[3], &[3], 1, "generator and server share core 3", alone);
        assert_eq!(shared(&[0], &[1], 1), None);
    }
}
