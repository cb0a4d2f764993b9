//! Heads and trailer sections that arrive in pieces: the buffer that exists while one is incomplete.

/// The beginning of a head or trailer section whose end has not arrived. Takes one word while there is none.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "one word instead of three in every connection that waits")]
pub(crate) struct Partial(Option<Box<Vec<u8>>>);

impl Partial {
    /// Whether nothing is kept.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// What is kept.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Appends from `input`, without consuming it, until `limit` bytes are kept; returns how many were kept before.
    pub fn append(&mut self, input: &[u8], limit: usize) -> usize {
        let kept = self.0.get_or_insert_default();
        let before = kept.len();
        let room = limit.saturating_sub(before);
        kept.extend_from_slice(&input[..room.min(input.len())]);
        before
    }

    /// Overwrites one byte.
    pub fn patch(&mut self, at: usize, byte: u8) {
        if let Some(place) = self.0.as_mut().and_then(|kept| kept.get_mut(at)) {
            *place = byte;
        }
    }

    /// Gives the memory back.
    #[inline]
    pub fn clear(&mut self) {
        self.0 = None;
    }
}
