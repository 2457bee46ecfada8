//! A plan as text, in PostgreSQL's manner: what EXPLAIN shows above each shard's own plan, and what the golden files
//! hold. Invariant: everything that execution acts upon is shown.

use topology::{ShardId, Topology};

use crate::copy::{CopyIn, CopySource, CopyValue};
use crate::plan::{
    Aggregate, AggregateColumn, Bound, Compute, Effect, KeySource, KeyTerm, Merge, MergeKey, Part,
    Plan, Route, RowWindow, Target, Text, Tier, Values,
};

/// The lines of a plan for one text, whose literals are shown where the plan finds its keys in them.
#[must_use]
pub fn explain_for(plan: &Plan, topology: &Topology, values: &dyn Values) -> Vec<String> {
    let mut shown = plan.clone();
    let routes: &mut dyn Iterator<Item = &mut Route> = match (&mut shown.target, &mut shown.text) {
        (Target::One { routes, .. }, _) => &mut routes.iter_mut(),
        (Target::Keys { routes, .. }, _) => &mut routes.iter_mut(),
        (_, Text::Rows { rows, .. }) => &mut rows.iter_mut().map(|row| &mut row.route),
        _ => return explain(plan, topology),
    };
    for route in routes {
        let Route::Key { terms, .. } = route else {
            continue;
        };
        for term in terms {
            spell(&mut term.source, values);
        }
    }
    explain(&shown, topology)
}

/// Puts a literal in the place of its slot.
fn spell(source: &mut KeySource, values: &dyn Values) {
    let KeySource::Literal {
        slot,
        negated,
        quoted,
    } = *source
    else {
        return;
    };
    if let Some(text) = values.literal(slot) {
        let sign = if negated { "-" } else { "" };
        *source = KeySource::Text {
            text: format!("{sign}{text}"),
            quoted,
        };
    }
}

/// The lines of a plan.
#[must_use]
pub fn explain(plan: &Plan, topology: &Topology) -> Vec<String> {
    let mut lines = Vec::new();
    lines.push(headline(plan, topology));
    let mut indented = |line: String| lines.push(format!("  {line}"));
    if plan.effect != Effect::Read {
        indented(format!("Effect: {}", effect(plan.effect)));
    }
    for (index, compute) in plan.compute.iter().enumerate() {
        indented(format!("Compute ${{{index}}}: {}", computed(compute)));
    }
    for line in target(&plan.target, topology) {
        indented(line);
    }
    for line in merge(&plan.merge) {
        indented(line);
    }
    match &plan.text {
        Text::Verbatim | Text::CopyIn(_) => {}
        Text::Edited(parts) => indented(format!("Shard Query: {}", joined(parts))),
        Text::Rows { head, rows, tail } => {
            indented(format!(
                "Shard Query: {} ... {}",
                joined(head),
                joined(tail)
            ));
            for row in rows {
                let home = route(&row.route, topology);
                indented(format!("Row: {} -> {home}", joined(&row.text)));
            }
        }
    }
    if let Text::CopyIn(copy) = &plan.text {
        copied(copy).into_iter().for_each(&mut indented);
    }
    for reason in &plan.reasons {
        indented(format!("Why: {reason}"));
    }
    for notice in &plan.notices {
        indented(format!("Notice: {}", notice.message));
    }
    lines
}

fn copied(copy: &CopyIn) -> Vec<String> {
    let mut lines = vec![format!("Shard Query: {}", joined(&copy.statement))];
    for key in copy.place.iter().flat_map(|place| &place.columns) {
        lines.push(match key.source {
            CopySource::Field(field) => format!("Key: {} is field {}", key.column, field + 1),
            CopySource::Added(field) => format!("Key: {} is added field {}", key.column, field + 1),
        });
    }
    for added in &copy.added {
        let value = match added.value {
            CopyValue::Computed(index) => format!("${{{index}}}"),
            CopyValue::Draw { sequence } => format!("next value of sequence {sequence}"),
        };
        lines.push(format!("Added: {} = {value}", added.column));
    }
    if !copy.steady.is_empty() {
        let fields: Vec<String> = copy
            .steady
            .iter()
            .map(|field| (field + 1).to_string())
            .collect();
        lines.push(format!(
            "No word for a moment in field {}",
            fields.join(", ")
        ));
    }
    lines
}

