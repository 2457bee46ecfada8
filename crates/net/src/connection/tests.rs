use tokio::net::UnixStream;
use wire::frontend::Message;

use super::*;

/// Bytes that a peer may send ahead.
const AHEAD: usize = 256 << 10;

fn pair() -> (Connection, Connection) {
    let (a, b) = UnixStream::pair().unwrap();
    (Connection::new(a), Connection::new(b))
}

fn query(text: &str) -> BytesMut {
    let mut out = BytesMut::new();
    Message::Query { text }.encode(&mut out);
    out
}

#[tokio::test]
async fn a_cancelled_read_loses_nothing() {
    let (mut router, mut client) = pair();
    let whole = query("select 1");
    client.write(&whole[..7]);
    client.flush().await.unwrap();
    let cut = tokio::time::timeout(
        Duration::from_millis(20),
        router.read_frame(&Limits::frontend()),
    )
    .await;
    assert!(cut.is_err());
    client.write(&whole[7..]);
    client.flush().await.unwrap();
    let frame = router
        .read_frame(&Limits::frontend())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        Message::parse(frame.tag, &frame.body),
        Ok(Message::Query { text: "select 1" })
    );
    drop(client);
    assert!(
        router
            .read_frame(&Limits::frontend())
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn a_message_cut_by_the_end_is_an_error() {
    let (mut router, mut client) = pair();
    client.write(&query("select 1")[..7]);
    client.close().await;
    assert!(matches!(
        router.read_frame(&Limits::frontend()).await,
        Err(ConnectionError::Truncated)
    ));
}

#[tokio::test]
async fn hangup_is_seen_and_pipelined_requests_survive_it() {
    let (mut router, mut client) = pair();
    client.write(&query("select 1"));
    client.flush().await.unwrap();
    let early = tokio::time::timeout(Duration::from_millis(20), router.hangup(AHEAD)).await;
    assert!(early.is_err());
    drop(client);
    router.hangup(AHEAD).await;
    assert_eq!(
        router
            .read_frame(&Limits::frontend())
            .await
            .unwrap()
            .unwrap()
            .tag,
        b'Q'
    );
    assert!(
        router
            .read_frame(&Limits::frontend())
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn hangup_of_a_client_that_sent_more_than_the_budget_is_seen() {
    let (mut router, client) = pair();
    let Socket::Unix(mut raw) = client.socket else {
        panic!()
    };
    let writer = async {
        // More than the budget and the kernel's buffer: the write ends with the connection only.
        let _ = tokio::time::timeout(Duration::from_millis(100), raw.write_all(&vec![0; 4 << 20]))
            .await;
        drop(raw);
    };
    let ((), ()) = tokio::join!(writer, router.hangup(AHEAD));
    assert!(router.buffered().len() >= AHEAD);
    assert!(router.buffered().len() <= AHEAD + BULK_READ_BYTES + READ_BYTES);
}

#[tokio::test]
async fn relayed_bytes_keep_their_order_whatever_their_size() {
    let (mut router_client, mut client) = pair();
    let (mut shard, mut router_shard) = pair();
    let mut sent = Vec::new();
    for size in [1usize, 100, 20_000, 3, 300_000, 7] {
        sent.extend((0..size).map(|i| u8::try_from(i % 251).unwrap()));
    }
    let expected = sent.clone();
    let writer = async {
        shard.write(&sent);
        shard.flush().await.unwrap();
    };
    let relayer = async {
        router_client.write(b"head");
        for size in [1usize, 100, 20_000, 3, 300_000, 7] {
            router_client
                .relay_exact(&mut router_shard, size)
                .await
                .unwrap();
        }
        router_client.close().await;
    };
    let reader = async {
        while client.fill().await.unwrap() > 0 {}
        client.buffered().to_vec()
    };
    let ((), (), received) = tokio::join!(writer, relayer, reader);
    assert_eq!(&received[..4], b"head");
    assert!(received[4..] == expected[..]);
}

#[tokio::test]
async fn idle_buffers_are_given_back() {
    let (mut router, mut client) = pair();
    client.write(&query("select 1"));
    client.flush().await.unwrap();
    router.read_frame(&Limits::frontend()).await.unwrap();
    router.relax();
    assert_eq!((router.input.capacity(), router.output.capacity()), (0, 0));
}

#[tokio::test]
async fn two_peers_with_much_to_say_do_not_block_each_other() {
    const MUCH: usize = 8 << 20;
    async fn talk(mut connection: Connection) -> usize {
        connection.write(&vec![7; MUCH]);
        let mut received = 0;
        while received < MUCH {
            let count = connection.fill_while_flushing().await.unwrap();
            assert!(count > 0);
            connection.consume(count);
            received += count;
        }
        connection.flush().await.unwrap();
        received
    }
    let (a, b) = pair();
    let both = async { tokio::join!(talk(a), talk(b)) };
    let received = tokio::time::timeout(Duration::from_secs(20), both)
        .await
        .unwrap();
    assert_eq!(received, (MUCH, MUCH));
}

#[tokio::test]
async fn what_is_not_there_would_block_and_then_is() {
    let (mut router, mut client) = pair();
    assert_eq!(
        router.try_fill().unwrap_err().kind(),
        io::ErrorKind::WouldBlock
    );
    client.write(b"hello");
    client.try_flush().unwrap();
    client.flush().await.unwrap();
    router.fill_to(5).await.unwrap();
    assert_eq!(router.buffered(), b"hello");
    drop(client);
    let early = router.fill_to(6).await.unwrap_err();
    assert_eq!(early.kind(), io::ErrorKind::UnexpectedEof);
    assert!(router.is_closed());
}
