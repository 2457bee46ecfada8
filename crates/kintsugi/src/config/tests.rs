use super::*;

const SMALLEST: &str =
    "listen = \"127.0.0.1:0\"\nstore = \"s.db\"\n[router]\nuser = \"postgres\"\n";

#[test]
fn every_key_of_the_reference_is_read() {
    for key in KEYS {
        let name = key.name.replace("UID", "s1").replace("NAME", "app");
        let (table, last) = name.rsplit_once('.').unwrap_or(("", &name));
        let own = format!("{last} = {}\n", key.example);
        let mut text = if table.is_empty() && SMALLEST.contains(&format!("{last} =")) {
            SMALLEST.to_owned()
        } else if table.is_empty() {
            format!("{own}{SMALLEST}")
        } else if name == "router.user" {
            SMALLEST.to_owned()
        } else if table == "router" {
            format!("{SMALLEST}{own}")
        } else {
            format!("{SMALLEST}[{table}]\n{own}")
        };
        if name == "shards.s1.region" {
            text.push_str("primary = \"x:1\"\n");
        }
        Config::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", key.name));
    }
}

#[test]
fn the_reference_page_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/config.md");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, reference()).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == reference(), "run the tests with UPDATE_EXPECT=1");
}

#[test]
fn the_example_file_is_sound() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kintsugi.toml");
    let config = Config::read(&path).unwrap();
    assert_eq!(config.shards.len(), 2);
    config.access().unwrap();
}

#[test]
fn an_unknown_key_is_refused_with_its_place() {
    let error = Config::parse(&format!("{SMALLEST}pasword = 'x'\n")).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("line 5") && text.contains("pasword"),
        "{text}"
    );
    assert!(Config::parse(&format!("{SMALLEST}[tls]\n")).is_err());
    assert!(Config::parse(&SMALLEST.replace("127.0.0.1:0", "127.0.0.1:x")).is_err());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.toml");
    let refused = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Config::read(&path).unwrap_err().for_people()
    };
    assert!(refused(SMALLEST).contains("there are no users"));
    let two = format!("{SMALLEST}[users.a]\npassword = \"x\"\nverifier = \"y\"\n");
    assert!(refused(&two).contains("users.a needs exactly one way"));
    let none = format!("{SMALLEST}[users.a]\n");
    assert!(refused(&none).contains("users.a needs exactly one way"));
    let differing = format!("{SMALLEST}password = \"x\"\n[users.postgres]\npassword = \"y\"\n");
    assert!(refused(&differing).contains("different passwords"));
    let missing = format!("{SMALLEST}password_file = \"nowhere\"\n");
    assert!(refused(&missing).contains("nowhere"));
}

#[test]
fn passwords_are_not_printed() {
    let text = format!("{SMALLEST}password = \"hunter2\"\n[users.app]\npassword = \"hunter2\"\n");
    let config = Config::parse(&text).unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
}
