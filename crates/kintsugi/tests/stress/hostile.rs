//! Clients that send what no driver would, want more than there is, or go away in the middle.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use testkit::client::{Client, ClientError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use wire::frontend::Message;

use crate::bed::{Bed, Running, ask, eventually};

/// More memory than any of this may cost, in MiB.
const RESIDENT_MIB_MAX: u64 = 400;

async fn make(router: &Running) -> Client {
    let mut client = router.client().await;
    ask(
        &mut client,
        "create table t (id bigint primary key, v text)",
    )
    .await;
    ask(&mut client, "insert into t values (3203, 'a'), (32, 'b')").await;
    client
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[tag], length.as_slice(), body].concat()
}

fn startup(protocol: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 8).unwrap().to_be_bytes();
    [length.as_slice(), &protocol.to_be_bytes(), body].concat()
}

/// The SQLSTATE of the error with which a session answers to bytes, and whether it goes on after it.
async fn answer(router: &Running, bytes: &[u8]) -> (String, bool) {
    let mut client = router.client().await;
    client.output().extend_from_slice(bytes);
    let mut code = String::new();
    loop {
        match client.receive().await {
            Ok(frame) if frame.tag == b'Z' => return (code, true),
            Ok(frame) if frame.tag == b'E' => {
                let message = wire::backend::Message::parse(frame.tag, &frame.body).unwrap();
                if let wire::backend::Message::ErrorResponse(error) = message {
                    code = error.code.to_string();
                }
            }
            Ok(_) => {}
            Err(ClientError::Closed | ClientError::Socket { .. }) => return (code, false),
            Err(other) => panic!("{other} after {:?}", &bytes[..bytes.len().min(80)]),
        }
    }
}

#[tokio::test]
async fn bytes_out_of_place_end_at_most_their_own_session() {
    let mut bed = Bed::new().await;
    let mut router = bed.router("").await;
    let mut witness = make(&router).await;
    let sync = message(b'S', b"");
    let then_sync = |tag, body: &[u8]| [message(tag, body), sync.clone()].concat();
    let query = |sql: &str| message(b'Q', &[sql.as_bytes(), b"\0"].concat());
    let ended: &[(&str, Vec<u8>)] = &[
        ("no such message", message(b'z', b"x")),
        ("a message of no type", message(0, b"x")),
        ("a password out of place", message(b'p', b"x\0")),
        ("a string without an end", message(b'Q', b"select 1")),
        ("a length of nothing", b"Q\0\0\0\0".to_vec()),
        ("a length below nothing", b"Q\xff\xff\xff\xff".to_vec()),
        (
            "a length beyond all bounds",
            b"Q\x7f\xff\xff\xffxxxx".to_vec(),
        ),
        ("a short message that is long", b"S\0\0\x80\0".to_vec()),
    ];
    for (what, bytes) in ended {
        let found = answer(&router, bytes).await;
        assert_eq!(found, ("08P01".to_owned(), false), "{what}");
    }
    let deep = |open: &str, close: &str| {
        let text = format!("select {}1{}", open.repeat(20_000), close.repeat(20_000));
        query(&text)
    };
    let bind = |tail: &[u8]| {
        let parse = message(b'P', b"\0select id from t where id = $1\0\0\0");
        [parse, then_sync(b'B', &[b"\0\0", tail].concat())].concat()
    };
    let lives: &[(&str, Vec<u8>, &str)] = &[
        (
            "an unknown portal",
            then_sync(b'E', b"no\0\0\0\0\0"),
            "34000",
        ),
        ("an unknown statement", then_sync(b'D', b"Sno\0"), "26000"),
        (
            "a Bind of nothing",
            then_sync(b'B', b"\0no\0\0\0\0\0\0\0"),
            "26000",
        ),
        ("too few values", bind(b"\0\0\0\0\0\0"), "08P01"),
        (
            "more formats than values",
            bind(b"\0\x02\0\0\0\0\0\x01\0\0\0\x011\0\0"),
            "08P01",
        ),
        (
            "a value beyond the message",
            bind(b"\0\0\0\x01\x7f\xff\xff\xff1\0\0"),
            "08P01",
        ),
        (
            "a value of negative length",
            bind(b"\0\0\0\x01\xff\xff\xff\xf01\0\0"),
            "08P01",
        ),
        ("a negative count", bind(b"\0\0\xff\xff\0\0"), "08P01"),
        (
            "a binary value cut short",
            bind(b"\0\x01\0\x01\0\x01\0\0\0\x011\0\0"),
            "08P01",
        ),
        (
            "text that is none",
            message(b'Q', b"select '\xff\xfe'\0"),
            "22021",
        ),
        (
            "COPY data out of place",
            [message(b'd', b"x"), query("select 1")].concat(),
            "",
        ),
        (
            "a query amid COPY",
            [query("copy t from stdin"), query("select 1")].concat(),
            "08P01",
        ),
        ("deep parentheses", deep("(", ")"), "42601"),
        ("deep negation", deep("not ", ""), "42601"),
        ("a long sum", deep("1+", ""), "54001"),
        (
            "a million bytes",
            query(&format!("select length('{}')", "x".repeat(1 << 20))),
            "",
        ),
        ("nothing but semicolons", query(&";".repeat(100_000)), ""),
    ];
    for (what, bytes, code) in lives {
        let found = answer(&router, bytes).await;
        assert_eq!(found, ((*code).to_owned(), true), "{what}");
    }
    let mut client = router.client().await;
    client.output().extend_from_slice(&sync.repeat(20_000));
    for _ in 0..20_000 {
        assert_eq!(client.receive().await.unwrap().tag, b'Z');
    }
    assert_eq!(
        ask(&mut witness, "select v from t where id = 32").await,
        ["b"]
    );
    assert!(router.is_running() && router.resident_mib() < RESIDENT_MIB_MAX);
    router.kill().await;
    bed.stop().await;
}

