//! `kintsugi topology` on a running cluster.

use crate::bed::{TWO, ask, connect, dev, err, folder, out, run, text_of, write};

#[tokio::test]
async fn a_document_is_judged_applied_and_remembered() {
    let folder = folder();
    let router = dev(folder.path(), &["--shards", "2"]).await;
    let data = text_of(&folder.path().join("data"));
    let file = write(folder.path(), "t.json", &TWO.replace("shop", "postgres"));
    let topology = async |arguments: &[&str]| command(&data, arguments).await;
    let mut client = connect(&router.address).await;
    ask(
        &mut client,
        "create table t (id int primary key, v text default 'x')",
    )
    .await;
    ask(&mut client, "create index on t (v)").await;

    let (status, told) = topology(&["validate", &file]).await;
    assert!(status == 0 && told.contains("is sound"), "{told}");
    let (status, told) = topology(&["apply", &file, "--dry-run"]).await;
    assert!(
        status == 0 && told.contains("would become revision 1"),
        "{told}"
    );
    let (_, told) = topology(&["history"]).await;
    assert!(!told.contains("1 "), "a dry run changes nothing: {told}");

    ask(&mut client, "insert into t values (1)").await;
    let (status, told) = topology(&["apply", &file]).await;
    assert!(
        status == 1 && told.contains("nothing was changed"),
        "{told}"
    );
    ask(&mut client, "delete from t").await;
    let (status, told) = topology(&["apply", &file, "--expect", "5"]).await;
    assert!(
        status == 1 && told.contains("revision 0 is served"),
        "{told}"
    );
    let (status, told) = topology(&["apply", &file, "-m", "spread it"]).await;
    assert!(
        status == 0 && told.contains("revision 1 is served"),
        "{told}"
    );

    // The router has it already: rows go home at once, with the default and the index of the definition.
    ask(
        &mut client,
        "insert into t (id) select 1; insert into t (id) values (2), (3), (4), (32)",
    )
    .await;
    assert_eq!(
        ask(&mut client, "select count(*) from t where v = 'x'").await,
        ["5"]
    );
    let (status, told) = topology(&["shard-of", "t", "32"]).await;
    assert!(status == 0 && told.contains("store-2"), "{told}");
    let (status, told) = topology(&["shard-of", "t", "32", "--json"]).await;
    assert!(status == 0 && told.contains("\"store-2\""), "{told}");

    let (_, told) = topology(&["history"]).await;
    assert!(told.contains("spread it"), "{told}");
    let (_, told) = topology(&["diff", "--from", "0"]).await;
    assert!(told.contains("shard_groups.spread"), "{told}");
    let (status, told) = topology(&["apply", &file]).await;
    assert!(status == 0 && told.contains("already says this"), "{told}");
    let back = write(
        folder.path(),
        "b.json",
        &TWO.replace("\"t\": {\"shard_group\": \"spread\"}", ""),
    );
    let (status, told) = topology(&["apply", &back]).await;
    assert!(status == 1 && told.contains("refused"), "{told}");
    router.stop().await.expect("it stops");
}

/// The status of a subcommand, and all that it printed.
async fn command(data: &str, arguments: &[&str]) -> (i32, String) {
    let mut all = vec!["topology"];
    all.extend(arguments);
    all.extend(["--data-dir", data]);
    let ended = run(&all).await;
    let told = format!("{}{}", out(&ended), err(&ended));
    (ended.status.code().expect("a status"), told)
}

#[tokio::test]
async fn a_shard_that_defines_a_table_otherwise_is_not_given_its_rows() {
    let folder = folder();
    let router = dev(folder.path(), &["--shards", "2"]).await;
    let data = text_of(&folder.path().join("data"));
    let file = write(folder.path(), "t.json", &TWO.replace("shop", "postgres"));
    let mut client = connect(&router.address).await;
    ask(&mut client, "create table t (id int primary key, v text)").await;
    let mut second = connect(&shard(&data, 2)).await;

    ask(&mut second, "insert into t values (7)").await;
    let (status, told) = command(&data, &["apply", &file]).await;
    assert!(
        status == 1 && told.contains("nothing was changed"),
        "{told}"
    );
    ask(
        &mut second,
        "delete from t; alter table t alter v set default 'x'",
    )
    .await;
    let (status, told) = command(&data, &["apply", &file]).await;
    assert!(
        status == 1 && told.contains("defines one of these tables otherwise"),
        "{told}"
    );
    ask(&mut second, "drop table t").await;
    let (status, told) = command(&data, &["apply", &file]).await;
    assert!(
        status == 0 && told.contains("revision 1 is served"),
        "{told}"
    );
    ask(&mut client, "insert into t values (1), (2), (3), (4), (32)").await;
    assert_eq!(ask(&mut second, "select count(*) > 0 from t").await, ["t"]);
    ask(&mut client, "update t set v = 'no fence is left'").await;
    router.stop().await.expect("it stops");
}

/// A shard's own address.
fn shard(data: &str, number: u16) -> testkit::client::Address {
    let path = std::path::Path::new(data).join(format!("store-{number}/port"));
    let port = std::fs::read_to_string(path).expect("a port");
    testkit::client::Address::local(port.trim().parse().expect("a number"), "postgres")
}

#[tokio::test]
async fn a_foreign_key_keeps_its_tables_together() {
    let folder = folder();
    let both = "\"t\": {\"shard_group\": \"spread\"}, \"u\": {\"shard_group\": \"spread\"}";
    let one = "\"t\": {\"shard_group\": \"spread\"}";
    let document = TWO.replace("shop", "postgres");
    let both = write(folder.path(), "b.json", &document.replace(one, both));
    let router = dev(folder.path(), &["--shards", "2", "--topology", &both]).await;
    let data = text_of(&folder.path().join("data"));
    let mut client = connect(&router.address).await;
    ask(
        &mut client,
        "create table t (id int primary key); create table u (id int primary key references t)",
    )
    .await;
    for left_out in ["u", "t"] {
        let misspelt = std::fs::read_to_string(&both).expect("the document");
        let misspelt = misspelt.replace(&format!("\"{left_out}\":"), "\"mispelt\":");
        let file = write(folder.path(), "m.json", &misspelt);
        let (status, told) = command(&data, &["apply", &file]).await;
        assert!(
            status == 1
                && told.contains("refused: foreign key u_id_fkey of table postgres.public.u, ")
                && told.contains("nothing was changed"),
            "{told}"
        );
    }
    ask(&mut client, "insert into t values (1), (2), (32)").await;
    ask(&mut client, "insert into u values (1), (2), (32)").await;
    router.stop().await.expect("it stops");
}
