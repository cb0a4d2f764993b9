//! Figures as people read them: few digits, a unit that fits, a dash for what is absent.

use crate::plan::settings::Amount;
use brunt_results::Rate;

/// Stands for a figure that could not be had.
pub const ABSENT: &str = "-";

/// Microseconds as a time with a unit: `41.2 us`, `2.35 ms`, `1.20 s`.
pub fn time(us: Option<f64>) -> String {
    match us {
        None => ABSENT.to_owned(),
        Some(us) if us < 99.95 => format!("{us:.1} us"),
        Some(us) if us < 999.5 => format!("{us:.0} us"),
        Some(us) if us < 9_995.0 => format!("{:.2} ms", us / 1e3),
        Some(us) if us < 99_950.0 => format!("{:.1} ms", us / 1e3),
        Some(us) if us < 999_500.0 => format!("{:.0} ms", us / 1e3),
        Some(us) => format!("{:.2} s", us / 1e6),
    }
}

/// Two times in microseconds, from one to the other: `392..1380 us`.
pub fn times(low: f64, high: f64) -> String {
    let (unit, divisor) = match high {
        high if high < 9_995.0 => ("us", 1.0),
        high if high < 9_995e3 => ("ms", 1e3),
        _ => ("s", 1e6),
    };
    let digits = if high / divisor < 99.95 { 1 } else { 0 };
    format!("{:.digits$}..{:.digits$} {unit}", low / divisor, high / divisor)
}

/// Text between the tags of XML or HTML, or in an attribute.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A number with so many decimals.
pub fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or(ABSENT.to_owned(), |value| format!("{value:.decimals$}"))
}

/// Bytes in MiB.
pub fn mebibytes(bytes: Option<f64>) -> String {
    number(bytes.map(|bytes| bytes / (1024.0 * 1024.0)), 1)
}

/// An amount over all cores, or `4 x 80` for each of them.
pub fn amount<T: Copy>(amount: Option<Amount<T>>, cores: usize, show: impl Fn(T) -> String) -> Option<String> {
    Some(match amount? {
        Amount::PerCore(each) if cores > 1 => format!("{cores} x {}", show(each)),
        Amount::PerCore(all) | Amount::Total(all) => show(all),
    })
}

/// An offered rate.
pub fn rate(offered: Option<Amount<f64>>, cores: usize) -> String {
    amount(offered, cores, |rate| Rate(rate).to_string()).unwrap_or("max".to_owned())
}

/// `1 core`, `2 cores`.
pub fn plural(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// Seconds since 1970 as `2026-01-31 08:05 UTC`. Civil dates from days: the calendar repeats every 146,097 days, and a
/// year that begins in March has its leap day at its end.
pub fn date(unix_s: u64) -> String {
    let (days, second) = ((unix_s / 86_400) as i64, unix_s % 86_400);
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", second / 3600, second / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_three_digits() {
        let shown: Vec<String> = [0.0, 41.23, 99.96, 412.4, 999.6, 2351.0, 12_340.0, 123_400.0, 1_200_000.0]
            .iter()
            .map(|us| time(Some(*us)))
            .collect();
        let expected = ["0.0 us", "41.2 us", "100 us", "412 us", "1.00 ms", "2.35 ms", "12.3 ms", "123 ms", "1.20 s"];
        assert_eq!(shown, expected);
        assert_eq!(time(None), "-");
        assert_eq!(times(392.4, 1380.0), "392..1380 us");
        assert_eq!(times(31.94, 42.2), "31.9..42.2 us");
        assert_eq!(times(900.0, 12_340.0), "0.9..12.3 ms");
        assert_eq!(times(2e6, 12e6), "2.0..12.0 s");
    }

    #[test]
    fn dates_agree_with_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_638_373_800), "2021-12-01 15:50 UTC");
        assert_eq!(date(4_107_542_399), "2100-02-28 23:59 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
    }
}
