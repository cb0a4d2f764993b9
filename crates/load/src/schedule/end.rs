//! Where a schedule ends: never, or after a number of requests.

/// What no request of a schedule follows.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Never,
    /// The requests of the run before this number, of which so many that count are of this thread.
    Number {
        end: f64,
        own: u64,
    },
    /// So many of this thread that are due at or after a time.
    Left {
        requests: u64,
        from_ns: u64,
    },
}

impl End {
    /// A request that was due at `intended_ns` is taken.
    #[inline]
    pub fn take(&mut self, intended_ns: u64) {
        if let Self::Left { requests, from_ns } = self {
            *requests -= u64::from(intended_ns >= *from_ns);
        }
    }

    /// Whether the request of this number is behind the end.
    #[inline]
    pub fn is_before(&self, number: f64) -> bool {
        match self {
            Self::Never => false,
            Self::Number { end, .. } => number >= *end,
            Self::Left { requests, .. } => *requests == 0,
        }
    }

    /// The end of the requests of the run up to this number.
    pub fn cut(&self, number: f64) -> f64 {
        if let Self::Number { end, .. } = self { number.min(*end) } else { number }
    }

    /// Requests of this thread that count, if none is taken yet; `None` without an end.
    pub fn own(&self) -> Option<u64> {
        match self {
            Self::Never => None,
            Self::Number { own, .. } => Some(*own),
            Self::Left { requests, .. } => Some(*requests),
        }
    }

    /// Requests of this thread that are left, at most.
    pub fn most(&self) -> u64 {
        if let Self::Left { requests, .. } = self { *requests } else { u64::MAX }
    }
}
