//! TCP echo on a bare io_uring loop: the floor of every completion-based runtime.
//! One multishot accept, one multishot receive a connection into shared provided buffers, each buffer sent back from
//! where it lies, one `io_uring_enter` a turn. It must never gain a task or a future.
//!
//! A known limit: a client that does not read its answers is stopped at `QUEUE` buffers, so some sixty such clients
//! can hold all of them and stop the others. A server for strangers would copy or close; a floor only measures.

#[path = "../../common/args.rs"]
mod args;
mod buffers;
#[path = "../../common/host.rs"]
mod host;

use std::{
    collections::VecDeque,
    io,
    net::{Shutdown, TcpListener, TcpStream},
    os::fd::{AsRawFd, FromRawFd},
};

use buffers::Buffers;
use io_uring::{IoUring, SubmissionQueue, Submitter, cqueue, opcode, squeue, types::Fd};

/// Submission entries; completions get four times as many, so that bursts of accepts and ends do not overflow.
const ENTRIES: u32 = 4096;

/// Buffers a connection may hold before it is no longer received from.
const QUEUE: usize = 64;

/// What a completion belongs to: the upper half of its user data, above the connection's descriptor.
const ACCEPT: u64 = 0;
const RECEIVE: u64 = 1 << 32;
const SEND: u64 = 2 << 32;
const CANCEL: u64 = 3 << 32;

/// Bytes received and not yet sent back: `from..to` of a buffer.
struct Chunk {
    buffer: u16,
    from: usize,
    to: usize,
}

/// A connection is forgotten only when neither a receive nor a send of it is under way, so a completion always finds
/// its own connection under the descriptor.
struct Connection {
    stream: TcpStream,
    /// In order of arrival. One send at a time, of the first chunk: two could overtake each other.
    queue: VecDeque<Chunk>,
    receiving: bool,
    sending: bool,
    /// The receive is being cancelled, because the queue is full.
    pausing: bool,
    /// The receive waits for a free buffer, in `Server::starved`.
    starved: bool,
    /// Nothing more will arrive: close when the queue is empty.
    ended: bool,
}

struct Server<'ring> {
    submitter: Submitter<'ring>,
    entries: SubmissionQueue<'ring>,
    buffers: &'ring mut Buffers,
    listener: TcpListener,
    connections: Vec<Option<Connection>>,
    starved: Vec<usize>,
    spare: host::Spare,
}

fn main() {
    let args = args::Peer {
        name: "ring-loop",
        buffer: (2 << 10, "each of up to 4096 of a thread"),
        flag: None,
    }
    .args();
    host::thread_per_core("ring-loop", args.listen, &args.cores, |listener, _| {
        if let Err(error) = serve(listener, args.buffer) {
            host::fail(1, host::no_ring(error));
        }
    });
}

fn serve(listener: TcpListener, size: usize) -> io::Result<()> {
    let mut buffers = Buffers::new(size);
    let mut ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .setup_cqsize(4 * ENTRIES)
        .build(ENTRIES)?;
    let (submitter, entries, mut completions) = ring.split();
    buffers.register(&submitter)?;
    let mut server = Server {
        submitter,
        entries,
        buffers: &mut buffers,
        listener,
        connections: Vec::new(),
        starved: Vec::new(),
        spare: host::Spare::new(),
    };
    server.accept()?;
    loop {
        server.enter(1)?;
        completions.sync();
        for completion in &mut completions {
            server.completed(&completion)?;
        }
        completions.sync();
        server.feed_starved()?;
    }
}

