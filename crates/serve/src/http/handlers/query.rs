//! Query arguments. Decoding never fails: an invalid escape stands for itself, as in browsers.

/// Decodes `+` and `%41`.
fn decode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        out.push(match (byte, behind) {
            (b'+', _) => b' ',
            (b'%', [high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    rest = after;
                    high << 4 | low
                }
                _ => b'%',
            },
            (byte, _) => byte,
        });
    }
    out
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// The arguments in order, decoded; those without `=` have an empty value.
pub fn pairs(query: &[u8]) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    query.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
        let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default();
        (decode(name), decode(pair.get(name.len() + 1..).unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_decoded_and_invalid_escapes_stand_for_themselves() {
        for (text, decoded) in [
            ("", ""),
            ("a%20b+c%2B", "a b c+"),
            ("a+b", "a b"),
            ("%41%7a", "Az"),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz", "%zz"),
            ("%zz%41", "%zzA"),
            ("%%41", "%A"),
            ("%4%31", "%41"),
        ] {
            assert_eq!(decode(text.as_bytes()), decoded.as_bytes(), "{text}");
        }
        assert_eq!(decode(b"%00%ff"), [0, 255]);
        let all: Vec<_> = pairs(b"a=1&&b&a=2=3&c=%ff").collect();
        let expected: [(&[u8], &[u8]); 4] = [(b"a", b"1"), (b"b", b""), (b"a", b"2=3"), (b"c", b"\xff")];
        assert_eq!(all, expected.map(|(name, value)| (name.to_vec(), value.to_vec())));
    }
}
