//! A proxy between a client and a PostgreSQL server that reads along and makes faults: it delays,
//! cuts, half closes, resets, and holds a message back while a test does something terrible.
//!
//! ```text
//! client --> proxy --> server      Direction::ToServer: held before the server gets it
//! client <-- proxy <-- server      Direction::ToClient: the server has acted, the client can't know
//! ```

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use wire::Frame;

mod rule;

pub use rule::{Direction, Matcher, Trip, Verdict};

use rule::Rule;

/// A listening proxy; dropping it cuts every connection.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _tasks: stdx::TaskGroup,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    rules: VecDeque<Rule>,
    delay: Duration,
    is_refusing: bool,
    generation: u64,
}

impl Proxy {
    /// Listens on a free port of this machine and forwards to `server` (`host:port`).
    ///
    /// # Errors
    /// No port could be opened.
    pub async fn start(server: impl Into<String>) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let mut tasks = stdx::TaskGroup::new();
        let (server, accepting) = (server.into(), Arc::clone(&shared));
        tasks.spawn("fault proxy", async move {
            let mut connections = stdx::TaskGroup::new();
            while let Ok((client, _)) = listener.accept().await {
                if accepting.with(|state| state.is_refusing) {
                    continue;
                }
                let (server, shared) = (server.clone(), Arc::clone(&accepting));
                connections.spawn("fault proxy connection", async move {
                    // A broken connection is what this proxy is for.
                    drop(carry(client, &server, &shared).await);
                });
            }
        });
        Ok(Self {
            address,
            shared,
            _tasks: tasks,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Holds back the next message that matches, once. Rules are tried in the order given.
    #[must_use]
    pub fn hold(&self, direction: Direction, matcher: Matcher) -> Trip {
        let (tripped, trip) = oneshot::channel();
        let rule = Rule {
            direction,
            matcher,
            tripped: Some(tripped),
        };
        self.shared.with(|state| state.rules.push_back(rule));
        Trip::new(trip)
    }

    /// Delays every message, both ways.
    pub fn delay(&self, delay: Duration) {
        self.shared.with(|state| state.delay = delay);
    }

    /// Refuses new connections, or takes them again.
    pub fn refuse(&self, is_refusing: bool) {
        self.shared.with(|state| state.is_refusing = is_refusing);
    }

    /// Cuts every connection that is open now, at its next message or at once when it is quiet.
    pub fn cut_all(&self) {
        self.shared.with(|state| state.generation += 1);
    }
}

impl Shared {
    fn with<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The rule that this message trips, taken off the list, and the delay.
    fn trip(&self, direction: Direction, frame: &Frame) -> (Option<Rule>, Duration) {
        self.with(|state| {
            let at = state
                .rules
                .iter()
                .position(|rule| rule.takes(direction, frame));
            (at.and_then(|at| state.rules.remove(at)), state.delay)
        })
    }

    async fn until_cut(&self, generation: u64) {
        while self.with(|state| state.generation == generation) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Carries one connection until either side ends or a verdict ends it.
async fn carry(client: TcpStream, server: &str, shared: &Shared) -> std::io::Result<()> {
    let server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let generation = shared.with(|state| state.generation);
    let (client_in, mut client_out) = client.into_split();
    let (server_in, mut server_out) = server.into_split();
    let ended = {
        let mut upward = Pipe::new(client_in, Direction::ToServer, shared);
        let mut downward = Pipe::new(server_in, Direction::ToClient, shared);
        start_up(&mut upward, &mut downward, &mut client_out, &mut server_out).await?;
        let both = async {
            tokio::try_join!(upward.run(&mut server_out), downward.run(&mut client_out)).err()
        };
        tokio::select! {
            end = both => end,
            () = shared.until_cut(generation) => Some(End::Cut),
        }
    };
    if matches!(ended, Some(End::Reset)) {
        // Without lingering, closing sends a reset.
        client_out.as_ref().set_zero_linger()?;
        server_out.as_ref().set_zero_linger()?;
    }
    Ok(())
}

/// Packets before the first message have no type. An answer to a request for encryption is one byte;
/// this proxy reads along, so it says no itself.
async fn start_up(
    upward: &mut Pipe<'_>,
    downward: &mut Pipe<'_>,
    client_out: &mut OwnedWriteHalf,
    server_out: &mut OwnedWriteHalf,
) -> std::io::Result<()> {
    debug_assert_eq!(downward.direction, Direction::ToClient);
    loop {
        let packet = loop {
            match wire::startup::decode(&mut upward.input) {
                Ok(Some(packet)) => break packet,
                Ok(None) => {}
                Err(error) => return Err(std::io::Error::other(error)),
            }
            if upward.fill().await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        };
        if matches!(
            packet,
            wire::Startup::SslRequest | wire::Startup::GssEncRequest
        ) {
            client_out.write_all(b"N").await?;
            continue;
        }
        let mut bytes = BytesMut::new();
        packet.encode(&mut bytes);
        return server_out.write_all(&bytes).await;
    }
}

/// Why a connection ends.
#[derive(Debug)]
enum End {
    Closed,
    Cut,
    Reset,
    Io,
}

/// One direction of a connection.
struct Pipe<'a> {
    source: OwnedReadHalf,
    input: BytesMut,
    direction: Direction,
    shared: &'a Shared,
}

impl<'a> Pipe<'a> {
    fn new(source: OwnedReadHalf, direction: Direction, shared: &'a Shared) -> Self {
        Self {
            source,
            input: BytesMut::new(),
            direction,
            shared,
        }
    }

    async fn fill(&mut self) -> std::io::Result<usize> {
        self.source.read_buf(&mut self.input).await
    }

    async fn run(&mut self, target: &mut OwnedWriteHalf) -> Result<(), End> {
        let limits = wire::Limits::backend();
        loop {
            let Ok(next) = wire::decode(&mut self.input, &limits) else {
                return Err(End::Io);
            };
            if let Some(frame) = next {
                self.forward(frame, target).await?;
                continue;
            }
            if self.fill().await.map_err(|_broken| End::Io)? > 0 {
                continue;
            }
            drop(target.shutdown().await);
            return match self.direction {
                // The server may still have something to say.
                Direction::ToServer => Ok(()),
                Direction::ToClient => Err(End::Closed),
            };
        }
    }

    async fn forward(&self, frame: Frame, target: &mut OwnedWriteHalf) -> Result<(), End> {
        let (rule, delay) = self.shared.trip(self.direction, &frame);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if let Some(rule) = rule {
            match rule.held(frame.clone()).await {
                Verdict::Forward => {}
                Verdict::Drop => return Ok(()),
                Verdict::Cut => return Err(End::Cut),
                Verdict::Reset => return Err(End::Reset),
                Verdict::HalfClose => {
                    drop(target.shutdown().await);
                    return Ok(());
                }
            }
        }
        let mut bytes = BytesMut::new();
        frame.encode(&mut bytes);
        target.write_all(&bytes).await.map_err(|_broken| End::Io)
    }
}

#[cfg(test)]
mod tests;
