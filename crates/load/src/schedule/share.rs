//! Parts of the load threads in a run: connections, and the numbers of their requests.

/// The part of one load thread in the run.
///
/// Threads form groups of consecutive numbers, and the connections of a group have consecutive numbers, so that all
/// connections of a group are used before those of the next one. Within a group, neighbouring connections belong to different
/// threads. There are several groups if there are several processes for each core: each process then has the core to itself
/// for a while, and connections that were opened one after another are used one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Number of the thread, below `threads`.
    pub thread: usize,
    /// Threads of the run, at most `connections`.
    pub threads: usize,
    /// Connections of the run.
    pub connections: usize,
    /// Threads of a group; `threads` is a multiple of it.
    pub group: usize,
}

impl Share {
    /// Connections of this thread: an even part; the first threads take the remainder.
    pub fn own(&self) -> usize {
        self.connections / self.threads + usize::from(self.thread < self.connections % self.threads)
    }

    /// Connections of the threads before this one.
    pub fn before(&self) -> usize {
        self.connections / self.threads * self.thread + self.thread.min(self.connections % self.threads)
    }

    /// This thread's part of so many requests of the run, by its connections.
    pub fn part_of(&self, requests: u64) -> u64 {
        let below = |connections: usize| (u128::from(requests) * connections as u128 / self.connections as u128) as u64;
        below(self.before() + self.own()) - below(self.before())
    }

    /// How many of this thread's [`Numbers`] are below `end`.
    pub(super) fn numbers_below(&self, end: u64) -> u64 {
        let (cycles, rest) = (end / self.connections as u64, (end % self.connections as u64) as usize);
        let of_rest = rest.saturating_sub(self.global(0)).div_ceil(self.group).min(self.own());
        cycles * self.own() as u64 + of_rest as u64
    }

    /// Mean gap of this thread's requests, in requests of the run.
    pub(super) fn mean_gap(&self) -> f64 {
        self.connections as f64 / self.own() as f64
    }

    /// Number in the run, from 0, of this thread's connection `index`.
    pub fn global(&self, index: usize) -> usize {
        self.before_group() + index * self.group + self.thread % self.group
    }

    /// Place, from 0, of this thread's connection `index` where their number changes: threads take places in turn.
    pub fn rank(&self, index: usize) -> usize {
        index * self.threads + self.thread
    }

    /// This thread's connections with a [`Self::rank`] below `count`.
    pub fn below(&self, count: usize) -> usize {
        count.saturating_sub(self.thread).div_ceil(self.threads)
    }

    /// Connections of the groups before that of this thread.
    pub fn before_group(&self) -> usize {
        Self { thread: self.thread - self.thread % self.group, ..*self }.before()
    }
}

/// Numbers in the run, from 0, of one thread's requests, in order: request k belongs to connection k modulo connections.
#[derive(Debug, Clone)]
pub struct Numbers {
    share: Share,
    cycle: u64,
    index: usize,
}

impl Numbers {
    pub fn new(share: Share) -> Self {
        Self { share, cycle: 0, index: 0 }
    }

    #[inline]
    pub fn current(&self) -> u64 {
        self.cycle + self.share.global(self.index) as u64
    }

    #[inline]
    pub fn advance(&mut self) {
        self.index += 1;
        if self.index == self.share.own() {
            self.index = 0;
            self.cycle += self.share.connections as u64;
        }
    }
}
