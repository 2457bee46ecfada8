//! The client's COPY data on its way to one backend, unread.

use std::io;

use bytes::BufMut as _;

use super::{FLUSH_SIZE, Pump, PumpError, header_of, holds_error};

impl Pump<'_> {
    /// Moves the client's COPY data to the backend until the client ends it or the backend objects.
    pub(super) async fn copy_in(&mut self) -> Result<(), PumpError> {
        self.client
            .flush()
            .await
            .map_err(|_closed| PumpError::ClientGone)?;
        let mut is_over = false;
        loop {
            let Some((tag, length)) = header_of(self.client.buffered()) else {
                is_over |= self.wait_for_copy_data(is_over).await?;
                if is_over && !self.sync_follows_copy {
                    return self.flush_backend().await;
                }
                continue;
            };
            match tag {
                b'd' | b'c' | b'f' => {
                    self.forward(length).await?;
                    is_over |= tag != b'd';
                }
                b'S' if is_over => {
                    self.sync_follows_copy = false;
                    self.forward(length).await?;
                }
                // Allowed and without meaning while data is copied.
                b'H' | b'S' => {
                    self.client
                        .fill_to(length)
                        .await
                        .map_err(|_closed| PumpError::ClientGone)?;
                    self.client.consume(length);
                }
                // PostgreSQL raises the error itself when it sees the message.
                _ => {
                    self.forward(length).await?;
                    is_over = true;
                }
            }
            if is_over && !self.sync_follows_copy {
                return self.flush_backend().await;
            }
        }
    }

    /// Waits for more from the client; true when the backend objected first.
    async fn wait_for_copy_data(&mut self, is_over: bool) -> Result<bool, PumpError> {
        self.flush_backend().await?;
        let (client, backend) = (&mut *self.client, &mut self.backend.connection);
        tokio::select! {
            biased;
            filled = backend.fill(), if !is_over => match filled {
                Ok(0) => Err(PumpError::gone(self.backend, io::ErrorKind::UnexpectedEof.into())),
                // A notice or a parameter is no objection: only an error ends the copy early.
                Ok(_) => Ok(holds_error(backend.buffered())),
                Err(error) => Err(PumpError::gone(self.backend, error)),
            },
            filled = client.fill() => match filled {
                Ok(0) | Err(_) => Err(PumpError::ClientGone),
                Ok(_) => Ok(false),
            },
        }
    }

    /// Moves one client message to the backend, in parts when it is large.
    async fn forward(&mut self, length: usize) -> Result<(), PumpError> {
        let mut rest = length;
        while rest > 0 {
            if self.client.buffered().is_empty() {
                self.flush_backend().await?;
                let filled = self.client.fill().await;
                if matches!(filled, Ok(0) | Err(_)) {
                    return Err(PumpError::ClientGone);
                }
            }
            let count = rest.min(self.client.buffered().len());
            self.backend
                .connection
                .output()
                .put_slice(&self.client.buffered()[..count]);
            self.client.consume(count);
            rest -= count;
            if self.backend.connection.output().len() >= FLUSH_SIZE {
                self.flush_backend().await?;
            }
        }
        Ok(())
    }
}
