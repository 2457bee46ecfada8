//! Documents in the documentation are sound, and what is said to be refused is refused under that id.

use indexmap::IndexMap;
use topology::{Document, ShardEntry, Topology, Unsupported};

const REFERENCE: &str = include_str!("../../../docs/reference/topology.md");
const GUIDE: &str = include_str!("../../../docs/guide/your-first-topology.md");

/// The shards that a document names, where it gives no addresses itself.
fn named_shards(document: &Document) -> IndexMap<String, ShardEntry> {
    let entry = || ShardEntry {
        primary: Some("a:1".to_owned()),
        ..ShardEntry::default()
    };
    let named = document
        .named_shards()
        .into_iter()
        .map(|uid| (uid.to_owned(), entry()));
    if document.shards.is_empty() {
        named.collect()
    } else {
        IndexMap::new()
    }
}

#[test]
fn documents_in_the_documentation_are_sound() {
    let blocks = |page: &'static str| page.split("```json\n").skip(1);
    let mut documents_count = 0;
    for block in blocks(REFERENCE).chain(blocks(GUIDE)) {
        let (text, _) = block.split_once("```").unwrap();
        let document = Document::read(text).unwrap().document;
        let shards = named_shards(&document);
        let topology = Topology::compile(document, 1, &shards).unwrap();
        assert_eq!(topology.warnings(), []);
        documents_count += 1;
    }
    assert!(documents_count >= 4);
}

#[test]
fn the_reference_names_what_is_refused() {
    let refused = [
        Unsupported::Lookup,
        Unsupported::PostgresHash,
        Unsupported::Spread,
        Unsupported::GlobalSecondaryIndex,
        Unsupported::SecondaryIndexes,
        Unsupported::UniqueOffKeyIndex,
    ];
    for what in refused {
        assert!(
            REFERENCE.contains(&format!("`{}`", what.id())),
            "{}",
            what.id()
        );
    }
}
