use super::write_field;
use crate::http1::EncodeError;

/// Bytes of `Sun, 06 Nov 1994 08:49:37 GMT`.
const DATE: usize = 29;

/// The `Server` and `Date` fields, rendered when the second changes.
///
/// The caller passes the time. One value serves all connections of a thread.
#[derive(Debug, Clone, Default)]
pub struct DateHeader {
    lines: Vec<u8>,
    /// Offset of the date in `lines`, and the second it shows.
    date: Option<(usize, u64)>,
}

impl DateHeader {
    /// `Server`, if a name is given, and `Date` (RFC 9110, 6.6.1) for `unix` seconds since 1970.
    ///
    /// # Errors
    /// If the name holds a control character.
    pub fn new(server: Option<&str>, unix: u64) -> Result<Self, EncodeError> {
        let mut lines = Vec::new();
        if let Some(server) = server {
            write_field(&mut lines, "Server", server.as_bytes())?;
        }
        lines.extend_from_slice(b"Date: ");
        let at = lines.len();
        lines.extend_from_slice(&[0; DATE]);
        lines.extend_from_slice(b"\r\n");
        let mut header = Self { lines, date: Some((at, 0)) };
        header.render(at, unix);
        Ok(header)
    }

    /// Neither field. RFC 9110 requires `Date` of servers with a clock: mention it with measurements.
    pub fn bare() -> Self {
        Self::default()
    }

    /// Sets the time to `unix` seconds since 1970. One comparison, unless the second has changed.
    #[inline]
    pub fn set(&mut self, unix: u64) {
        if let Some((at, shown)) = self.date
            && shown != unix
        {
            self.render(at, unix);
        }
    }

    #[inline]
    pub(crate) fn lines(&self) -> &[u8] {
        &self.lines
    }

    #[cold]
    fn render(&mut self, at: usize, unix: u64) {
        self.lines[at..at + DATE].copy_from_slice(&imf_fixdate(unix));
        self.date = Some((at, unix));
    }
}

/// The preferred date format (RFC 9110, 5.6.7). Limited to the year 9999, the last it can express.
fn imf_fixdate(unix: u64) -> [u8; DATE] {
    const LAST: u64 = 253_402_300_799;
    const DAYS: &[u8; 21] = b"ThuFriSatSunMonTueWed";
    const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let unix = unix.min(LAST);
    let (days, seconds) = (unix / 86_400, unix % 86_400);
    let (year, month, day) = civil(days);
    let mut text = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    let weekday = (days % 7) as usize * 3;
    text[..3].copy_from_slice(&DAYS[weekday..weekday + 3]);
    let name = (month as usize - 1) * 3;
    text[8..11].copy_from_slice(&MONTHS[name..name + 3]);
    let mut two = |at: usize, number: u64| {
        text[at] = b'0' + (number / 10 % 10) as u8;
        text[at + 1] = b'0' + (number % 10) as u8;
    };
    two(5, day);
    two(12, year / 100);
    two(14, year % 100);
    two(17, seconds / 3600);
    two(20, seconds / 60 % 60);
    two(23, seconds % 60);
    text
}

/// Year, month and day of a day counted from 1970-01-01. Years begin in March, so that a leap day is the last of its year
/// (Howard Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(unix: u64) -> String {
        String::from_utf8(imf_fixdate(unix).to_vec()).unwrap()
    }

    #[test]
    fn known_dates() {
        assert_eq!(text(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        // The example of RFC 9110, section 5.6.7.
        assert_eq!(text(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(text(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
        assert_eq!(text(951_868_799), "Tue, 29 Feb 2000 23:59:59 GMT");
        assert_eq!(text(4_107_542_400), "Mon, 01 Mar 2100 00:00:00 GMT");
        assert_eq!(text(u64::MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
    }

    #[test]
    fn comp_date_header_is_fresh_after_each_second() {
        let mut header = DateHeader::new(Some("brunt"), 784_111_777).unwrap();
        assert_eq!(header.lines(), b"Server: brunt\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
        header.set(784_111_778);
        assert_eq!(header.lines(), b"Server: brunt\r\nDate: Sun, 06 Nov 1994 08:49:38 GMT\r\n");
        // The clock may be set back.
        header.set(0);
        assert_eq!(header.lines(), b"Server: brunt\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n");
    }

    #[test]
    fn a_server_name_cannot_inject_a_line() {
        assert_eq!(DateHeader::new(Some("a\r\nSet-Cookie: b"), 0).unwrap_err(), EncodeError::FieldValue);
    }

    proptest! {
        #[test]
        fn a_day_later_is_the_next_day(days in 0u64..2_932_000) {
            let ((year, month, day), next) = (civil(days), civil(days + 1));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
            let expected = match (day == length, month == 12) {
                (false, _) => (year, month, day + 1),
                (true, false) => (year, month + 1, 1),
                (true, true) => (year + 1, 1, 1),
            };
            prop_assert_eq!(next, expected);
        }
    }
}