fn headline(plan: &Plan, topology: &Topology) -> String {
    let node = match &plan.merge {
        Merge::Pass => "One Shard",
        Merge::Concat { .. } => "Gather",
        Merge::Ordered { .. } => "Gather Merge",
        Merge::Aggregate(_) => "Gather Aggregate",
        Merge::InsertOrder => "Gather Rows",
        Merge::Copies => "Every Copy",
        Merge::CopyOut { .. } => "Gather Copy",
    };
    let tier = match plan.tier {
        Tier::PassThrough => "pass-through",
        Tier::SomeShards => "some shards",
        Tier::Scatter => "scatter",
        Tier::Broadcast => "broadcast",
    };
    let count = match &plan.target {
        Target::Group(group) => Some(topology.group(*group).shards.len()),
        Target::Shards(shards) => Some(shards.len()),
        Target::One { .. } | Target::Keys { .. } | Target::Rows => None,
    };
    match count {
        Some(count) => format!("{node}  (tier={tier} shards={count})"),
        None => format!("{node}  (tier={tier})"),
    }
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Lock => "lock rows",
        Effect::Write => "write",
        Effect::Maintain => "maintain",
        Effect::Define => "define",
    }
}

fn computed(compute: &Compute) -> String {
    match compute {
        Compute::NextVal { sequence } => format!("next value of sequence {sequence}"),
        Compute::CurrVal { sequence } => format!("current value of sequence {sequence}"),
        Compute::LastVal => "last value of any sequence".to_owned(),
        Compute::SetVal {
            sequence,
            arguments,
        } => {
            format!("setval(sequence {}, {arguments})", sequence.0)
        }
        Compute::Steady { param } => format!("${param} is no word for a moment"),
        Compute::Expression { sql, type_name, .. } => format!("({sql})::{type_name}"),
    }
}

fn target(target: &Target, topology: &Topology) -> Vec<String> {
    match target {
        Target::One { routes, .. } => routes
            .iter()
            .map(|one| format!("Route: {}", route(one, topology)))
            .collect(),
        Target::Keys { routes, array } => {
            let mut lines: Vec<String> = routes
                .iter()
                .map(|one| format!("Route: {}", route(one, topology)))
                .collect();
            if let Some(array) = array {
                let key = &array.sharded.key;
                let source = source(&array.source);
                let group = &topology.group(array.sharded.group).uid;
                lines.push(format!("Route: {key} = any of {source} in {group}"));
            }
            lines
        }
        Target::Group(group) => {
            let group = topology.group(*group);
            vec![format!(
                "Shards: all of {} ({})",
                group.uid,
                shards(&group.shards, topology)
            )]
        }
        Target::Shards(list) => vec![format!("Shards: {}", shards(list, topology))],
        Target::Rows => vec!["Shards: each row's own".to_owned()],
    }
}

fn shards(list: &[ShardId], topology: &Topology) -> String {
    let names: Vec<&str> = list
        .iter()
        .map(|id| topology.shard(*id).uid.as_str())
        .collect();
    names.join(", ")
}

fn route(route: &Route, topology: &Topology) -> String {
    match route {
        Route::Key { sharded, terms, .. } => {
            let group = &topology.group(sharded.group).uid;
            let parts: Vec<String> = sharded
                .key
                .parts()
                .iter()
                .zip(terms)
                .map(|(part, one)| format!("{part} = {}", term(one)))
                .collect();
            format!("{} in {group}", parts.join(" and "))
        }
        Route::Any(list) => format!("any of {}", shards(list, topology)),
        Route::Shard(shard) => topology.shard(*shard).uid.clone(),
        Route::Authority => "the authoritative shard".to_owned(),
    }
}

