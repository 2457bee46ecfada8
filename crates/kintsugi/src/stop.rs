//! Being asked to end: by a signal, or by whoever started us. A value that is passed down; there is no global.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// How a process is asked to end.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// End in order: clients are told, servers are stopped cleanly.
    pub gently: CancellationToken,
}

// === impl Stop ===

impl Stop {
    /// Turns SIGINT and SIGTERM into stops: the first is gentle, and with the second this returns.
    ///
    /// # Errors
    /// Signals can't be caught.
    ///
    /// # Cancel safety
    /// A signal that arrives afterwards is not seen.
    pub async fn on_signals(&self) -> std::io::Result<()> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        either(&mut interrupt, &mut terminate).await;
        self.gently.cancel();
        either(&mut interrupt, &mut terminate).await;
        Ok(())
    }
}

async fn either(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
