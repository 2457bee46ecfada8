//! What follows from the equalities: which keys are fixed, and which are tied to which. Invariant: nothing is derived
//! but along edges.

use std::collections::{HashSet, VecDeque};

use pg::Oid;

use crate::key::{Class, Constant, ConstantKind};
use crate::plan::{KeySource, KeyTerm};
use crate::scope::{Analysis, AttributeId, Binding, KeyPart, Use};

/// The edges of an analysis, by their ends.
pub(crate) struct Graph<'g> {
    analysis: &'g Analysis<'g>,
    forward: Vec<Vec<AttributeId>>,
    backward: Vec<Vec<AttributeId>>,
}

/// What a key part is fixed to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fixture {
    /// One value.
    One(KeyTerm),
    /// One of these.
    List(Vec<KeyTerm>),
    /// One of an array's elements; the term's source is the array.
    Array(KeyTerm),
}

// === impl Graph ===

impl<'g> Graph<'g> {
    pub(crate) fn new(analysis: &'g Analysis<'g>) -> Self {
        let count = analysis.attributes.len();
        let mut forward = vec![Vec::new(); count];
        let mut backward = vec![Vec::new(); count];
        for &(from, to) in &analysis.edges {
            forward[from].push(to);
            backward[to].push(from);
        }
        Self {
            analysis,
            forward,
            backward,
        }
    }

    /// What the parts of a table's key are fixed to, each to one value; `None` where one isn't.
    pub(crate) fn fixed(&self, used: &Use) -> Option<Vec<KeyTerm>> {
        let parts = used.parts.iter().map(|part| {
            self.fixtures(part)
                .into_iter()
                .find_map(|fixture| match fixture {
                    Fixture::One(term) => Some(term),
                    Fixture::List(_) | Fixture::Array(_) => None,
                })
        });
        parts
            .collect::<Option<Vec<_>>>()
            .filter(|terms| !terms.is_empty())
    }

    /// Everything that a key part is fixed to.
    pub(crate) fn fixtures(&self, part: &KeyPart) -> Vec<Fixture> {
        let mut found = Vec::new();
        if let (Some(column), Some(expression)) = (part.column, &part.expression) {
            for constant in self.bindings_of(column) {
                found.extend(self.fixture(column, &constant, Some(expression)));
            }
        }
        for constant in self.bindings_of(part.whole) {
            found.extend(self.fixture(part.whole, &constant, None));
        }
        found.extend(self.through_expressions(part));
        // One value is worth more than a list.
        found.sort_by_key(|fixture| match fixture {
            Fixture::One(_) => 0,
            Fixture::List(_) => 1,
            Fixture::Array(_) => 2,
        });
        found
    }

    /// `lower(a.sku) = lower(b.sku)` with `b.sku` fixed.
    fn through_expressions(&self, part: &KeyPart) -> Vec<Fixture> {
        let Some(expression) = &part.expression else {
            return Vec::new();
        };
        let sources = self.reaching(part.whole);
        let mut found = Vec::new();
        for other in self.analysis.uses.iter().flat_map(|used| &used.parts) {
            let is_equal = other.whole != part.whole && sources.contains(&other.whole);
            if let (true, Some(column)) = (is_equal, other.column)
                && other.expression.as_ref() == Some(expression)
            {
                for constant in self.bindings_of(column) {
                    found.extend(self.fixture(column, &constant, Some(expression)));
                }
            }
        }
        found
    }

    fn bindings_of(&self, attribute: AttributeId) -> Vec<Binding> {
        let sources = self.reaching(attribute);
        let bindings = self.analysis.bindings.iter();
        bindings
            .filter(|(at, _)| sources.contains(at))
            .map(|(_, binding)| binding.clone())
            .collect()
    }

