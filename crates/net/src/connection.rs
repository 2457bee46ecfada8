//! A socket with its two buffers.
//!
//! Invariant: bytes leave `input` only when they were handed out or written to another socket, and leave
//! `output` only when they were written, so that cancelling any wait loses and doubles nothing.

use std::io::{self, IoSlice};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use wire::scan::Head;
use wire::{Frame, Limits, Startup};

use crate::{ConnectionError, RelayError, Socket};

/// Room made for a read while messages are small.
const READ_BYTES: usize = 8 << 10;
/// Room made for a read once reads fill what there is.
const BULK_READ_BYTES: usize = 64 << 10;
/// Up to this much, relayed bytes are gathered before they are written.
const GATHER_BYTES_MAX: usize = 16 << 10;
/// A larger output buffer is given back when it has been written.
const KEEP_BYTES_MAX: usize = 64 << 10;
/// How often a peer is looked after that sent more than the limit of [`Connection::hangup`].
const HANGUP_POLL: Duration = Duration::from_millis(200);

/// A client's or a shard's connection.
#[derive(Debug)]
pub struct Connection {
    socket: Socket,
    input: BytesMut,
    output: BytesMut,
    read_bytes: usize,
    closed: bool,
}

impl Connection {
    /// Takes a connected socket over.
    #[must_use]
    pub fn new(socket: impl Into<Socket>) -> Self {
        Self {
            socket: socket.into(),
            input: BytesMut::new(),
            output: BytesMut::new(),
            read_bytes: READ_BYTES,
            closed: false,
        }
    }

    /// The socket, for options and addresses.
    #[must_use]
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Who is at the other end, for logs.
    #[must_use]
    pub fn peer(&self) -> String {
        self.socket.peer()
    }

    // --- reading ---

    /// What was read and not yet taken.
    #[must_use]
    pub fn buffered(&self) -> &[u8] {
        &self.input
    }

    /// The same, for decoders that split messages off it.
    pub fn input(&mut self) -> &mut BytesMut {
        &mut self.input
    }

    /// Forgets the first `count` bytes of what was read.
    ///
    /// # Panics
    /// Fewer bytes are buffered.
    pub fn consume(&mut self, count: usize) {
        self.input.advance(count);
    }

    /// Takes the first `count` bytes of what was read, without copying.
    ///
    /// # Panics
    /// Fewer bytes are buffered.
    pub fn take(&mut self, count: usize) -> Bytes {
        self.input.split_to(count).freeze()
    }

    /// Whether the peer has closed its side or its connection broke; what is buffered may still be taken.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Waits for more and reads once; 0 means that the peer closed.
    ///
    /// # Errors
    /// Whatever the socket says.
    ///
    /// # Cancel safety
    /// Cancel safe: bytes are in the buffer or in the kernel.
    pub async fn fill(&mut self) -> io::Result<usize> {
        if self.closed {
            return Ok(0);
        }
        let room = self.make_room();
        let count = self.socket.read_buf(&mut self.input).await?;
        self.filled(count, room);
        Ok(count)
    }

    /// Reads what the kernel already holds; 0 means that the peer closed.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is there; whatever else the socket says.
    pub fn try_fill(&mut self) -> io::Result<usize> {
        if self.closed {
            return Ok(0);
        }
        let room = self.make_room();
        let count = self.socket.try_read_buf(&mut self.input)?;
        self.filled(count, room);
        Ok(count)
    }

