//! Heads of HTTP requests, for servers in tests.

use std::io::BufRead;

/// The next head, with its empty line; `None` if the connection ends before it is whole.
pub fn read_head(input: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if input.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head)
}
