//! For a simulated world that has come to a standstill: what the tasks of a worker wait for.

use super::worker::Worker;
use crate::task::Token;

impl Worker {
    /// What the tasks of this worker wait for, in words.
    pub fn pending(&self) -> Vec<String> {
        let io = self.io().waits();
        let tasks = self.scheduler.tasks.names().into_iter().map(|(key, name)| {
            let token = Token::new(self.id(), key);
            (Some(token), format!("task {}: {name}", key.index))
        });
        let main = (Some(Token::main(self.id())), "the future of block_on".to_owned());
        let mut lines = Vec::new();
        for (token, name) in std::iter::once(main).chain(tasks) {
            let waits: Vec<&str> = io.iter().filter(|(of, _)| *of == token).map(|(_, what)| &**what).collect();
            lines.push(format!(
                "{name}: {}",
                if waits.is_empty() { "another task".to_owned() } else { waits.join(", ") }
            ));
        }
        lines.extend(io.into_iter().filter(|(of, _)| of.is_none()).map(|(_, what)| format!("a combinator: {what}")));
        lines
    }
}
