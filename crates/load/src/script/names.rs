//! Names that `request` gives to its requests, as its second value.

use crate::http::source::Names;
use brunt_luau::mlua::LuaString;
use std::collections::HashMap;

const LONGEST: usize = 64;

/// The names of one load thread. A name that is given again is looked up without a lock.
#[derive(Debug, Default)]
pub(super) struct StepNames {
    all: Names,
    /// The last one: many scripts give constants, which stay where they are.
    last: Option<(LuaString, u16)>,
    known: HashMap<Vec<u8>, u16>,
}

impl StepNames {
    pub fn new(all: &Names) -> Self {
        Self { all: all.clone(), ..Self::default() }
    }

    /// The number of a name.
    ///
    /// # Errors
    /// It could not be named in a bound.
    pub fn number(&mut self, name: LuaString) -> Result<u16, String> {
        // The last text is alive, so no other one can have its address.
        if let Some((_, number)) = self.last.as_ref().filter(|(last, _)| last.to_pointer() == name.to_pointer()) {
            return Ok(*number);
        }
        let number = match self.known.get(&*name.as_bytes()).copied() {
            Some(number) => number,
            None => self.learn(&name.to_string_lossy())?,
        };
        self.last = Some((name, number));
        Ok(number)
    }

    fn learn(&mut self, name: &str) -> Result<u16, String> {
        let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, ':' | '<' | '>');
        if !(1..=LONGEST).contains(&name.chars().count()) || !name.chars().all(is_plain) {
            return Err(format!(
                "'{}' is not a name of 1 to {LONGEST} characters without : < > and blanks",
                name.escape_debug()
            ));
        }
        let number = self.all.number(name);
        // What a script makes up for each request is not kept.
        if self.known.len() < 2 * crate::http::source::MAX_NAMES {
            self.known.insert(name.as_bytes().to_vec(), number);
        }
        Ok(number)
    }
}
