//! Lines of counts in a stream of bytes. A line without its end waits for the rest.

use super::feed::Feed;
use brunt_results::counts::Counts;

/// Longest line.
const LONGEST: usize = 64 << 10;
/// Most of a bad line that is quoted, in characters.
const QUOTED: usize = 60;

#[derive(Debug, Default)]
pub struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    pub fn add(&mut self, bytes: &[u8], feed: &Feed) {
        self.begun.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(length) = self.begun[from..].iter().position(|byte| *byte == b'\n') {
            take(&self.begun[from..from + length], feed);
            from += length + 1;
        }
        self.begun.drain(..from);
        if self.begun.len() > LONGEST {
            take(&self.begun, feed);
            self.begun.clear();
        }
    }

    /// The stream goes on elsewhere.
    pub fn clear(&mut self) {
        self.begun.clear();
    }
}

fn take(line: &[u8], feed: &Feed) {
    let line = String::from_utf8_lossy(line);
    let line = line.trim();
    if line.is_empty() {
        return;
    }
    match Counts::of_line(line) {
        Ok(counts) => feed.add(counts),
        Err(why) => {
            let quoted: String = line.chars().take(QUOTED).flat_map(char::escape_debug).collect();
            feed.warn(
                "line",
                format!("'{quoted}' is not a line of counts and is skipped, as others like it are: {why}"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_read_wherever_the_stream_is_cut(
            lines in proptest::collection::vec(proptest::option::of(0u64..1000), 0..40),
            cuts in proptest::collection::vec(1usize..200, 1..40),
        ) {
            let feed = Feed::new(None);
            let end = feed.seconds(crate::clock::now()) - 1.0;
            let text: String = lines.iter().enumerate().map(|(number, count)| match count {
                Some(count) => Counts {
                    end: Some(end + 0.001 * number as f64), seconds: 0.001, count: *count, ..Counts::default()
                }.line(),
                None => "{\"seconds\":0.1,\n".to_owned(),
            }).collect();
            let (mut reader, mut rest, mut cuts) = (Lines::default(), text.as_bytes(), cuts.iter().cycle());
            while !rest.is_empty() {
                let (part, others) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                reader.add(part, &feed);
                rest = others;
            }
            let sum: Option<u64> = lines.iter().flatten().copied().reduce(|a, b| a + b);
            prop_assert_eq!(feed.take().map(|(_, requests)| requests.count), sum);
            prop_assert_eq!(feed.warning().is_some(), lines.contains(&None));
            prop_assert_eq!(feed.warning(), None);
        }
    }

    #[test]
    fn a_line_without_end_is_dropped_and_one_of_another_clock_is_refused() {
        let (feed, mut lines) = (Feed::new(None), Lines::default());
        lines.add(&vec![b'x'; 2 * LONGEST], &feed);
        lines.add(b"\n", &feed);
        assert!(feed.warning().is_some());
        lines.add(Counts { end: Some(1e12), seconds: 0.1, ..Counts::default() }.line().as_bytes(), &feed);
        assert!(feed.warning().unwrap().contains("CLOCK_MONOTONIC"));
        assert_eq!(feed.take(), None);
    }
}
