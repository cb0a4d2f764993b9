//! Finds the end of names, values and targets, eight bytes at a time.
//!
//! A word is examined with the methods of "Bit Twiddling Hacks", each of which marks bytes by their highest bit.

use crate::http1::fields::is_token;

/// 1 in each byte.
const ONES: u64 = u64::MAX / 255;
/// The highest bit of each byte.
const HIGH: u64 = ONES * 0x80;

static TOKEN: [bool; 256] = {
    let mut token = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        token[byte] = is_token(byte as u8);
        byte += 1;
    }
    token
};

/// The length of the prefix of `bytes` that consists of token characters.
#[inline(always)]
pub(crate) fn token(bytes: &[u8]) -> usize {
    let mut at = 0;
    // Most names consist of letters and `-`.
    while let Some(word) = word(bytes, at) {
        let low = (word | (ONES * 0x20)) & !HIGH;
        let letter = (low + ONES * (0x80 - b'a' as u64)) & !(low + ONES * (0x7f - b'z' as u64));
        let other = word ^ (ONES * b'-' as u64);
        let dash = !(((other & !HIGH) + (ONES * 0x7f)) | other);
        let ends = !((letter & !word) | dash) & HIGH;
        if ends != 0 {
            at += ends.trailing_zeros() as usize / 8;
            break;
        }
        at += 8;
    }
    at + run(bytes, at, |byte| TOKEN[usize::from(byte)])
}

/// The number of bytes before the first control character; HTAB is one.
#[inline(always)]
pub(crate) fn text(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = word(bytes, at) {
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let delete = word ^ (ONES * 0x7f);
        let delete = delete.wrapping_sub(ONES) & !delete;
        // A borrow can only falsify bits above the first hit, and only the first hit is used.
        let hits = (control | delete) & HIGH;
        if hits != 0 {
            return at + hits.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + run(bytes, at, |byte| !byte.is_ascii_control())
}

/// The number of bytes at `from` and after it that `is` accepts.
#[inline(always)]
pub(crate) fn run(bytes: &[u8], from: usize, is: impl Fn(u8) -> bool) -> usize {
    // A loop over indices compiles to five instructions a byte, `position` to nine.
    let mut at = from;
    while at < bytes.len() && is(bytes[at]) {
        at += 1;
    }
    at - from
}

/// The eight bytes at `at`, the first in the lowest bits.
#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        #[test]
        fn runs_equal_those_of_a_loop_over_bytes(
            mut bytes in vec(prop_oneof![9 => b'a'..=b'z', 2 => b'A'..=b'Z', 2 => Just(b'-'), 1 => any::<u8>()], 0..40),
            at: prop::sample::Index,
            byte: u8,
        ) {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let naive = |is: fn(u8) -> bool| bytes.iter().take_while(|byte| is(**byte)).count();
            prop_assert_eq!(token(&bytes), naive(is_token));
            prop_assert_eq!(text(&bytes), naive(|byte| byte >= 0x20 && byte != 0x7f));
        }
    }

    #[test]
    fn every_byte_ends_runs_at_every_position() {
        for byte in 0..=255u8 {
            for at in 0..24 {
                let mut bytes = [b'z'; 24];
                bytes[at] = byte;
                assert_eq!(token(&bytes), if is_token(byte) { 24 } else { at }, "{byte:#x} at {at}");
                assert_eq!(text(&bytes), if byte.is_ascii_control() { at } else { 24 }, "{byte:#x} at {at}");
            }
        }
    }
}
