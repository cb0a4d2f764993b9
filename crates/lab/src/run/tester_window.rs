//! Meters an external tester over the middle of its run: at both ends it connects or evaluates, and its threads cannot be
//! read after its end.

use brunt_meter::process::{Tree, Usage, Window};
use std::time::Duration;

#[derive(Default)]
pub(super) enum TesterWindow {
    #[default]
    NotYet,
    /// With the use up to the last look, if the run may end before its length.
    Open(Box<(Tree, Window)>, Option<Usage>),
    Done(Usage),
    Never(String),
}

impl TesterWindow {
    /// Opens or closes the window; called some times a second while the tester of this process id runs. `passed`: since its
    /// start; `load`: the length of its load, at most if `may_end_early`.
    pub(super) fn tick(&mut self, tester: u32, passed: Duration, load: Duration, may_end_early: bool) {
        let margin = Duration::from_millis(150).min(load / 10);
        *self = match std::mem::take(self) {
            Self::NotYet if passed >= margin => match Tree::new(&[tester]) {
                Ok(mut tree) => {
                    let window = Window::open(&mut tree);
                    Self::Open(Box::new((tree, window)), None)
                }
                Err(why) => Self::Never(why),
            },
            Self::Open(mut open, last) if passed + margin >= load => {
                let usage = open.1.close(&mut open.0);
                match last {
                    _ if usage.alive => Self::Done(usage),
                    Some(last) => Self::Done(last),
                    None => Self::Never("it ended early".to_owned()),
                }
            }
            Self::Open(mut open, last) if may_end_early => {
                let usage = Some(open.1.clone().close(&mut open.0)).filter(|usage| usage.alive);
                Self::Open(open, usage.or(last))
            }
            other => other,
        };
    }

    /// The use of the window, or why there is none.
    pub(super) fn usage(self) -> Result<Usage, String> {
        match self {
            Self::Done(usage) | Self::Open(_, Some(usage)) => Ok(usage),
            Self::Never(why) => Err(why),
            Self::NotYet | Self::Open(..) => Err("it ended early".to_owned()),
        }
    }
}

/// CPU of the busiest thread, in percent of a core. Go moves goroutines between threads, so the mean load of its cores
/// counts too.
pub(super) fn busiest_percent(usage: &Usage, cores: &[usize]) -> f64 {
    let a_core = (usage.cpu.user_percent() + usage.cpu.system_percent()) / cores.len().max(1) as f64;
    usage.busiest_thread_percent.map_or(a_core, |thread| thread.max(a_core))
}
