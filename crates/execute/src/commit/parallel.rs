//! Waits for several futures at once, without tasks: they borrow the participants' connections.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

enum Slot<F: Future> {
    Waiting(Pin<Box<F>>),
    Done(F::Output),
}

/// Runs all futures to their ends; results in the order of the futures.
///
/// # Cancel safety
/// Dropping it drops every future where it stands.
pub(crate) async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut waiting: Vec<Slot<F>> = futures
        .into_iter()
        .map(|future| Slot::Waiting(Box::pin(future)))
        .collect();
    std::future::poll_fn(|context| {
        let mut is_done = true;
        for slot in &mut waiting {
            if let Slot::Waiting(future) = slot {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *slot = Slot::Done(value),
                    Poll::Pending => is_done = false,
                }
            }
        }
        if is_done {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    let outputs = waiting.into_iter().filter_map(|slot| match slot {
        Slot::Done(value) => Some(value),
        Slot::Waiting(_) => None,
    });
    outputs.collect()
}
