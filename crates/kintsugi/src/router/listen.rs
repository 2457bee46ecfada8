//! The loop that lets clients in: each is a task of its own, whose panic ends nobody else.

use std::sync::Arc;
use std::time::Duration;

use session::{Halt, House};
use stdx::{Outcome, TaskGroup};
use tokio_util::sync::CancellationToken;

use crate::Failure;

/// How long clients are given to hear that the router ends.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long nothing is accepted after accepting failed, such as for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// What happens to a router.
enum Event {
    Client(std::io::Result<net::Socket>),
    Ended(Outcome<()>),
    Background(Failure),
    Stop,
}

/// Serves clients until the router is stopped, or something in the background says that it must end.
pub(super) async fn serve(
    house: &Arc<House>,
    listener: net::Listener,
    background: &mut TaskGroup<Failure>,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let mut sessions = TaskGroup::new();
    let result = loop {
        // Every arm is cancel safe: a client, a task's end and a stop are there at the next look.
        let event = tokio::select! {
            biased;
            () = stop.cancelled() => Event::Stop,
            failure = failed(background) => Event::Background(failure),
            Some(finished) = sessions.join_next() => Event::Ended(finished.outcome),
            accepted = listener.accept() => Event::Client(accepted),
        };
        match event {
            Event::Client(Ok(socket)) => {
                sessions.spawn("session", one(Arc::clone(house), socket));
            }
            Event::Client(Err(error)) => {
                tracing::warn!(%error, "a client could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
            Event::Ended(outcome) => note(&outcome),
            Event::Background(failure) => break Err(failure),
            Event::Stop => break Ok(()),
        }
    };
    drop(listener);
    farewell(house, &mut sessions).await;
    result
}

/// Tells every client that the router ends, and waits until they have heard.
async fn farewell(house: &House, sessions: &mut TaskGroup) {
    house.closing.cancel();
    let all_gone = async {
        // Whoever waits for a statement is told as soon as it has been cancelled.
        house.cancels.cancel_all().await;
        while let Some(finished) = sessions.join_next().await {
            note(&finished.outcome);
        }
    };
    if tokio::time::timeout(FAREWELL, all_gone).await.is_err() {
        sessions.shutdown().await;
    }
}

/// One client, from its first byte to its last.
async fn one(house: Arc<House>, socket: net::Socket) {
    let client = net::Connection::new(socket);
    let peer = client.peer();
    match Box::pin(session::serve(house, client)).await {
        Ok(()) => {}
        Err(Halt::ClientGone(error)) => {
            tracing::debug!(client.addr = %peer, %error, "a client is gone");
        }
        Err(Halt::Fatal(diagnostic)) => {
            tracing::info!(client.addr = %peer, code = %diagnostic.code, "a session was ended");
        }
    }
}

fn note(outcome: &Outcome<()>) {
    if let Outcome::Panicked(message) = outcome {
        tracing::error!(%message, "a session came upon a defect of the router and was ended");
    }
}

/// The first background task that ends; never, if there is none.
async fn failed(background: &mut TaskGroup<Failure>) -> Failure {
    match background.join_next().await {
        Some(finished) => match finished.outcome {
            Outcome::Returned(failure) => failure,
            Outcome::Panicked(message) => Failure::Ended {
                reason: format!(
                    "its task \"{}\" came upon a defect: {message}",
                    finished.name
                ),
            },
            Outcome::Cancelled => Failure::Ended {
                reason: format!("its task \"{}\" was cancelled", finished.name),
            },
        },
        None => std::future::pending().await,
    }
}
