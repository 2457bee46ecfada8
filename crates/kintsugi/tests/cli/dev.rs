//! `kintsugi dev`.

use crate::bed::{TWO, ask, connect, dev, err, eventually, folder, out, run, text_of, write};

#[tokio::test]
async fn a_command_has_the_router_in_its_environment_and_its_status_is_ours() {
    let script = "echo $PGUSER@$PGHOST/$PGDATABASE; psql -XAtc 'select 1' && exit 7";
    let ended = run(&["dev", "--shards", "1", "--fast", "--exec", script]).await;
    assert_eq!(
        out(&ended),
        "postgres@127.0.0.1/postgres\n1\n",
        "{}",
        err(&ended)
    );
    assert_eq!(ended.status.code(), Some(7));
    let told = err(&ended);
    assert!(
        told.contains("no passwords: for local development only"),
        "{told}"
    );
}

#[tokio::test]
async fn the_storefront_is_loaded_once_and_found_again() {
    let folder = folder();
    let data = text_of(&folder.path().join("data"));
    let count = "psql -XAtc 'select count(*) from orders' -c 'select count(*) from countries'";
    let arguments = [
        "dev",
        "--shards",
        "2",
        "--fast",
        "--data-dir",
        &data,
        "--example",
        "storefront",
        "--orders",
        "1000",
        "--port",
        "0",
        "--exec",
        count,
    ];
    let first = run(&arguments).await;
    assert!(out(&first).starts_with("1000\n"), "{}", err(&first));
    assert!(err(&first).contains("loaded orders"), "{}", err(&first));
    let second = run(&arguments).await;
    assert_eq!(out(&second), out(&first), "{}", err(&second));
    assert!(!err(&second).contains("loaded"), "{}", err(&second));
}

#[tokio::test]
async fn data_are_found_again_after_a_stop_and_after_a_kill() {
    let folder = folder();
    let file = write(folder.path(), "topology.json", TWO);
    let router = dev(folder.path(), &["--shards", "2", "--topology", &file]).await;
    assert_eq!(router.address.database, "shop");
    let mut client = connect(&router.address).await;
    ask(&mut client, "create table t (id int primary key, v text)").await;
    ask(
        &mut client,
        "insert into t values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
    )
    .await;
    router.stop().await.expect("it stops");

    let router = dev(folder.path(), &["--topology", &file]).await;
    let mut client = connect(&router.address).await;
    assert_eq!(ask(&mut client, "select count(*) from t").await, ["4"]);
    ask(&mut client, "begin; update t set v = 'lost'").await;
    router.kill().await.expect("it is gone");

    let router = dev(folder.path(), &[]).await;
    let mut client = connect(&router.address).await;
    let lost = "select count(*) from t where v = 'lost'";
    assert_eq!(ask(&mut client, lost).await, ["0"]);
    ask(&mut client, "update t set v = 'kept'").await;
    assert_eq!(
        ask(&mut client, "select count(*) from t where v = 'kept'").await,
        ["4"]
    );
    let data = text_of(&folder.path().join("data"));
    let status = run(&["status", "--data-dir", &data]).await;
    let text = out(&status);
    assert_eq!(status.status.code(), Some(0), "{text}{}", err(&status));
    assert_eq!(
        text.matches("router ").count(),
        1,
        "the dead one has gone: {text}"
    );
    assert_eq!(text.matches("reachable, PostgreSQL").count(), 2, "{text}");
    router.stop().await.expect("it stops");
}

#[tokio::test]
async fn clients_are_told_of_the_end() {
    let folder = folder();
    let router = dev(folder.path(), &["--shards", "1"]).await;
    let mut idle = connect(&router.address).await;
    let mut busy = connect(&router.address).await;
    let mut observer = connect(&router.address).await;
    busy.send(&wire::frontend::Message::Query {
        text: "select pg_sleep(60)",
    });
    busy.flush().await.expect("it is sent");
    let is_running = "select count(*) from pg_stat_activity where state = 'active' \
                      and query like '%pg_sleep(60)%' and pid <> pg_backend_pid()";
    eventually("the statement runs", async || {
        ask(&mut observer, is_running).await == ["1"]
    })
    .await;
    let told = async { (codes(&mut idle).await, codes(&mut busy).await) };
    let (stopped, (idle, busy)) = tokio::join!(router.stop(), told);
    stopped.expect("it stops");
    assert_eq!(idle, ["57P01"]);
    assert_eq!(busy, ["57014", "57P01"]);
}

/// The errors that a client is told until its connection is closed.
async fn codes(client: &mut testkit::client::Client) -> Vec<String> {
    let mut codes = Vec::new();
    while let Ok(frame) = client.receive().await {
        if let Ok(wire::backend::Message::ErrorResponse(error)) =
            wire::backend::Message::parse(frame.tag, &frame.body)
        {
            codes.push(error.code.to_string());
        }
    }
    codes
}

#[tokio::test]
async fn an_example_does_not_come_into_a_folder_of_others() {
    let folder = folder();
    let data = text_of(&folder.path().join("data"));
    let file = write(folder.path(), "topology.json", TWO);
    let start = async |more: &[&str]| {
        let mut all = vec!["dev", "--fast", "--data-dir", &data, "--exec", "true"];
        all.extend(more);
        run(&all).await
    };
    let first = start(&["--shards", "2", "--topology", &file]).await;
    assert_eq!(first.status.code(), Some(0), "{}", err(&first));
    let second = start(&["--example", "storefront"]).await;
    let told = err(&second);
    assert_eq!(second.status.code(), Some(1), "{told}");
    assert!(
        told.contains("serves another topology already of database shop")
            && told.contains("start without --example"),
        "{told}"
    );
    assert!(!told.contains("loaded"), "{told}");
}

#[tokio::test]
async fn a_database_or_role_that_there_is_not_is_told_as_postgresql_tells_it() {
    let folder = folder();
    let router = dev(folder.path(), &["--shards", "1"]).await;
    let login = async |user: &str, database: &str| {
        let mut address = router.address.clone();
        user.clone_into(&mut address.user);
        database.clone_into(&mut address.database);
        match testkit::client::Client::connect(&address).await {
            Err(testkit::client::ClientError::Refused { diagnostic }) => {
                let code = diagnostic.code;
                format!("{:?} {code} {}", diagnostic.severity, diagnostic.message)
            }
            Ok(_) => "let in".to_owned(),
            Err(other) => panic!("{other}"),
        }
    };
    for _ in 0..2 {
        assert_eq!(
            login("postgres", "x").await,
            "Fatal 3D000 database \"x\" does not exist"
        );
        assert_eq!(
            login("bob", "postgres").await,
            "Fatal 28000 role \"bob\" does not exist"
        );
    }
    assert_eq!(login("postgres", "postgres").await, "let in");
    router.stop().await.expect("it stops");
}