    /// Waits until at least `count` bytes are buffered.
    ///
    /// # Errors
    /// `UnexpectedEof` when the peer closes before; whatever else the socket says.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn fill_to(&mut self, count: usize) -> io::Result<()> {
        while self.input.len() < count {
            if self.fill().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    fn make_room(&mut self) -> usize {
        self.input.reserve(self.read_bytes);
        self.input.capacity() - self.input.len()
    }

    /// A peer that fills what it is offered is offered more.
    fn filled(&mut self, count: usize, room: usize) {
        self.closed = count == 0;
        self.read_bytes = if count == room {
            BULK_READ_BYTES
        } else {
            READ_BYTES
        };
    }

    /// The next message if it was read already.
    ///
    /// # Errors
    /// What was read is no message.
    pub fn try_frame(&mut self, limits: &Limits) -> Result<Option<Frame>, ConnectionError> {
        wire::decode(&mut self.input, limits).map_err(ConnectionError::Decode)
    }

    /// The next message; `None` if the peer closed between two messages.
    ///
    /// # Errors
    /// Reading failed, the peer closed within a message, or sent none.
    ///
    /// # Cancel safety
    /// Cancel safe: a message is taken when it is whole.
    pub async fn read_frame(&mut self, limits: &Limits) -> Result<Option<Frame>, ConnectionError> {
        loop {
            if let Some(frame) = self.try_frame(limits)? {
                return Ok(Some(frame));
            }
            if self.fill().await.map_err(ConnectionError::Read)? == 0 {
                return self.end();
            }
        }
    }

    /// The header of the next message, once the whole message is buffered; it is not taken. `None` if the
    /// peer closed between two messages.
    ///
    /// # Errors
    /// As [`Connection::read_frame`].
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn peek_whole(&mut self, limits: &Limits) -> Result<Option<Head>, ConnectionError> {
        loop {
            let head = wire::scan::next(&self.input, limits);
            if let Some(head) = head.map_err(ConnectionError::Decode)? {
                return Ok(Some(head));
            }
            if self.fill().await.map_err(ConnectionError::Read)? == 0 {
                return self.end();
            }
        }
    }

    /// The header of the next message, as soon as it is there; the body may not be.
    ///
    /// # Errors
    /// As [`Connection::read_frame`].
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn peek_head(&mut self, limits: &Limits) -> Result<Option<Head>, ConnectionError> {
        loop {
            let head = wire::scan::head(&self.input, limits);
            if let Some(head) = head.map_err(ConnectionError::Decode)? {
                return Ok(Some(head));
            }
            if self.fill().await.map_err(ConnectionError::Read)? == 0 {
                return self.end();
            }
        }
    }

    /// The next start-up packet; `None` if the peer closed instead.
    ///
    /// # Errors
    /// As [`Connection::read_frame`].
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn read_startup(&mut self) -> Result<Option<Startup>, ConnectionError> {
        loop {
            let packet = wire::startup::decode(&mut self.input);
            if let Some(packet) = packet.map_err(ConnectionError::Decode)? {
                return Ok(Some(packet));
            }
            if self.fill().await.map_err(ConnectionError::Read)? == 0 {
                return self.end();
            }
        }
    }

    fn end<T>(&self) -> Result<Option<T>, ConnectionError> {
        if self.input.is_empty() {
            Ok(None)
        } else {
            Err(ConnectionError::Truncated)
        }
    }

    /// Resolves when the peer closed or its connection broke, while nobody reads its requests. What it
    /// sends meanwhile is kept: up to `limit` bytes in the buffer, beyond it in the kernel.
    ///
    /// # Cancel safety
    /// Cancel safe: nothing that was read is lost.
    pub async fn hangup(&mut self, limit: usize) {
        while self.input.len() < limit && !self.closed {
            self.closed = matches!(self.fill().await, Ok(0) | Err(_));
        }
        if self.closed {
            return;
        }
        loop {
            match self.socket.ready(Interest::READABLE).await {
                Ok(ready) if !ready.is_read_closed() => tokio::time::sleep(HANGUP_POLL).await,
                // Not marked closed: what the kernel still holds may be read.
                _ => return,
            }
        }
    }

    // --- writing ---

    /// What is to be written; append messages to it and [`Connection::flush`].
    pub fn output(&mut self) -> &mut BytesMut {
        &mut self.output
    }

    /// Appends bytes to what is to be written.
    pub fn write(&mut self, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
    }

    /// Writes all that was appended.
    ///
    /// # Errors
    /// Writing failed.
    ///
    /// # Cancel safety
    /// Cancel safe: what was written is gone from the buffer, the rest is written by the next call.
    pub async fn flush(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            let count = self.socket.write(&self.output).await?;
            self.written(count)?;
        }
        self.give_back_output();
        Ok(())
    }