fn term(term: &KeyTerm) -> String {
    let value = source(&term.source);
    match &term.expression {
        Some(expression) => {
            let column = expression
                .columns()
                .first()
                .map_or(String::new(), ToString::to_string);
            format!("({expression} of {column} = {value})")
        }
        None => value,
    }
}

fn source(source: &KeySource) -> String {
    match source {
        KeySource::Literal { slot, negated, .. } => {
            let sign = if *negated { "-" } else { "" };
            format!("{sign}literal {}", slot + 1)
        }
        KeySource::Text { text, quoted: true } => format!("'{}'", text.replace('\'', "''")),
        KeySource::Text {
            text,
            quoted: false,
        } => text.clone(),
        KeySource::Param(number) => format!("${number}"),
        KeySource::Value(value) => value.to_string(),
        KeySource::Computed(index) => format!("${{{index}}}"),
        KeySource::Null => "NULL".to_owned(),
    }
}

fn merge(merge: &Merge) -> Vec<String> {
    match merge {
        Merge::Pass | Merge::InsertOrder | Merge::Copies => Vec::new(),
        Merge::CopyOut { has_header, .. } => has_header
            .then(|| "Header: once".to_owned())
            .into_iter()
            .collect(),
        Merge::Concat { window } => bounds(window),
        Merge::Ordered {
            keys: sort,
            hidden,
            window,
        } => {
            let mut lines = vec![format!("Merge Key: {}", keys(sort))];
            lines.extend(cut(*hidden));
            lines.extend(bounds(window));
            lines
        }
        Merge::Aggregate(aggregate) => aggregated(aggregate),
    }
}

fn aggregated(aggregate: &Aggregate) -> Vec<String> {
    let mut lines = Vec::new();
    if !aggregate.group.is_empty() {
        lines.push(format!("Group Key: {}", keys(&aggregate.group)));
    }
    let columns: Vec<&str> = aggregate
        .columns
        .iter()
        .map(|column| combined(*column))
        .collect();
    lines.push(format!("Combine: {}", columns.join(", ")));
    lines.extend(cut(aggregate.hidden));
    if !aggregate.order.is_empty() {
        lines.push(format!("Sort Key: {}", keys(&aggregate.order)));
    }
    lines.extend(bounds(&aggregate.window));
    lines
}

fn combined(column: AggregateColumn) -> &'static str {
    match column {
        AggregateColumn::Group => "group",
        AggregateColumn::Count => "count",
        AggregateColumn::Sum => "sum",
        AggregateColumn::Min { .. } => "min",
        AggregateColumn::Max { .. } => "max",
        AggregateColumn::And => "and",
        AggregateColumn::Or => "or",
    }
}

fn keys(keys: &[MergeKey]) -> String {
    let shown: Vec<String> = keys.iter().map(key).collect();
    shown.join(", ")
}

fn key(key: &MergeKey) -> String {
    let mut text = format!("column {}", key.column + 1);
    if key.descending {
        text.push_str(" DESC");
    }
    // PostgreSQL's defaults are left unsaid.
    if key.nulls_first != key.descending {
        text.push_str(if key.nulls_first {
            " NULLS FIRST"
        } else {
            " NULLS LAST"
        });
    }
    if key.collation_is_bytes {
        text.push_str(" COLLATE \"C\"");
    }
    text
}

fn cut(hidden: u16) -> Option<String> {
    (hidden > 0).then(|| format!("Hidden Columns: {hidden}"))
}

fn bounds(window: &RowWindow) -> Vec<String> {
    let bound = |bound: &Bound| match bound {
        Bound::Rows(rows) => rows.to_string(),
        Bound::Param(number) => format!("${number}"),
    };
    let limit = window
        .limit
        .as_ref()
        .map(|rows| format!("Limit: {}", bound(rows)));
    let offset = window
        .offset
        .as_ref()
        .map(|rows| format!("Offset: {}", bound(rows)));
    limit.into_iter().chain(offset).collect()
}

fn joined(parts: &[Part]) -> String {
    parts
        .iter()
        .map(|part| match part {
            Part::Sql(sql) => sql.clone(),
            Part::Computed(index) => format!("${{{index}}}"),
        })
        .collect()
}
