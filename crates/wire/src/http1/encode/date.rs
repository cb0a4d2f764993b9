use std::time::{Duration, UNIX_EPOCH};

use super::write_field;
use crate::http1::EncodeError;

/// The `Server` and `Date` fields, rendered when the second changes.
///
/// The caller passes the time. One value serves all connections of a thread.
#[derive(Debug, Clone, Default)]
pub struct DateHeader {
    lines: Vec<u8>,
    /// Offset of `Date` in `lines`, and the second it shows.
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
        let mut header = Self { lines, date: None };
        header.render(header.lines.len(), unix);
        Ok(header)
    }

    /// Neither field. RFC 9110 requires `Date` of servers with a clock: state this beside measurements.
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
        self.lines.truncate(at);
        self.lines.extend_from_slice(format!("Date: {}\r\n", imf_fixdate(unix)).as_bytes());
        self.date = Some((at, unix));
    }
}

/// The preferred date format (RFC 9110, 5.6.7). Limited to the year 9999, the last it can express.
fn imf_fixdate(unix: u64) -> String {
    const LAST: u64 = 253_402_300_799;
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix.min(LAST)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_dates() {
        assert_eq!(imf_fixdate(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        // The example of RFC 9110, section 5.6.7.
        assert_eq!(imf_fixdate(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(imf_fixdate(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
        assert_eq!(imf_fixdate(951_868_799), "Tue, 29 Feb 2000 23:59:59 GMT");
        assert_eq!(imf_fixdate(4_107_542_400), "Mon, 01 Mar 2100 00:00:00 GMT");
        assert_eq!(imf_fixdate(u64::MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
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
        fn dates_parse_to_the_second_they_show(unix in 0u64..253_402_300_800) {
            let time = httpdate::parse_http_date(&imf_fixdate(unix)).unwrap();
            prop_assert_eq!(time, UNIX_EPOCH + Duration::from_secs(unix));
        }
    }
}