    /// Writes as much of what was appended as the kernel takes now.
    ///
    /// # Errors
    /// Whatever the socket says, except that it would block.
    pub fn try_flush(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match self.socket.try_write(&self.output) {
                Ok(count) => self.written(count)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.give_back_output();
        Ok(())
    }

    fn written(&mut self, count: usize) -> io::Result<()> {
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.output.advance(count);
        Ok(())
    }

    /// One large answer must not keep its memory for the rest of the session.
    fn give_back_output(&mut self) {
        if self.output.capacity() > KEEP_BYTES_MAX {
            self.output = BytesMut::new();
        }
    }

    /// Waits for more and reads once, as [`Connection::fill`], and writes what was appended while it waits,
    /// so that two peers that both have much to say can't block each other.
    ///
    /// # Errors
    /// Whatever the socket says.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn fill_while_flushing(&mut self) -> io::Result<usize> {
        loop {
            self.try_flush()?;
            match self.try_fill() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            if self.output.is_empty() {
                self.socket.readable().await?;
            } else {
                self.socket
                    .ready(Interest::READABLE | Interest::WRITABLE)
                    .await?;
            }
        }
    }

    /// Passes the first `count` bytes that `source` has buffered on to this connection. Few bytes are
    /// gathered with what is to be written and go with the next flush; many are written from where they
    /// lie, after what is to be written before them.
    ///
    /// # Errors
    /// Writing to this connection failed.
    ///
    /// # Panics
    /// `source` has fewer bytes buffered.
    ///
    /// # Cancel safety
    /// Cancel safe: bytes leave `source` as they are written.
    pub async fn relay(&mut self, source: &mut Self, count: usize) -> io::Result<()> {
        if self.output.len() + count <= GATHER_BYTES_MAX {
            self.output.extend_from_slice(&source.input[..count]);
            source.input.advance(count);
            return Ok(());
        }
        let mut left = count;
        while left > 0 {
            let parts = [
                IoSlice::new(&self.output),
                IoSlice::new(&source.input[..left]),
            ];
            let parts = if self.output.is_empty() {
                &parts[1..]
            } else {
                &parts[..]
            };
            let written = self.socket.write_vectored(parts).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            let own = written.min(self.output.len());
            self.output.advance(own);
            source.input.advance(written - own);
            left -= written - own;
        }
        Ok(())
    }

    /// Passes exactly `count` bytes of `source` on, reading them as they come, so that a message larger
    /// than any buffer is never held whole.
    ///
    /// # Errors
    /// One of the two failed; then the message is cut and this connection can't be used any more.
    ///
    /// # Cancel safety
    /// Not cancel safe: how much of the message went is lost.
    pub async fn relay_exact(&mut self, source: &mut Self, count: usize) -> Result<(), RelayError> {
        let mut left = count;
        while left > 0 {
            if source.input.is_empty() && source.fill().await.map_err(RelayError::Source)? == 0 {
                return Err(RelayError::Source(io::ErrorKind::UnexpectedEof.into()));
            }
            let part = left.min(source.input.len());
            self.relay(source, part).await.map_err(RelayError::Target)?;
            left -= part;
        }
        Ok(())
    }

    /// Gives the buffers' memory back; call it when the connection falls idle. What is buffered stays.
    pub fn relax(&mut self) {
        for buffer in [&mut self.input, &mut self.output] {
            if buffer.is_empty() {
                *buffer = BytesMut::new();
            }
        }
        self.read_bytes = READ_BYTES;
    }

    /// Says that no more will be sent, and reads and forgets what comes until the peer has closed as well.
    ///
    /// # Cancel safety
    /// Cancel safe: it may be called again.
    pub async fn drain(&mut self) {
        if self.socket.shutdown().await.is_err() {
            return;
        }
        while matches!(self.fill().await, Ok(1..)) {
            self.input.clear();
        }
    }

    /// Says good-bye to the peer on the level of the socket.
    pub async fn close(mut self) {
        let _ = self.flush().await;
        let _ = self.socket.shutdown().await;
    }
}

#[cfg(test)]
mod tests;
