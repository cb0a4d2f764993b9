//! The two halves of a stream, so that one task reads while another writes.
//!
//! Reader and writer of a connection wait apart from each other, so halves need no lock and cost nothing; the types only
//! see to it that there is one of each.

use super::{Family, Stream, Tcp, conn_handle::Link};
use std::{error::Error, fmt, rc::Rc};

impl<F: Family> Stream<F> {
    /// Lends the two directions, to be used at the same time within one task.
    ///
    /// ```
    /// # use brunt_runtime::{Runtime, net::UnixStream};
    /// # Runtime::new()?.block_on(async {
    /// let (mut stream, mut peer) = UnixStream::pair()?;
    /// let (mut reader, mut writer) = stream.split();
    /// // More than sockets hold, and the peer sends it back: it goes only if both directions go at the same time.
    /// brunt_runtime::spawn(async move {
    ///     while let Ok(lease) = peer.recv().await {
    ///         if lease.is_empty() || peer.send(lease).await.is_err() { break }
    ///     }
    /// });
    /// let (sent, mut received) = (vec![7; 4 << 20], vec![0; 4 << 20]);
    /// futures_lite::future::try_zip(writer.write_all(&sent), reader.read_exact(&mut received)).await?;
    /// assert!(received == sent);
    /// # std::io::Result::Ok(())
    /// # })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn split(&mut self) -> (ReadHalf<'_, F>, WriteHalf<'_, F>) {
        (ReadHalf { stream: self }, WriteHalf { stream: self })
    }

    /// Gives the two directions to two owners, two tasks mostly. Dropping the write half shuts its direction down after
    /// what was written has gone: the peer reads the end of the stream. The connection is closed with the later half.
    ///
    /// ```
    /// # use brunt_runtime::{Runtime, net::UnixStream, spawn};
    /// # Runtime::new()?.block_on(async {
    /// let (stream, mut peer) = UnixStream::pair()?;
    /// let (mut reader, mut writer) = stream.into_split();
    /// let received = spawn(async move { reader.recv().await.map(|lease| lease.to_vec()) });
    /// writer.write_all(b"question").await?;
    /// drop(writer);
    /// let mut question = [0; 8];
    /// peer.read_exact(&mut question).await?;
    /// assert!(peer.recv().await?.is_empty());
    /// peer.write_all(b"answer").await?;
    /// assert_eq!(received.await.unwrap()?, b"answer");
    /// # std::io::Result::Ok(())
    /// # })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn into_split(self) -> (OwnedReadHalf<F>, OwnedWriteHalf<F>) {
        let stream = Rc::new(self);
        (OwnedReadHalf { stream: stream.clone() }, OwnedWriteHalf { stream, ends: true })
    }
}

/// The reading half that [`Stream::split`] lends. Addresses and options are the stream's: `half.as_ref()`.
#[derive(Debug)]
pub struct ReadHalf<'a, F: Family = Tcp> {
    stream: &'a Stream<F>,
}

/// The writing half that [`Stream::split`] lends. Addresses and options are the stream's: `half.as_ref()`.
#[derive(Debug)]
pub struct WriteHalf<'a, F: Family = Tcp> {
    stream: &'a Stream<F>,
}

/// The reading half of [`Stream::into_split`]. Addresses and options are the stream's: `half.as_ref()`.
#[derive(Debug)]
pub struct OwnedReadHalf<F: Family = Tcp> {
    stream: Rc<Stream<F>>,
}

/// The writing half of [`Stream::into_split`]. Addresses and options are the stream's: `half.as_ref()`.
#[derive(Debug)]
pub struct OwnedWriteHalf<F: Family = Tcp> {
    stream: Rc<Stream<F>>,
    /// Its end is the end of the write direction; not so when it becomes a stream again.
    ends: bool,
}

macro_rules! half {
    ($($name:tt)+) => {
        impl<F: Family> $($name)+ {
            #[inline(always)]
            pub(crate) fn link(&self) -> &Link {
                self.stream.link()
            }
        }

        impl<F: Family> AsRef<Stream<F>> for $($name)+ {
            fn as_ref(&self) -> &Stream<F> {
                &self.stream
            }
        }
    };
}

half!(ReadHalf<'_, F>);
half!(WriteHalf<'_, F>);
half!(OwnedReadHalf<F>);
half!(OwnedWriteHalf<F>);

impl<F: Family> OwnedReadHalf<F> {
    /// Makes a stream of its two halves again; fails if they are of different streams.
    pub fn reunite(self, mut write: OwnedWriteHalf<F>) -> Result<Stream<F>, ReuniteError<F>> {
        if !Rc::ptr_eq(&self.stream, &write.stream) {
            return Err(ReuniteError(self, write));
        }
        write.ends = false;
        drop(write);
        Ok(Rc::into_inner(self.stream).expect("a stream has two halves, and the other one is gone"))
    }
}

impl<F: Family> OwnedWriteHalf<F> {
    /// As [`OwnedReadHalf::reunite`].
    pub fn reunite(self, read: OwnedReadHalf<F>) -> Result<Stream<F>, ReuniteError<F>> {
        read.reunite(self)
    }
}

impl<F: Family> Drop for OwnedWriteHalf<F> {
    fn drop(&mut self) {
        // With the reading half gone already, the stream is closed a moment later.
        if self.ends && Rc::strong_count(&self.stream) > 1 {
            self.link().end_output();
        }
    }
}

/// Two halves that do not belong together, given back.
#[derive(Debug)]
pub struct ReuniteError<F: Family = Tcp>(pub OwnedReadHalf<F>, pub OwnedWriteHalf<F>);

impl<F: Family> fmt::Display for ReuniteError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the halves belong to different streams")
    }
}

impl<F: Family> Error for ReuniteError<F> {}