#[tokio::test]
async fn packets_that_begin_no_session_are_answered_and_closed() {
    let mut bed = Bed::new().await;
    let mut router = bed.router("").await;
    let mut packets = vec![
        startup(131_072, b"postgres\0"),
        startup(262_144, b"user\0postgres\0\0"),
        startup(196_608, b"\0"),
        startup(196_608, b"user\0postgres"),
        startup(80_877_102, b"\0\0\0\x01"),
        vec![0, 0, 0, 0],
        vec![0, 0, 0, 7, 0, 3, 0, 0],
        vec![0x7f, 0xff, 0xff, 0xff, 0, 3, 0, 0],
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
    ];
    let whole = startup(196_608, b"user\0postgres\0database\0postgres\0\0");
    packets.extend((1..whole.len()).map(|length| whole[..length].to_vec()));
    let mut seed = 11_u64;
    for packet in packets {
        exchange(&router, &packet).await;
    }
    for round in 0..300 {
        let mut bytes: Vec<u8> = (0..round % 64).map(|_| random(&mut seed)).collect();
        exchange(&router, &bytes).await;
        // The same after a session has begun, and with a type and a length that make sense.
        let tag = b"QPBDECHSXdcfFp"[usize::from(random(&mut seed)) % 14];
        bytes = [whole.clone(), message(tag, &bytes), bytes].concat();
        exchange(&router, &bytes).await;
    }
    assert_eq!(ask(&mut router.client().await, "select 1").await, ["1"]);
    assert!(router.is_running() && router.resident_mib() < RESIDENT_MIB_MAX);
    router.kill().await;
    bed.stop().await;
}

/// Sends bytes, says that no more will come, and reads to the end.
async fn exchange(router: &Running, bytes: &[u8]) {
    let place = ("127.0.0.1", router.address.port);
    let mut socket = TcpStream::connect(place).await.unwrap();
    // The router may have closed already.
    let _ = socket.write_all(bytes).await;
    let _ = socket.shutdown().await;
    let mut rest = Vec::new();
    let reading = socket.read_to_end(&mut rest);
    let ended = tokio::time::timeout(Duration::from_secs(10), reading).await;
    assert!(ended.is_ok(), "still open after {bytes:?}");
}

fn random(seed: &mut u64) -> u8 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 56) as u8
}

#[tokio::test]
async fn a_session_keeps_only_so_many_statements() {
    let mut bed = Bed::new().await;
    let router = bed.router("[limits]\nprepared_max = 3000\n").await;
    let mut client = make(&router).await;
    for number in 0..4000 {
        let name = format!("s{number}\0");
        let body = [name.as_bytes(), b"select id from t where id = $1\0\0\0"].concat();
        client.output().extend_from_slice(&message(b'P', &body));
    }
    client.send(&Message::Sync);
    let reply = client.collect(None, false).await.unwrap();
    assert_eq!(reply.error().unwrap().code.to_string(), "53400");
    assert_eq!(
        ask(&mut client, "select v from t where id = 3203").await,
        ["a"]
    );
    assert!(router.resident_mib() < RESIDENT_MIB_MAX);
    router.kill().await;
    bed.stop().await;
}

