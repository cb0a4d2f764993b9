//! The usual request: load generators, health checks and pollers send the same bytes again and again, and comparing them
//! takes a tenth of the instructions that parsing them does.
//!
//! What a head means depends on nothing but its bytes and on the limits. So a head that is the same to the byte, down to
//! its empty line, gets what it got before; nothing else is ever recognised.

use std::cell::{Cell, RefCell};

/// After this many other requests in a row the last of them is the usual one.
const STRANGERS: u32 = 64;
/// Longer heads are not worth a memory of them.
const LONGEST: usize = 1024;

/// The head of the usual request; empty before the first.
#[derive(Debug, Default)]
pub(crate) struct Usual {
    head: RefCell<Vec<u8>>,
    strangers: Cell<u32>,
}

impl Usual {
    /// What follows the usual head, if `input` begins with it.
    #[inline]
    pub fn strip<'i>(&self, input: &'i [u8]) -> Option<&'i [u8]> {
        let head = self.head.borrow();
        if head.is_empty() {
            return None;
        }
        let rest = input.strip_prefix(&head[..])?;
        self.strangers.set(0);
        Some(rest)
    }

    /// A request with this head, which could have been the usual one, was none.
    pub fn saw(&self, head: &[u8]) {
        let strangers = self.strangers.get() + 1;
        self.strangers.set(strangers);
        let mut usual = self.head.borrow_mut();
        if (usual.is_empty() || strangers > STRANGERS) && head.len() <= LONGEST {
            self.strangers.set(0);
            usual.clear();
            usual.extend_from_slice(head);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_stays_until_nobody_sends_it_any_more() {
        let usual = Usual::default();
        assert_eq!(usual.strip(b""), None);
        usual.saw(b"one\r\n\r\n");
        for _ in 0..10 {
            (0..STRANGERS).for_each(|_| usual.saw(b"two\r\n\r\n"));
            assert_eq!(usual.strip(b"one\r\n\r\nmore"), Some(&b"more"[..]));
        }
        assert_eq!(usual.strip(b"one\r\n\r"), None);
        (0..=STRANGERS).for_each(|_| usual.saw(b"two\r\n\r\n"));
        assert_eq!(usual.strip(b"one\r\n\r\n"), None);
        assert_eq!(usual.strip(b"two\r\n\r\n"), Some(&b""[..]));
        (0..=STRANGERS).for_each(|_| usual.saw(&[b'x'; LONGEST + 1]));
        assert_eq!(usual.strip(b"two\r\n\r\n"), Some(&b""[..]));
    }
}
