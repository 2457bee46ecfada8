//! A socket with a buffer on each side.
//!
//! Readers look at [`Connection::buffered`] and [`Connection::consume`] what they used; writers append to
//! [`Connection::output`] and [`Connection::flush`]. Nothing is read ahead of what was asked for by [`Connection::fill`] but
//! what the kernel had anyway, so a slow reader slows its source down.

use std::io;

use bytes::BytesMut;

use crate::Socket;

/// How much one read asks the kernel for.
const READ_SIZE: usize = 16 * 1024;

/// A buffer larger than this is given back when it has been emptied.
const KEEP_SIZE: usize = 32 * 1024;

/// A peer's socket and its buffers.
#[derive(Debug)]
pub struct Connection {
    socket: Socket,
    input: BytesMut,
    output: BytesMut,
    closed: bool,
}

impl Connection {
    /// Takes a connected socket over.
    pub fn new(socket: impl Into<Socket>) -> Self {
        let (input, output) = (BytesMut::new(), BytesMut::new());
        Self {
            socket: socket.into(),
            input,
            output,
            closed: false,
        }
    }

    /// The socket, for options and addresses.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Bytes read and not yet consumed.
    pub fn buffered(&self) -> &[u8] {
        &self.input
    }

    /// The input buffer itself, for decoders that split frames off it.
    pub fn input(&mut self) -> &mut BytesMut {
        &mut self.input
    }

    /// Drops the first `count` bytes of the input buffer.
    pub fn consume(&mut self, count: usize) {
        bytes::Buf::advance(&mut self.input, count);
    }

    /// Bytes written and not yet flushed; append to it.
    pub fn output(&mut self) -> &mut BytesMut {
        &mut self.output
    }

    /// Appends bytes to the output buffer.
    pub fn write(&mut self, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
    }

    /// The peer has closed its side, as seen by the last read.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Waits for more input and appends it; 0 when the peer has closed.
    ///
    /// # Errors
    /// Whatever the socket says.
    ///
    /// # Cancel safety
    /// Cancel safe: bytes are taken from the kernel only in the step that stores them.
    pub async fn fill(&mut self) -> io::Result<usize> {
        loop {
            match self.try_fill() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.socket.readable().await?;
                }
                other => return other,
            }
        }
    }

    /// Appends what the kernel already holds; `WouldBlock` when nothing is there, 0 when the peer has closed.
    ///
    /// # Errors
    /// Whatever the socket says.
    pub fn try_fill(&mut self) -> io::Result<usize> {
        let old = self.input.len();
        self.input.resize(old + READ_SIZE, 0);
        let result = self.socket.try_read(&mut self.input[old..]);
        self.input.truncate(old + *result.as_ref().unwrap_or(&0));
        if matches!(result, Ok(0)) {
            self.closed = true;
        }
        result
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

    /// Sends everything in the output buffer.
    ///
    /// # Errors
    /// Whatever the socket says; the output buffer then holds what wasn't sent.
    ///
    /// # Cancel safety
    /// Cancel safe: what was sent has left the buffer, what wasn't is still in it.
    pub async fn flush(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match self.socket.try_write(&self.output) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes::Buf::advance(&mut self.output, count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.socket.writable().await?;
                }
                Err(error) => return Err(error),
            }
        }
        if self.output.capacity() > KEEP_SIZE {
            self.output = BytesMut::new();
        }
        Ok(())
    }

    /// Sends as much of the output as the kernel takes now.
    ///
    /// # Errors
    /// Whatever the socket says, except that it would block.
    pub fn try_flush(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match self.socket.try_write(&self.output) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes::Buf::advance(&mut self.output, count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Gives buffer memory back while nothing is in it; call it when the peer falls idle.
    pub fn relax(&mut self) {
        if self.input.is_empty() && self.input.capacity() > 0 {
            self.input = BytesMut::new();
        }
        if self.output.is_empty() && self.output.capacity() > 0 {
            self.output = BytesMut::new();
        }
    }

    /// Resolves when the peer has closed or reset its side. Requests that it sent before are kept in the input buffer, up to
    /// `limit` bytes; a peer that sends more is left waiting in the kernel, and this then never resolves.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn hangup(&mut self, limit: usize) {
        loop {
            if self.closed {
                return;
            }
            if self.input.len() >= limit {
                std::future::pending::<()>().await;
            }
            match self.fill().await {
                Ok(0) | Err(_) => {
                    self.closed = true;
                    return;
                }
                Ok(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::UnixStream;

    #[tokio::test]
    async fn bytes_cross_whole_and_closing_is_seen() {
        let (left, right) = UnixStream::pair().unwrap();
        let (mut left, mut right) = (Connection::new(left), Connection::new(right));
        left.write(b"hello");
        left.flush().await.unwrap();
        right.fill_to(5).await.unwrap();
        assert_eq!(right.buffered(), b"hello");
        right.consume(5);
        assert!(right.buffered().is_empty());
        drop(left);
        right.hangup(100).await;
        assert!(right.is_closed());
    }

    #[tokio::test]
    async fn hangup_keeps_what_was_sent_before() {
        let (left, right) = UnixStream::pair().unwrap();
        let (mut left, mut right) = (Connection::new(left), Connection::new(right));
        left.write(b"pipelined");
        left.flush().await.unwrap();
        drop(left);
        right.hangup(100).await;
        assert_eq!(right.buffered(), b"pipelined");
    }
}
