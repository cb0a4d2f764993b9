//! Halves of a stream: one task reads while another writes.
//!
//! Reader and writer of a connection wait independently, so halves need no lock; the types ensure there is one of each.

use super::{Family, Stream, Tcp, conn_handle::ConnHandle};
use std::{error::Error, fmt, rc::Rc};

impl<F: Family> Stream<F> {
    /// Borrows the two directions, for use at the same time within one task.
    ///
    /// ```
    /// # use brunt_runtime::{Runtime, net::UnixStream};
    /// # Runtime::new()?.block_on(async {
    /// let (mut stream, mut peer) = UnixStream::pair()?;
    /// let (mut reader, mut writer) = stream.split();
    /// // More than socket buffers hold, and echoed: progresses only if both directions run at the same time.
    /// brunt_runtime::spawn(async move {
    ///     while let Ok(received) = peer.recv().await {
    ///         if received.is_empty() || peer.send(received).await.is_err() { break }
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

    /// Splits into owned halves, usually for two tasks. Dropping the write half shuts its direction down after everything
    /// written has been sent: the peer reads the end of the stream. The connection closes with the second half.
    ///
    /// ```
    /// # use brunt_runtime::{Runtime, net::UnixStream, spawn};
    /// # Runtime::new()?.block_on(async {
    /// let (stream, mut peer) = UnixStream::pair()?;
    /// let (mut reader, mut writer) = stream.into_split();
    /// let received = spawn(async move { reader.recv().await.map(|received| received.to_vec()) });
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
        (OwnedReadHalf { stream: stream.clone() }, OwnedWriteHalf { stream, shuts_down: true })
    }
}

/// The borrowed reading half of [`Stream::split`]. `half.as_ref()` is the stream, for addresses and options.
#[derive(Debug)]
pub struct ReadHalf<'a, F: Family = Tcp> {
    stream: &'a Stream<F>,
}

/// The borrowed writing half of [`Stream::split`]. `half.as_ref()` is the stream, for addresses and options.
#[derive(Debug)]
pub struct WriteHalf<'a, F: Family = Tcp> {
    stream: &'a Stream<F>,
}

/// The reading half of [`Stream::into_split`]. `half.as_ref()` is the stream, for addresses and options.
#[derive(Debug)]
pub struct OwnedReadHalf<F: Family = Tcp> {
    stream: Rc<Stream<F>>,
}

/// The writing half of [`Stream::into_split`]. `half.as_ref()` is the stream, for addresses and options.
#[derive(Debug)]
pub struct OwnedWriteHalf<F: Family = Tcp> {
    stream: Rc<Stream<F>>,
    /// Dropping it shuts the write direction down; cleared by `reunite`.
    shuts_down: bool,
}

macro_rules! half {
    ($($name:tt)+) => {
        impl<F: Family> $($name)+ {
            #[inline(always)]
            pub(crate) fn conn(&self) -> &ConnHandle {
                self.stream.conn()
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
    /// Joins two halves into their stream.
    ///
    /// # Errors
    /// If they belong to different streams; both are returned.
    pub fn reunite(self, mut write: OwnedWriteHalf<F>) -> Result<Stream<F>, ReuniteError<F>> {
        if !Rc::ptr_eq(&self.stream, &write.stream) {
            return Err(ReuniteError(self, write));
        }
        write.shuts_down = false;
        drop(write);
        Ok(Rc::into_inner(self.stream).expect("the other half was just dropped"))
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
        // Without the reading half, the stream closes right after this.
        if self.shuts_down && Rc::strong_count(&self.stream) > 1 {
            self.conn().end_output();
        }
    }
}

/// Two halves of different streams, returned.
#[derive(Debug)]
pub struct ReuniteError<F: Family = Tcp>(pub OwnedReadHalf<F>, pub OwnedWriteHalf<F>);

impl<F: Family> fmt::Display for ReuniteError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the halves belong to different streams")
    }
}

impl<F: Family> Error for ReuniteError<F> {}
