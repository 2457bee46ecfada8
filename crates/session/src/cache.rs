//! Plans by shape.
//!
//! A shape is a text with its literals lifted out. Its entry is found by everything else that a plan depends on ([`Key`]);
//! inside, each [`Variant`] names the literals that its plan did depend on, and those are compared byte for byte. So
//! `where id = 1` and `where id = 2` share a plan, while `order by 1` and `order by 2` do not.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use parking_lot::Mutex;
use pg::Oid;
use quick_cache::{Equivalent, sync::Cache};

/// At most so many plans of one shape: further ones replace the oldest.
const VARIANTS_MAX: usize = 8;

/// What a plan depends on besides its shape and literals.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// Database.
    pub database: Arc<str>,
    /// Role that names are resolved for.
    pub role: Arc<str>,
    /// `search_path` as set; empty for the server's own.
    pub search_path: Arc<str>,
    /// `kintsugi.default_shard_group`; empty when it isn't set.
    pub default_group: Arc<str>,
    /// Further settings that change meaning, as one word.
    pub flags: u32,
    /// [`catalog::Catalog::version`].
    pub catalog_version: u64,
    /// The topology's revision.
    pub topology_revision: u64,
}

/// The whole key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    setting: Arc<Setting>,
    types: Box<[Oid]>,
    shape: Box<[u8]>,
    hash: u64,
}

/// A [`Key`] that borrows.
#[derive(Clone, Copy, Debug)]
pub struct KeyRef<'a> {
    /// What the plan depends on besides.
    pub setting: &'a Arc<Setting>,
    /// Parameter types as declared.
    pub types: &'a [Oid],
    /// The shape's bytes.
    pub shape: &'a [u8],
    /// A hash of the shape's bytes.
    pub hash: u64,
}

/// One plan of a shape.
#[derive(Debug)]
struct Variant<T> {
    /// Slots and texts of the literals that the plan depends on.
    fixed: Box<[(u32, Box<str>)]>,
    value: Arc<T>,
}

/// Plans of one shape.
#[derive(Debug)]
struct Shape<T> {
    variants: Mutex<Vec<Variant<T>>>,
}

/// Plans by shape, bounded in number.
#[derive(Debug)]
pub struct PlanCache<T> {
    shapes: Cache<Key, Arc<Shape<T>>>,
}

// === impl PlanCache ===

impl<T> PlanCache<T> {
    /// A cache for at most `shapes_max` shapes.
    #[must_use]
    pub fn new(shapes_max: usize) -> Self {
        Self {
            shapes: Cache::new(shapes_max),
        }
    }

    /// The plan for a text of this shape, whose literal in slot `n` reads `literal(n)`.
    pub fn find<'t>(
        &self,
        key: KeyRef<'_>,
        literal: impl Fn(u32) -> Option<&'t str>,
    ) -> Option<Arc<T>> {
        let shape = self.shapes.get(&key)?;
        let variants = shape.variants.lock();
        let fits = |variant: &&Variant<T>| {
            variant
                .fixed
                .iter()
                .all(|(slot, text)| literal(*slot) == Some(text))
        };
        variants
            .iter()
            .find(fits)
            .map(|variant| Arc::clone(&variant.value))
    }

    /// Adds a plan that depends on the literals in the slots `fixed`.
    pub fn insert(&self, key: KeyRef<'_>, fixed: Vec<(u32, String)>, value: Arc<T>) {
        let variant = Variant {
            fixed: fixed
                .into_iter()
                .map(|(slot, text)| (slot, text.into_boxed_str()))
                .collect(),
            value,
        };
        if let Some(shape) = self.shapes.get(&key) {
            let mut variants = shape.variants.lock();
            if variants.len() == VARIANTS_MAX {
                variants.remove(0);
            }
            variants.push(variant);
            return;
        }
        let shape = Shape {
            variants: Mutex::new(vec![variant]),
        };
        self.shapes.insert(key.to_owned(), Arc::new(shape));
    }

    /// Number of shapes held.
    #[must_use]
    pub fn shapes_count(&self) -> usize {
        self.shapes.len()
    }
}

// === impl Key ===

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl KeyRef<'_> {
    fn to_owned(self) -> Key {
        Key {
            setting: Arc::clone(self.setting),
            types: self.types.into(),
            shape: self.shape.into(),
            hash: self.hash,
        }
    }
}

impl Hash for KeyRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.hash == key.hash
            && *self.shape == *key.shape
            && *self.types == *key.types
            && (Arc::ptr_eq(self.setting, &key.setting) || **self.setting == *key.setting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(search_path: &str) -> Arc<Setting> {
        Arc::new(Setting {
            database: "d".into(),
            role: "r".into(),
            search_path: search_path.into(),
            default_group: "".into(),
            flags: 0,
            catalog_version: 1,
            topology_revision: 1,
        })
    }

    #[test]
    fn fixed_literals_are_compared_and_free_ones_are_not() {
        let cache = PlanCache::new(10);
        let setting = setting("");
        let key = KeyRef {
            setting: &setting,
            types: &[],
            shape: b"select ? order by ?",
            hash: 7,
        };
        cache.insert(key, vec![(1, "1".into())], Arc::new("by first"));
        cache.insert(key, vec![(1, "2".into())], Arc::new("by second"));
        let find = |a: &'static str, b: &'static str| {
            cache
                .find(key, |slot| [a, b].get(slot as usize).copied())
                .map(|plan| *plan)
        };
        assert_eq!(find("9", "1"), Some("by first"));
        assert_eq!(find("8", "2"), Some("by second"));
        assert_eq!(find("8", "3"), None);
    }

    #[test]
    fn another_search_path_is_another_plan() {
        let cache = PlanCache::new(10);
        let (one, two) = (setting("a"), setting("b"));
        let key = |setting| KeyRef {
            setting,
            types: &[],
            shape: b"select t",
            hash: 7,
        };
        cache.insert(key(&one), vec![], Arc::new(1));
        assert!(cache.find(key(&two), |_| None).is_none());
        assert!(cache.find(key(&setting("a")), |_| None).is_some());
    }

    #[test]
    fn the_number_of_plans_is_bounded() {
        let cache = PlanCache::new(10);
        let setting = setting("");
        for hash in 0..1000 {
            let shape = format!("select {hash}");
            let key = KeyRef {
                setting: &setting,
                types: &[],
                shape: shape.as_bytes(),
                hash,
            };
            cache.insert(key, vec![], Arc::new(hash));
        }
        assert!(cache.shapes_count() <= 10);
    }
}