    fn fixture(
        &self,
        attribute: AttributeId,
        binding: &Binding,
        expression: Option<&topology::KeyExpression>,
    ) -> Option<Fixture> {
        let class = self.analysis.attributes[attribute].class?;
        let term = |constant: &Constant| {
            let is_sure = class.accepts(constant.kind) && self.is_sure(constant, class);
            is_sure.then(|| KeyTerm {
                source: constant.source.clone(),
                key_type: class.key.with_typmod(-1),
                expression: expression.cloned(),
            })
        };
        match binding {
            Binding::One(constant) => term(constant).map(Fixture::One),
            Binding::List(constants) => constants
                .iter()
                .map(term)
                .collect::<Option<_>>()
                .map(Fixture::List),
            Binding::Array(array) => Some(Fixture::Array(KeyTerm {
                source: array.source.clone(),
                key_type: class.key.with_typmod(-1),
                expression: expression.cloned(),
            })),
        }
    }

    /// A parameter without a type gets one from the first place where it stands, so all places must agree.
    fn is_sure(&self, constant: &Constant, class: Class) -> bool {
        let (KeySource::Param(number), ConstantKind::Param(Oid::INVALID) | ConstantKind::Typed(_)) =
            (&constant.source, constant.kind)
        else {
            return true;
        };
        let declared = (*number as usize)
            .checked_sub(1)
            .and_then(|at| self.analysis.context.param_types.get(at));
        if declared.is_some_and(|type_oid| *type_oid != Oid::INVALID) {
            return true;
        }
        self.analysis
            .params
            .get(*number as usize)
            .is_some_and(|known| {
                known.count <= known.compared.len()
                    && known.compared.iter().all(|other| other.is_same(class))
            })
    }

    /// Every attribute from which this one is reached, itself too.
    pub(crate) fn reaching(&self, attribute: AttributeId) -> HashSet<AttributeId> {
        walk(&self.backward, [attribute])
    }

    /// Every attribute that is reached from one of these, themselves too.
    pub(crate) fn reached(
        &self,
        start: impl IntoIterator<Item = AttributeId>,
    ) -> HashSet<AttributeId> {
        walk(&self.forward, start)
    }

    /// Attributes that always equal this key part, or the column under it.
    pub(crate) fn equals(&self, part: &KeyPart) -> HashSet<AttributeId> {
        let mut equal = HashSet::new();
        for attribute in [Some(part.whole), part.column].into_iter().flatten() {
            let forward = self.reached([attribute]);
            let backward = self.reaching(attribute);
            equal.extend(forward.intersection(&backward).copied());
        }
        equal
    }

    /// Whether every row of `other` that matters has the key of `anchor`'s row.
    pub(crate) fn is_tied(&self, anchor: &Use, other: &Use) -> bool {
        anchor.parts.len() == other.parts.len()
            && !anchor.parts.is_empty()
            && anchor
                .parts
                .iter()
                .zip(&other.parts)
                .all(|(a, b)| self.is_part_tied(a, b))
    }

    fn is_part_tied(&self, anchor: &KeyPart, other: &KeyPart) -> bool {
        if !self.analysis.is_comparable(anchor.whole, other.whole) {
            return false;
        }
        if anchor.expression.is_none() && other.expression.is_none() {
            return self.reached([anchor.whole]).contains(&other.whole);
        }
        let (Some(anchor_column), Some(expression)) = (anchor.column, &anchor.expression) else {
            return self.reached([anchor.whole]).contains(&other.whole);
        };
        // Equal columns have equal expressions; columns are followed first, then expressions.
        let columns = self.reached([anchor_column]);
        let parts = self.analysis.uses.iter().flat_map(|used| &used.parts);
        let wholes = parts
            .filter(|part| part.column.is_some_and(|column| columns.contains(&column)))
            .filter(|part| part.expression.as_ref() == Some(expression))
            .map(|part| part.whole)
            .chain([anchor.whole]);
        self.reached(wholes.collect::<Vec<_>>())
            .contains(&other.whole)
    }
}

fn walk(
    edges: &[Vec<AttributeId>],
    start: impl IntoIterator<Item = AttributeId>,
) -> HashSet<AttributeId> {
    let mut seen: HashSet<AttributeId> = HashSet::new();
    let mut pending: VecDeque<AttributeId> = start.into_iter().collect();
    seen.extend(&pending);
    while let Some(at) = pending.pop_front() {
        for &next in &edges[at] {
            if seen.insert(next) {
                pending.push_back(next);
            }
        }
    }
    seen
}
