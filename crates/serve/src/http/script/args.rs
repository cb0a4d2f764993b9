//! `req.args`: the query as a table. Decoding never fails: what is no valid escape stands for itself, as browsers have it.

use brunt_luau::mlua::{Lua, Result, Table};

/// The table of a query: the first value of each name; names without `=` have the empty text.
pub(super) fn table(lua: &Lua, query: &[u8]) -> Result<Table> {
    let table = lua.create_table()?;
    for pair in query.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
        let at = pair.iter().position(|byte| *byte == b'=');
        let (name, value) = at.map_or((pair, &[][..]), |at| (&pair[..at], &pair[at + 1..]));
        let name = lua.create_string(decode(name))?;
        if !table.contains_key(&name)? {
            table.raw_set(name, lua.create_string(decode(value))?)?;
        }
    }
    Ok(table)
}

/// `+` is a space, `%41` is `A`.
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

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_are_decoded_and_broken_ones_stand_for_themselves() {
        for (text, decoded) in [
            ("", ""),
            ("a+b", "a b"),
            ("%41%7a", "Az"),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz", "%zz"),
            ("%%41", "%A"),
            ("%4%31", "%41"),
        ] {
            assert_eq!(decode(text.as_bytes()), decoded.as_bytes(), "{text}");
        }
        assert_eq!(decode(b"%00%ff"), [0, 255]);
    }
}