impl Server<'_> {
    /// Submits all entries and waits for `want` completions.
    fn enter(&mut self, want: usize) -> io::Result<()> {
        self.entries.sync();
        let entered = self.submitter.submit_and_wait(want);
        self.entries.sync();
        match entered.map_err(|error| (error.raw_os_error(), error)) {
            // A signal, or a kernel short of memory for a moment: what was not submitted is still in the queue.
            Ok(_) | Err((Some(libc::EINTR | libc::EAGAIN | libc::EBUSY), _)) => Ok(()),
            Err((_, error)) => Err(error),
        }
    }

    /// Adds an entry; a full queue is submitted first, so none is lost.
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: entries point only into `buffers`, which are never freed, and name descriptors that stay open
        // until their completion has arrived.
        while unsafe { self.entries.push(entry) }.is_err() {
            self.enter(0)?;
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        self.push(
            &opcode::AcceptMulti::new(Fd(self.listener.as_raw_fd()))
                .flags(libc::SOCK_CLOEXEC)
                .build()
                .user_data(ACCEPT),
        )
    }

    fn completed(&mut self, completion: &cqueue::Entry) -> io::Result<()> {
        let (kind, fd) = (
            completion.user_data() >> 32 << 32,
            completion.user_data() as u32 as usize,
        );
        let more = cqueue::more(completion.flags());
        match kind {
            ACCEPT => return self.accepted(completion.result(), more),
            RECEIVE => self.received(fd, completion),
            SEND => self.sent(fd, completion.result()),
            _ => return Ok(()), // A cancellation reports through what it cancelled.
        }
        self.next_step(fd)
    }

    fn accepted(&mut self, result: i32, more: bool) -> io::Result<()> {
        if let Ok(fd) = usize::try_from(result) {
            // SAFETY: the kernel has just created this descriptor; nothing else owns it.
            let stream = unsafe { TcpStream::from_raw_fd(result) };
            if self.spare.admits() {
                if self.connections.len() <= fd {
                    self.connections.resize_with(fd + 1, || None);
                    self.buffers.hold(self.connections.len());
                }
                self.connections[fd] = Some(Connection::new(stream));
                self.next_step(fd)?;
            }
        } else {
            self.spare.accept_failed();
        }
        if more { Ok(()) } else { self.accept() }
    }

    fn received(&mut self, fd: usize, completion: &cqueue::Entry) {
        let connection = self.connections[fd]
            .as_mut()
            .expect("lives until its receive has ended");
        if !cqueue::more(completion.flags()) {
            (connection.receiving, connection.pausing) = (false, false);
        }
        // An error can carry a buffer too.
        if let Some(buffer) = cqueue::buffer_select(completion.flags()) {
            self.buffers.taken();
            if completion.result() > 0 {
                connection.queue.push_back(Chunk {
                    buffer,
                    from: 0,
                    to: completion.result() as usize,
                });
            } else {
                self.buffers.recycle(buffer);
            }
        }
        match -completion.result() {
            // No buffer was free, or the cancellation asked for: `next_step` receives again when it can.
            libc::ENOBUFS | libc::ECANCELED => {}
            0.. => connection.ended = true,
            _ => {}
        }
    }

    fn sent(&mut self, fd: usize, result: i32) {
        let connection = self.connections[fd].as_mut().expect("lives until its send has ended");
        connection.sending = false;
        if result < 0 {
            connection
                .queue
                .drain(..)
                .for_each(|chunk| self.buffers.recycle(chunk.buffer));
            connection.ended = true;
            let _ = connection.stream.shutdown(Shutdown::Both); // Ends the receive, if one is under way.
            return;
        }
        let chunk = connection.queue.front_mut().expect("a send is of the first chunk");
        chunk.from += result as usize; // A short send: the rest goes next.
        if chunk.from == chunk.to {
            self.buffers.recycle(chunk.buffer);
            connection.queue.pop_front();
        }
    }

    /// Starts whatever the connection can do now.
    fn next_step(&mut self, fd: usize) -> io::Result<()> {
        let connection = self.connections[fd].as_mut().expect("called only for live connections");
        let raw = Fd(fd as i32);
        let mut start = [None, None];
        if let (false, Some(chunk)) = (connection.sending, connection.queue.front()) {
            connection.sending = true;
            let bytes = self.buffers.address(chunk.buffer).wrapping_add(chunk.from);
            let send = opcode::Send::new(raw, bytes, (chunk.to - chunk.from) as u32);
            start[0] = Some(send.flags(libc::MSG_NOSIGNAL).build().user_data(SEND | fd as u64));
        }
        if connection.receiving {
            if connection.queue.len() >= QUEUE && !connection.pausing {
                connection.pausing = true;
                start[1] = Some(opcode::AsyncCancel::new(RECEIVE | fd as u64).build().user_data(CANCEL));
            }
        } else if connection.ended {
            if connection.queue.is_empty() {
                self.connections[fd] = None; // Closes.
            }
        } else if connection.queue.len() < QUEUE / 2 {
            if self.buffers.any_free() {
                connection.receiving = true;
                start[1] = Some(
                    opcode::RecvMulti::new(raw, buffers::GROUP)
                        .build()
                        .user_data(RECEIVE | fd as u64),
                );
            } else if !connection.starved {
                connection.starved = true;
                self.starved.push(fd);
            }
        }
        start.iter().flatten().try_for_each(|entry| self.push(entry))
    }

    /// Receives again where the buffers had run out; without a free one it would only fail again.
    fn feed_starved(&mut self) -> io::Result<()> {
        if self.starved.is_empty() || !self.buffers.any_free() {
            return Ok(());
        }
        for fd in std::mem::take(&mut self.starved) {
            // The connection may be gone, and another have its descriptor: then this is one step too many, harmlessly.
            if let Some(connection) = &mut self.connections[fd] {
                connection.starved = false;
                self.next_step(fd)?;
            }
        }
        Ok(())
    }
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        let queue = VecDeque::new();
        Self {
            stream,
            queue,
            receiving: false,
            sending: false,
            pausing: false,
            starved: false,
            ended: false,
        }
    }
}
