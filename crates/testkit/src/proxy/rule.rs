//! Which message is held back, and what becomes of it.

use std::fmt;
use std::time::Duration;

use tokio::sync::oneshot;
use wire::Frame;
use wire::backend;
use wire::frontend;

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server: held before the server has seen it.
    ToServer,
    /// From the server to the client: the server has acted already.
    ToClient,
}

/// Says of a message whether it is the one.
pub struct Matcher(Box<dyn Fn(&Frame) -> bool + Send>);

/// What becomes of a held message and its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Forward,
    /// It is lost; the connection goes on.
    Drop,
    /// Both sides of the connection are closed.
    Cut,
    /// Both sides of the connection are reset.
    Reset,
    /// Its receiver sees the end of the stream; the other direction goes on.
    HalfClose,
}

/// A message that may be held back some day.
#[derive(Debug)]
pub struct Trip {
    trip: oneshot::Receiver<Held>,
    held: Option<Held>,
}

/// A message that is held back now.
#[derive(Debug)]
pub(super) struct Held {
    frame: Frame,
    verdict: oneshot::Sender<Verdict>,
}

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) direction: Direction,
    pub(super) matcher: Matcher,
    pub(super) tripped: Option<oneshot::Sender<Held>>,
}

// === impl Matcher ===

impl Matcher {
    /// A message for which `is_it` holds.
    pub fn new(is_it: impl Fn(&Frame) -> bool + Send + 'static) -> Self {
        Self(Box::new(is_it))
    }

    /// A client's message whose SQL holds this text: Query or Parse.
    pub fn sql(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(
            move |frame| match frontend::Message::parse(frame.tag, &frame.body) {
                Ok(frontend::Message::Query { text: sql }) => sql.contains(&text),
                Ok(frontend::Message::Parse(parse)) => parse.query.contains(&text),
                _ => false,
            },
        )
    }

    /// A server's `CommandComplete` whose tag begins so.
    pub fn complete(tag: impl Into<String>) -> Self {
        let wanted = tag.into();
        Self::new(move |frame| {
            matches!(
                backend::Message::parse(frame.tag, &frame.body),
                Ok(backend::Message::CommandComplete { tag }) if tag.starts_with(&wanted)
            )
        })
    }

    /// Any message of this type.
    #[must_use]
    pub fn tag(tag: u8) -> Self {
        Self::new(move |frame| frame.tag == tag)
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Matcher")
    }
}

// === impl Trip ===

impl Trip {
    pub(super) fn new(trip: oneshot::Receiver<Held>) -> Self {
        Self { trip, held: None }
    }

    /// Waits until the message is held; false when it did not come in time, or the proxy is gone.
    pub async fn tripped(&mut self, within: Duration) -> bool {
        if self.held.is_none()
            && let Ok(Ok(held)) = tokio::time::timeout(within, &mut self.trip).await
        {
            self.held = Some(held);
        }
        self.held.is_some()
    }

    /// The message that is held.
    #[must_use]
    pub fn frame(&self) -> Option<&Frame> {
        self.held.as_ref().map(|held| &held.frame)
    }

    /// Lets the held message meet its fate. Without this it is held for ever, and cut when the value
    /// is dropped.
    pub fn release(self, verdict: Verdict) {
        if let Some(held) = self.held {
            // Its connection may be gone by now.
            let _ = held.verdict.send(verdict);
        }
    }
}

// === impl Rule ===

impl Rule {
    pub(super) fn takes(&self, direction: Direction, frame: &Frame) -> bool {
        self.direction == direction && (self.matcher.0)(frame)
    }

    /// Tells the test and waits for its verdict. A test that gave up the wait lets it pass.
    pub(super) async fn held(mut self, frame: Frame) -> Verdict {
        let (verdict, decided) = oneshot::channel();
        let told = match self.tripped.take() {
            Some(tripped) => tripped.send(Held { frame, verdict }),
            None => return Verdict::Forward,
        };
        match told {
            Ok(()) => decided.await.unwrap_or(Verdict::Cut),
            Err(_nobody_waits) => Verdict::Forward,
        }
    }
}
