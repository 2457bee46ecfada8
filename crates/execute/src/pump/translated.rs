//! Descriptions and rows whose numbers of types become those that the client knows.

use bytes::BufMut as _;

use super::{Fate, Pump, PumpError};
use crate::number::{Inside, fields_of};

impl Pump<'_> {
    /// Passes the description of columns on, in the client's numbers.
    pub(super) async fn columns(&mut self, length: usize) -> Result<(), PumpError> {
        self.whole(length).await?;
        let Some(translation) = &self.translation else {
            return self.take(length, Fate::Pass).await;
        };
        let body = &self.backend.connection.buffered()[5..length];
        let output = self.client.output();
        let told = fields_of(body).and_then(|mut fields| {
            translation.fields(&mut fields)?;
            let inside = translation.inside(&fields, |at| fields[at].format)?;
            wire::backend::Message::RowDescription(fields).encode(output);
            Ok(inside)
        });
        self.inside = told.map_err(|reason| PumpError::Number(Box::new(reason)))?;
        self.take(length, Fate::Swallow).await
    }

    /// Passes one row on, with the numbers inside its values in the client's.
    pub(super) async fn translated_row(&mut self, inside: &Inside) -> Result<(), PumpError> {
        let (_, length) = self.header().await?;
        self.whole(length).await?;
        let output = self.client.output();
        let start = output.len();
        output.put_slice(&self.backend.connection.buffered()[..length]);
        if let Some(translation) = &self.translation
            && let Err(reason) = translation.row(inside, &mut output[start + 5..])
        {
            output.truncate(start);
            return Err(PumpError::Number(Box::new(reason)));
        }
        self.backend.connection.consume(length);
        self.relieve().await
    }
}
