//! The example shop on one plain PostgreSQL: it loads, and its tour runs.

use bytes::Bytes;
use cluster::{Binaries, LocalCluster, Spec};
use testkit::client::{Address, Client};

#[tokio::test]
async fn the_shop_loads_and_its_tour_runs() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))
        .expect("a folder of our own");
    let binaries = Binaries::find().expect("PostgreSQL");
    let spec = Spec::fast(folder.path().join("s"));
    let mut cluster = LocalCluster::start(&binaries, spec)
        .await
        .expect("a server");
    let address = Address::local(cluster.port(), "postgres");
    let mut client = Client::connect(&address).await.expect("a session");

    let shop = example::Storefront::default();
    for sql in example::Storefront::definitions() {
        run(&mut client, sql, None).await;
    }
    for mut table in shop.tables() {
        let data: Vec<u8> = table.by_ref().flatten().collect();
        run(
            &mut client,
            &table.copy_statement(),
            Some(&Bytes::from(data)),
        )
        .await;
    }
    for sql in shop.after() {
        run(&mut client, &sql, None).await;
    }
    for statement in example::Storefront::TOUR
        .split(";\n")
        .filter(|part| part.contains('\n'))
    {
        run(&mut client, statement, None).await;
    }
    let reply = client
        .simple("SELECT count(*) FROM orders")
        .await
        .expect("an answer");
    assert_eq!(reply.texts()[0][0].as_deref(), Some("10000"));
    client.close().await;
    cluster.stop().await.expect("a stop");
}

async fn run(client: &mut Client, sql: &str, data: Option<&Bytes>) {
    let reply = client.simple_copy(sql, data).await.expect("an answer");
    let error = reply.error().map(|error| error.message.clone());
    assert_eq!(error, None, "{sql}");
    let empty = reply
        .answers
        .iter()
        .any(|a| a.columns.is_some() && a.rows.is_empty());
    assert!(!empty, "no rows: {sql}");
}
