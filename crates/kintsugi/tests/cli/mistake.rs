//! What a person may get wrong: each is named, with the way out, before anything is started.

use std::net::TcpListener;

use crate::bed::{TWO, err, folder, out, run, text_of, write};

/// The status and the words with which a command is refused.
async fn refused(arguments: &[&str]) -> (i32, String) {
    let ended = run(arguments).await;
    assert_eq!(out(&ended), "", "nothing is claimed");
    (ended.status.code().expect("a status"), err(&ended))
}

#[tokio::test]
async fn documents_with_mistakes_start_nothing() {
    let folder = folder();
    let data = text_of(&folder.path().join("data"));
    let try_it = async |text: &str| {
        let file = write(folder.path(), "t.json", text);
        refused(&[
            "dev",
            "--shards",
            "2",
            "--port",
            "0",
            "--data-dir",
            &data,
            "--topology",
            &file,
        ])
        .await
    };
    let (status, told) = try_it("{ nonsense").await;
    assert!(status == 1 && told.contains("t.json"), "{told}");
    let (status, told) = try_it(&TWO.replace("\"start\"", "\"begin\"")).await;
    assert!(
        status == 1 && told.contains("6:") && told.contains("begin"),
        "{told}"
    );
    let (status, told) = try_it(&TWO.replace("store-2", "store-9")).await;
    assert!(
        status == 1 && told.contains("\"store-9\"") && told.contains("store-1 to store-2"),
        "{told}"
    );
    let (status, told) = try_it(
        &TWO.replace("\"80\"", "\"90\"")
            .replacen("\"90\"", "\"a0\"", 1),
    )
    .await;
    assert!(status == 1 && told.contains("overlap"), "{told}");
    assert!(
        !folder.path().join("data/store-1").exists(),
        "no shard was made"
    );

    let (status, told) =
        refused(&["dev", "--data-dir", &data, "--topology", "/nowhere.json"]).await;
    assert!(
        status == 3 && told.contains("/nowhere.json could not be read"),
        "{told}"
    );
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let folder = folder();
    let data = text_of(&folder.path().join("data"));
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let (status, told) = refused(&["dev", "--port", &port, "--data-dir", &data]).await;
    assert!(
        status == 3 && told.contains(&format!("127.0.0.1:{port}")),
        "{told}"
    );
    assert!(told.contains("hint:") && told.contains("--port"), "{told}");
}

#[tokio::test]
async fn configurations_with_mistakes_are_refused_with_their_place() {
    let folder = folder();
    let try_it = async |text: &str| {
        let file = write(folder.path(), "k.toml", text);
        refused(&["serve", "--config", &file]).await
    };
    let smallest = "listen = \"127.0.0.1:0\"\nstore = \"s.db\"\n[router]\nuser = \"postgres\"\n";
    let (status, told) = try_it(&format!("{smallest}usr = 1\n")).await;
    assert!(
        status == 1 && told.contains("line 5") && told.contains("usr"),
        "{told}"
    );
    let (status, told) = try_it(smallest).await;
    assert!(status == 1 && told.contains("no users"), "{told}");
    let (status, told) = try_it(&format!("{smallest}[users.a]\nverifier = \"md5abc\"\n")).await;
    assert!(status == 1 && told.contains("user a"), "{told}");
    let (status, told) = try_it(&format!("auth = \"trust\"\n{smallest}")).await;
    assert!(status == 3 && told.contains("shard"), "{told}");
    let (status, told) = refused(&["serve", "--config", "/nowhere.toml"]).await;
    assert!(status == 3 && told.contains("/nowhere.toml"), "{told}");
}

#[tokio::test]
async fn commands_without_a_cluster_say_how_to_get_one() {
    let folder = folder();
    let data = text_of(folder.path());
    for arguments in [
        &["topology", "show", "--data-dir", &data][..],
        &["status", "--data-dir", &data],
    ] {
        let (status, told) = refused(arguments).await;
        assert!(
            status == 1 && told.contains("no cluster") && told.contains("kintsugi dev"),
            "{told}"
        );
    }
    let help = run(&["topology", "apply", "--help"]).await;
    assert!(out(&help).contains("--dry-run"), "{}", out(&help));
    for command in ["validate", "show", "diff", "apply", "history", "shard-of"] {
        let help = run(&["topology", command, "--help"]).await;
        let example = format!("Example:\n  kintsugi topology {command}");
        assert!(out(&help).contains(&example), "{}", out(&help));
    }
    let wrong = run(&["topology", "aply"]).await;
    assert_eq!(wrong.status.code(), Some(2));
}
