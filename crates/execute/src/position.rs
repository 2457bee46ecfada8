//! Where a shard's text stands in the client's, so that errors point to what the client wrote.

/// How a character position in the text that a shard got becomes one in the client's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Position {
    /// The texts are the same.
    #[default]
    Same,
    /// The shard got one statement of several: so many characters stand before it.
    After(u32),
    /// The shard got an edited text or one of the router's own: positions in it mean nothing to the client.
    Foreign,
}

impl Position {
    /// The position in the client's text; both count characters from 1.
    #[must_use]
    pub fn in_clients_text(self, position: Option<u32>) -> Option<u32> {
        let position = position?;
        match self {
            Self::Same => Some(position),
            Self::After(count) => Some(position + count),
            Self::Foreign => None,
        }
    }
}
