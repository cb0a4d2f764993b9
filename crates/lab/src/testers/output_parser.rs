//! Extracts figures from printed output. Pure; a missing figure is `None`, never zero.

/// The rest of the first line that begins with `label`, ignoring leading blanks.
pub(super) fn after<'t>(text: &'t str, label: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.trim_start().strip_prefix(label)).map(str::trim)
}

/// The number at the start of `text`; ignores what follows, such as a unit.
pub(super) fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// `1.23ms` in microseconds. Units: us, ms, s, m, h.
pub(super) fn time_us(text: &str) -> Option<f64> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let factor = match &text[unit..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        "h" => 3600e6,
        _ => return None,
    };
    text[..unit].parse::<f64>().ok().filter(|n| n.is_finite()).map(|n| n * factor)
}

/// `393.12MB` in bytes; units are powers of 1024 in all of these testers.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let text = text.strip_suffix('B')?;
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let power = ["", "K", "M", "G", "T", "P"].iter().position(|known| *known == &text[unit..])?;
    let number: f64 = text[..unit].parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0)?;
    Some((number * 1024f64.powi(power as i32)).round() as u64)
}

/// The number of a name in a list such as `connect 0, read 3`.
pub(super) fn named(list: &str, name: &str) -> Option<u64> {
    list.split(',').find_map(|part| part.trim().strip_prefix(name)).and_then(|rest| rest.trim().parse().ok())
}

/// The same of a label that a complete output has.
pub(super) fn needed<'t>(text: &'t str, label: &str) -> Result<&'t str, String> {
    after(text, label).ok_or_else(|| lacks(label))
}

/// The error for an output without a required label.
pub(super) fn lacks(label: &str) -> String {
    format!(
        "its output has no '{}': it did not run to its end, or is a version that prints something else",
        label.trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_with_their_units() {
        assert_eq!(time_us("1.23ms"), Some(1230.0));
        assert_eq!(time_us("0.94us"), Some(0.94));
        assert_eq!(time_us("1.50m"), Some(90e6));
        assert_eq!([time_us("1.2"), time_us("-nan%"), time_us(""), time_us("infs")], [None; 4]);
        assert_eq!(bytes("393.12MB"), Some(412_216_197));
        assert_eq!(bytes("0.00B"), Some(0));
        assert_eq!([bytes("12"), bytes("1XB"), bytes("-1KB")], [None; 3]);
        assert_eq!(number::<u64>("16 bytes"), Some(16));
        assert_eq!(number::<f64>("16.441 seconds"), Some(16.441));
        assert_eq!(number::<u64>("none"), None);
        assert_eq!(named("connect 1, read 22, write 0", "read"), Some(22));
        assert_eq!(after("a\n  Total:\t3 s\n", "Total:"), Some("3 s"));
    }
}
