//! Query arguments. Decoding never fails: an invalid escape stands for itself, as in browsers.

/// Decodes `+` and `%41`.
pub(crate) fn decode(text: &[u8]) -> Vec<u8> {
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

/// The arguments in order, decoded.
pub(super) fn pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    let decoded = |text: &str| String::from_utf8_lossy(&decode(text.as_bytes())).into_owned();
    query.split('&').filter(|pair| !pair.is_empty()).map(move |pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), decoded(value))
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
        let all: Vec<_> = pairs("a=1&&b&a=2=3&c=%ff").collect();
        let expected = [("a", "1"), ("b", ""), ("a", "2=3"), ("c", "\u{fffd}")];
        assert_eq!(all, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
