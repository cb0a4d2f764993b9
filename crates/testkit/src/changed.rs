//! Messages that are almost those that were sent, for what reads them.

use crate::Random;

/// Numbers at which readers go wrong.
const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "-1",
    "255",
    "65536",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e308",
    "null",
];

/// Random bytes now and then, else these with one to four changes, each of a byte, of a part, or of a number in them.
pub fn changed(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    if random.below(20) == 0 {
        return (0..random.below(300)).map(|_| random.below(256) as u8).collect();
    }
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        change(&mut bytes, random);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    let length = bytes.len() as u64;
    let from = random.below(length + 1) as usize;
    let to = from + random.below((length - from as u64 + 1).min(40)) as usize;
    match random.below(10) {
        0 if from < bytes.len() => bytes[from] = random.below(256) as u8,
        1 if from < bytes.len() => bytes[from] ^= 1 << random.below(8),
        2 => drop(bytes.drain(from..to)),
        3 => bytes.splice(from..from, (0..random.below(9)).map(|_| random.below(256) as u8)).for_each(drop),
        4 => {
            let part = bytes[from..to].to_vec();
            bytes.splice(from..from, part).for_each(drop);
        }
        5 if random.below(4) == 0 => bytes.truncate(from),
        // Most readers refuse all but other numbers at once.
        _ => number(bytes, from, random),
    }
}

/// Another number in place of the first one behind this place.
fn number(bytes: &mut Vec<u8>, from: usize, random: &mut Random) {
    let Some(begin) = bytes[from..].iter().position(u8::is_ascii_digit).map(|at| from + at) else { return };
    let length = bytes[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let other = NUMBERS[random.below(NUMBERS.len() as u64) as usize].bytes();
    bytes.splice(begin..begin + length, other).for_each(drop);
}
