//! What a golden file's statements are planned against.

use pg::{Diagnose, Oid};
use topology::Topology;

use crate::fixture::{Fixture, types_named};

const STOREFRONT: &str = include_str!("../../../../examples/storefront/schema.sql");
const STOREFRONT_TOPOLOGY: &str = include_str!("../../../../examples/storefront/topology.json");

const PAGILA_TOPOLOGY: &str = include_str!("pagila.json");

/// Catalog, topology and session.
pub(crate) struct Scene {
    fixture: Fixture,
    database: &'static str,
    topology: Topology,
    params: Vec<Oid>,
    path: Vec<String>,
    temporary: Vec<String>,
    default_group: Option<String>,
}

impl Default for Scene {
    fn default() -> Self {
        let mut fixture = Fixture::new("storefront");
        fixture.run(STOREFRONT);
        Self {
            fixture,
            database: "storefront",
            topology: topology(STOREFRONT_TOPOLOGY, 2),
            params: Vec::new(),
            path: vec!["pg_catalog".to_owned(), "public".to_owned()],
            temporary: Vec::new(),
            default_group: None,
        }
    }
}

impl Scene {
    /// An empty database with Pagila's topology, and the search path of a dump.
    pub(crate) fn pagila() -> Self {
        Self {
            fixture: Fixture::new("pagila"),
            database: "pagila",
            topology: topology(PAGILA_TOPOLOGY, 2),
            params: Vec::new(),
            path: vec!["pg_catalog".to_owned()],
            temporary: Vec::new(),
            default_group: None,
        }
    }

    /// Runs definitions.
    pub(crate) fn run(&mut self, text: &str) {
        self.fixture.run(text);
    }

    /// Follows a directive.
    pub(crate) fn set(&mut self, directive: &str) {
        let (word, rest) = directive.split_once(' ').unwrap_or((directive, ""));
        match word {
            "shards" => self.topology = topology(STOREFRONT_TOPOLOGY, rest.parse().unwrap()),
            "params" => self.params = types_named(rest),
            "path" => self.path = rest.split_whitespace().map(str::to_owned).collect(),
            "temporary" => self.temporary = rest.split_whitespace().map(str::to_owned).collect(),
            "default_group" => self.default_group = Some(rest.to_owned()),
            "run" => self.fixture.run(rest),
            _ => panic!("unknown directive {word}"),
        }
    }

    /// The plan of a statement, or why it has none.
    pub(crate) fn plan(&self, text: &str) -> Vec<String> {
        let statements = match sql::parse(text) {
            Ok(statements) => statements,
            Err(error) => return vec![format!("does not parse: {error}")],
        };
        let group = self.default_group.as_deref();
        let context = plan::Context {
            catalog: &self.fixture.catalog,
            topology: &self.topology,
            database: self.database,
            search_path: &self.path,
            temporary: &self.temporary,
            param_types: &self.params,
            user: "postgres",
            default_group: group
                .and_then(|uid| self.topology.group_named(uid))
                .map(|group| group.id),
            settings: plan::Settings::default(),
        };
        match plan::plan(&statements[0], text, &context) {
            Ok(planned) => {
                let mut lines = plan::explain(&planned.plan, &self.topology);
                let facts = facts(planned.facts);
                if !facts.is_empty() {
                    lines.push(format!("  Session: {facts}"));
                }
                lines
            }
            Err(error) => {
                let told = error.to_diagnostic();
                let mut lines = vec![format!("ERROR {}: {}", told.code, told.message)];
                lines.extend(told.detail.map(|detail| format!("  DETAIL: {detail}")));
                lines.extend(told.hint.map(|hint| format!("  HINT: {hint}")));
                lines
            }
        }
    }
}

fn facts(facts: plan::Facts) -> String {
    let named = [
        (facts.pins, "pinned"),
        (facts.sets_config, "sets a setting"),
        (facts.unpreparable, "can't be prepared"),
        (facts.uses_temporary, "temporary"),
        (facts.uses_sequence, "sequence"),
        (facts.forgets_sequences, "forgets sequences"),
        (facts.draws_unseen, "draws unseen"),
    ];
    let words: Vec<&str> = named
        .iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, word)| *word)
        .collect();
    words.join(", ")
}

fn topology(document: &str, shards: usize) -> Topology {
    let names: Vec<String> = (1..=shards)
        .map(|number| format!("store-{number}"))
        .collect();
    let read = topology::Document::read(document).unwrap_or_else(|m| panic!("{m:?}"));
    let mut document = read.document;
    document.spread_evenly(&names);
    let configured = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let shard = topology::ShardEntry {
                primary: Some(format!("127.0.0.1:{}", 7000 + at)),
                ..topology::ShardEntry::default()
            };
            (name.clone(), shard)
        })
        .collect();
    Topology::compile(document, 1, &configured).unwrap_or_else(|mistakes| panic!("{mistakes:?}"))
}
