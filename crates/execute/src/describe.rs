//! What PostgreSQL says that a statement takes and gives.

use bytes::Bytes;
use pg::Oid;
use topology::ShardId;
use wire::backend::Message;

use crate::{ExecuteError, Hands};

/// Types of the parameters and the body of `RowDescription` (`None` when no rows come), asked on `shard`, inside the open block if
/// there is one: then an error fails the block, as it would on one PostgreSQL.
///
/// # Errors
/// What PostgreSQL says to the text, or no backend could be had.
///
/// # Cancel safety
/// Not cancel safe.
pub async fn describe(
    hands: &mut Hands<'_>,
    shard: ShardId,
    text: &str,
    types: &[Oid],
) -> Result<(Vec<Oid>, Option<Bytes>), ExecuteError> {
    let translation = hands.translation(shard).await?;
    let types = match &translation {
        Some(translation) => translation.to_shard(types)?.into(),
        None => std::borrow::Cow::Borrowed(types),
    };
    let place = hands
        .transaction
        .enlist(hands.environment, shard, hands.wanted)
        .await?;
    let participant = &mut hands.transaction.participants()[place];
    participant.settle_ahead().await?;
    let backend = participant.backend();
    let output = backend.connection.output();
    wire::frontend::parse(output, "", text, &types);
    let target = wire::frontend::Target::Statement;
    wire::frontend::Message::Describe { target, name: "" }.encode(output);
    wire::frontend::Message::Sync.encode(output);
    backend.expect_ready();
    backend.flush().await?;
    let (mut parameters, mut row, mut failure) = (Vec::new(), None, None);
    loop {
        let frame = backend.frame().await?;
        match frame.tag {
            b'Z' => break,
            b'T' => row = Some(frame.body),
            b'E' => failure = Some(crate::pump::read_diagnostic(&frame.body)),
            b't' => {
                if let Ok(Message::ParameterDescription { types }) =
                    Message::parse(b't', &frame.body)
                {
                    parameters = types;
                }
            }
            _ => {}
        }
    }
    match failure {
        Some(diagnostic) => Err(diagnostic.into()),
        None => match (translation, row) {
            (None, row) => Ok((parameters, row)),
            (Some(translation), row) => {
                let row = row.map(|body| translation.description(&body)).transpose()?;
                Ok((translation.to_client(&parameters)?, row))
            }
        },
    }
}
