//! One number for each type and table, whichever shard answers.

use std::path::Path;

use bytes::Bytes;
use pg::{Format, Oid};
use testkit::client::{Address, Answer, Client, Column, Extended};

use crate::bed::{TWO, ask, connect, dev, fails, folder, run, text_of, write};

/// What is asked of both shards: `{}` is the key.
const READ: &str = "select id, m, ms, p, ps, d, ds, r, row(m, d) as any from t where id = ";

/// A session of a shard itself.
async fn shard(data: &Path, uid: &str) -> Client {
    let file = std::fs::read_to_string(data.join(uid).join("data/postmaster.pid"));
    let file = file.expect("the server's own note");
    let port = file.lines().nth(3).and_then(|line| line.parse().ok());
    connect(&Address::local(port.expect("a port"), "postgres")).await
}

async fn extended(client: &mut Client, statement: &Extended) -> Answer {
    let reply = client.extended(statement).await.expect("an answer");
    let error = reply.error().map(|error| error.message.clone());
    assert_eq!(error, None, "{}", statement.sql);
    reply.answers.into_iter().next_back().expect("an answer")
}

async fn simple(client: &mut Client, sql: &str) -> Answer {
    let reply = client.simple(sql).await.expect("an answer");
    let error = reply.error().map(|error| error.message.clone());
    assert_eq!(error, None, "{sql}");
    reply.answers.into_iter().next_back().expect("an answer")
}

fn columns(answer: &Answer) -> Vec<(Oid, Oid, i16)> {
    let number = |column: &Column| (column.type_oid, column.table, column.number);
    answer.columns.iter().flatten().map(number).collect()
}

/// A router over two shards whose types have other numbers, with rows on both: their keys, each shard's.
async fn stage(folder: &Path) -> (testkit::router::Router, Client, [String; 2]) {
    let router = dev(folder, &["--shards", "2"]).await;
    let data = folder.join("data");
    let mut second = shard(&data, "store-2").await;
    for nr in 0..50 {
        let sql = format!("create type gone{nr} as enum ('x'); drop type gone{nr}");
        ask(&mut second, &sql).await;
    }
    let mut client = connect(&router.address).await;
    for sql in [
        "create type mood as enum ('ok', 'sad')",
        "create type pair as (m mood, n int)",
        "create domain moods as mood[]",
        "create type span as range (subtype = int4)",
        "create table t (id int primary key, gone int, m mood, ms mood[], p pair, ps pair[], d moods, ds moods[], r span)",
        "alter table t drop column gone",
    ] {
        ask(&mut client, sql).await;
    }
    let file = write(folder, "t.json", &TWO.replace("shop", "postgres"));
    let applied = run(&["topology", "apply", &file, "--data-dir", &text_of(&data)]).await;
    assert!(applied.status.success(), "{applied:?}");
    for id in 1..=20 {
        let sql = format!(
            "insert into t values ({id}, 'ok', '{{ok,sad}}', '(sad,{id})', '{{\"(ok,1)\"}}', '{{sad}}', '{{\"{{ok}}\"}}', '[1,5)')"
        );
        ask(&mut client, &sql).await;
    }
    let mut first = shard(&data, "store-1").await;
    let one = ask(&mut first, "select min(id) from t").await.remove(0);
    let two = ask(&mut second, "select min(id) from t").await.remove(0);
    let number = "select 'mood'::regtype::oid";
    assert_ne!(
        ask(&mut first, number).await,
        ask(&mut second, number).await
    );
    (router, client, [one, two])
}