#[tokio::test]
async fn there_are_only_so_many_clients() {
    let mut bed = Bed::new().await;
    let router = bed.router("[limits]\nclients_max = 20\n").await;
    let mut clients = Vec::new();
    for _ in 0..20 {
        clients.push(router.client().await);
    }
    match Client::connect(&router.address).await {
        Err(ClientError::Refused { diagnostic }) => {
            assert_eq!(diagnostic.code.to_string(), "53300");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(ask(&mut clients[7], "select 1").await, ["1"]);
    clients.pop();
    eventually("a place is free again", async || {
        Client::connect(&router.address).await.is_ok()
    })
    .await;
    router.kill().await;
    bed.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_vanish_leave_nothing_running() {
    let mut bed = Bed::new().await;
    let router = bed.router("[pool]\nbackends_max = 20\n").await;
    let mut witness = make(&router).await;
    let texts = [
        "begin; update t set v = 'x' where id = 3203; select pg_sleep(60), id from t where id = 32",
        "select pg_sleep(60), id from t",
        "copy t from stdin",
        "select id, repeat('x', 100000) from t, generate_series(1, 5000)",
        "copy t to stdout",
    ];
    let mut alone = router.client().await;
    alone.send(&Message::Query { text: texts[0] });
    alone.flush().await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(alone);
    bed.quiet(Duration::from_secs(1)).await;
    for round in 0..40 {
        let mut gone = Vec::new();
        for text in texts {
            let mut client = router.client().await;
            client.send(&Message::Query { text });
            if text == "copy t from stdin" {
                assert_eq!(client.receive().await.unwrap().tag, b'G');
                client.send(&Message::CopyData(b"7\tx\n8\tx\n9\tx\n10\tx\n"));
            }
            client.flush().await.unwrap();
            gone.push(client);
        }
        if round % 8 == 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        drop(gone);
    }
    // Two hundred statements are cancelled one connection each, on a machine that is busy.
    bed.quiet(Duration::from_secs(8)).await;
    let began = Instant::now();
    ask(&mut witness, "update t set v = 'y'").await;
    assert!(began.elapsed() < Duration::from_secs(1), "a lock was left");
    assert_eq!(ask(&mut witness, "select count(*) from t").await, ["2"]);
    const HELD: &str =
        "select count(*) from pg_stat_activity where backend_type = 'client backend'";
    for shard in 0..2 {
        let held: u32 = bed.direct(shard, HELD).await[0].parse().unwrap();
        assert!(held <= 25, "{held} connections on shard {shard}");
    }
    assert!(router.resident_mib() < RESIDENT_MIB_MAX);
    router.kill().await;
    bed.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_readers_cost_neither_memory_nor_others() {
    let mut bed = Bed::new().await;
    let router = bed.router("").await;
    let mut witness = make(&router).await;
    let mut rows = String::from("insert into t values (100, 'x')");
    for id in 101..2000 {
        let _ = write!(rows, ", ({id}, 'x')");
    }
    ask(&mut witness, &rows).await;
    let before = router.resident_mib();
    let mut slow = Vec::new();
    for _ in 0..10 {
        let mut client = router.client().await;
        // 200 MB, in the order of the key, so that both shards are read at once.
        client.send(&Message::Query {
            text: "select id, repeat('x', 100000) from t order by id",
        });
        assert_eq!(client.receive().await.unwrap().tag, b'T');
        slow.push(client);
    }
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let began = Instant::now();
        assert_eq!(
            ask(&mut witness, "select v from t where id = 3203").await,
            ["a"]
        );
        assert!(began.elapsed() < Duration::from_secs(1));
        for client in &mut slow {
            assert_eq!(client.receive().await.unwrap().tag, b'D');
        }
    }
    let grown = router.resident_mib().saturating_sub(before);
    assert!(grown < 150, "{grown} MiB for ten slow readers");
    drop(slow);
    bed.quiet(Duration::from_secs(2)).await;
    router.kill().await;
    bed.stop().await;
}
