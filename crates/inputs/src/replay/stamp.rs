//! Times in logs: of the common log format, of RFC 3339, and numbers since 1970.

use time::{Date, Month};

/// A time and how finely it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Nanoseconds since 1970.
    pub ns: i64,
    pub resolution_ns: u64,
}

const SECOND_NS: i64 = 1_000_000_000;

impl Stamp {
    pub fn parse(text: &str) -> Option<Self> {
        common(text).or_else(|| rfc3339(text)).or_else(|| number(text))
    }
}

/// `10/Oct/2000:13:55:36 -0700`
fn common(text: &str) -> Option<Stamp> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (date, clock) = text.split_once(':')?;
    let mut parts = date.split('/');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? as u8 + 1;
    let (clock, zone) = clock.split_once(' ')?;
    whole([year.parse().ok()?, month.into(), day.parse().ok()?], clock, zone)
}

/// `2000-10-10T13:55:36.123+02:00`; without a zone it is UTC.
fn rfc3339(text: &str) -> Option<Stamp> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let mut parts = date.split('-').map(|part| part.parse().ok());
    let date = [parts.next()??, parts.next()??, parts.next()??];
    let at = rest.find(['Z', 'z', '+', '-', ' ']).unwrap_or(rest.len());
    whole(date, &rest[..at], rest[at..].trim_start_matches(' '))
}

/// A date (year, month, day), `hh:mm:ss[.fraction]` and a zone.
fn whole([year, month, day]: [i32; 3], clock: &str, zone: &str) -> Option<Stamp> {
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = Date::from_calendar_date(year, month, u8::try_from(day).ok()?).ok()?;
    let days = i64::from(date.to_julian_day()) - i64::from(Date::from_ordinal_date(1970, 1).ok()?.to_julian_day());
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, ""));
    let mut parts = clock.split(':').map(|part| part.parse::<u8>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (fraction_ns, resolution_ns) = fraction_of(fraction, SECOND_NS)?;
    let seconds = ((days * 24 + i64::from(hour)) * 60 + i64::from(minute)) * 60 + i64::from(second) - offset_s(zone)?;
    Some(Stamp { ns: seconds.checked_mul(SECOND_NS)?.checked_add(fraction_ns)?, resolution_ns })
}

/// `Z`, `+02:00` or `-0700`.
fn offset_s(zone: &str) -> Option<i64> {
    let (sign, digits) = match zone {
        "" | "Z" | "z" => return Some(0),
        _ => (if zone.starts_with('-') { -1 } else { 1 }, zone.strip_prefix(['+', '-'])?),
    };
    let digits = digits.replace(':', "");
    let (hours, minutes) = digits.split_at_checked(2)?;
    Some(sign * (hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60))
}

/// Seconds, or milli-, micro- or nanoseconds as their size says, with a fraction.
fn number(text: &str) -> Option<Stamp> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: i64 = whole.parse().ok().filter(|number| *number >= 0)?;
    // The first of each is in 1973.
    let unit_ns = match whole {
        0..100_000_000_000 => SECOND_NS,
        100_000_000_000..100_000_000_000_000 => 1_000_000,
        100_000_000_000_000..100_000_000_000_000_000 => 1000,
        _ => 1,
    };
    let (fraction_ns, resolution_ns) = fraction_of(fraction, unit_ns)?;
    Some(Stamp { ns: whole.checked_mul(unit_ns)?.checked_add(fraction_ns)?, resolution_ns })
}

/// The nanoseconds that the digits behind a point are, and of the last of them.
fn fraction_of(digits: &str, unit_ns: i64) -> Option<(i64, u64)> {
    let (mut value, mut place) = (0, unit_ns);
    for digit in digits.chars() {
        let digit = digit.to_digit(10)?;
        if place < 10 {
            break;
        }
        place /= 10;
        value += i64::from(digit) * place;
    }
    Some((value, place.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_time_are_equal_and_their_resolution_is_known() {
        for (text, ns, resolution_ns) in [
            ("10/Oct/2000:13:55:36 -0700", 971_211_336_000_000_000, 1_000_000_000),
            ("2000-10-10T20:55:36Z", 971_211_336_000_000_000, 1_000_000_000),
            ("2000-10-10T22:55:36.120+02:00", 971_211_336_120_000_000, 1_000_000),
            ("2000-10-10 20:55:36,120", 971_211_336_120_000_000, 1_000_000),
            ("2000-10-10T20:55:36.123456789Z", 971_211_336_123_456_789, 1),
            ("971211336", 971_211_336_000_000_000, 1_000_000_000),
            ("971211336.12", 971_211_336_120_000_000, 10_000_000),
            ("971211336120", 971_211_336_120_000_000, 1_000_000),
            ("971211336120000.5", 971_211_336_120_000_500, 100),
            ("971211336120000001", 971_211_336_120_000_001, 1),
            ("1969-12-31T23:59:59Z", -1_000_000_000, 1_000_000_000),
        ] {
            assert_eq!(Stamp::parse(text), Some(Stamp { ns, resolution_ns }), "{text}");
        }
        for text in
            ["", "-", "10/Okt/2000:13:55:36 +0000", "2000-13-10T20:55:36Z", "2000-10-10T25:00:00Z", "1e9", "-5", "x.y"]
        {
            assert_eq!(Stamp::parse(text), None, "{text}");
        }
    }
}