#[tokio::test]
#[expect(
    clippy::too_many_lines,
    reason = "one story on one pair of shards, which are costly to start"
)]
async fn a_client_sees_one_number_for_each_type_and_table() {
    let folder = folder();
    let (router, mut client, [one, two]) = stage(folder.path()).await;

    let home = simple(&mut client, &format!("{READ}{one}")).await;
    let away = simple(&mut client, &format!("{READ}{two}")).await;
    let all = simple(&mut client, &format!("{READ}any(array[{one}, {two}])")).await;
    assert_eq!(columns(&home), columns(&away));
    assert_eq!(columns(&home), columns(&all));
    let number = ask(&mut client, "select 'mood'::regtype::oid").await;
    let known = ask(
        &mut client,
        "select oid from pg_type where typname = 'mood'",
    )
    .await;
    assert_eq!(number, known);
    let mood = Oid(number[0].parse().expect("a number"));
    assert_eq!(columns(&away)[1].0, mood);
    let names = format!(
        "select attname from pg_attribute where attrelid = {} and attnum = {}",
        columns(&away)[1].1,
        columns(&away)[1].2
    );
    assert_eq!(ask(&mut client, &names).await, ["m"]);

    // Binary values have the numbers inside.
    let read = |ids: &str| Extended {
        sql: format!("{READ}any(array[{ids}]) order by id"),
        result_formats: vec![Format::Binary],
        ..Extended::default()
    };
    let direct = |id: &str| Extended {
        sql: format!("{READ}{id}"),
        result_formats: vec![Format::Binary],
        ..Extended::default()
    };
    let home = extended(&mut client, &direct(&one)).await;
    let away = extended(&mut client, &direct(&two)).await;
    let both = extended(&mut client, &read(&format!("{one}, {two}"))).await;
    assert_eq!(columns(&home), columns(&away));
    // The pairs hold the id, all else is the same on both.
    for at in [1, 2, 4, 5, 6, 7, 8] {
        assert_eq!(home.rows[0][at], away.rows[0][at], "column {at}");
    }
    assert_eq!(both.rows.len(), 2);
    assert!(both.rows.contains(&home.rows[0]) && both.rows.contains(&away.rows[0]));
    let element = away.rows[0][2].as_ref().expect("an array").slice(8..12);
    assert_eq!(element, Bytes::copy_from_slice(&mood.0.to_be_bytes()));

    // Binary parameters with declared types go to either shard, and come back the same.
    let oid = async |client: &mut Client, name: &str| {
        let sql = format!("select '{name}'::regtype::oid");
        Oid(ask(client, &sql).await[0].parse().expect("a number"))
    };
    let declared = [
        oid(&mut client, "mood[]").await,
        oid(&mut client, "pair").await,
        oid(&mut client, "mood").await,
    ];
    for (id, row) in [(&one, &home.rows[0]), (&two, &away.rows[0])] {
        let value = |at: usize| row[at].as_ref().map(|bytes| bytes.to_vec());
        let write = Extended {
            sql: format!("update t set ms = $1, p = $2, m = $3 where id = {id} returning ms, p"),
            types: declared.to_vec(),
            parameters: vec![value(2), value(3), value(1)],
            parameter_formats: vec![Format::Binary],
            result_formats: vec![Format::Binary],
            ..Extended::default()
        };
        let written = extended(&mut client, &write).await;
        assert_eq!(written.rows[0], [row[2].clone(), row[3].clone()]);
    }

    // Types made inside a block are known there at once, whichever shard answers.
    ask(
        &mut client,
        "begin; create type late as enum ('x'); alter table t add l late",
    )
    .await;
    let home = simple(&mut client, &format!("select l from t where id = {one}")).await;
    let away = simple(&mut client, &format!("select l from t where id = {two}")).await;
    assert_eq!(columns(&home), columns(&away));
    ask(&mut client, "commit").await;
    let after = simple(&mut client, &format!("select l from t where id = {two}")).await;
    assert_eq!(columns(&home), columns(&after));

    client.close().await;
    router.stop().await.expect("it stops");
}

#[tokio::test]
async fn numbers_that_cannot_be_translated_are_refused() {
    let folder = folder();
    let (router, mut client, [one, two]) = stage(folder.path()).await;
    let computed = |id: &str| format!("select 'mood'::regtype::oid from t where id = {id}");
    ask(&mut client, &computed(&one)).await;
    assert_eq!(fails(&mut client, &computed(&two)).await, "0A000");
    // The session goes on.
    assert_eq!(ask(&mut client, "select 1").await, ["1"]);
    let copy = "copy t to stdout (format binary)";
    let reply = client.simple(copy).await.expect("an answer");
    let detail = reply.error().and_then(|error| error.detail.clone());
    assert_eq!(detail.as_deref(), Some("kintsugi/binary-type-numbers"));
    let copy = client.simple("copy t to stdout").await.expect("an answer");
    assert!(copy.error().is_none(), "{:?}", copy.error());
    client.close().await;
    router.stop().await.expect("it stops");
}
