//! Countries, currencies and tax rates: the same in every size.

use super::word::{CATEGORIES, COUNTRIES, CURRENCIES};
use crate::copy::Table;

pub(super) fn tables() -> Vec<Table> {
    vec![
        Table::new("countries", "code, name, region", 1, |_, rows| {
            for (code, name, region, _) in COUNTRIES {
                rows.put(code).put(name).put_or_null(region).end();
            }
        }),
        Table::new(
            "currencies",
            "code, name, decimals, added_at, tag",
            1,
            |_, rows| {
                for (at, (code, name, decimals)) in CURRENCIES.iter().enumerate() {
                    rows.put(code).put(name).put(decimals);
                    // Left to their defaults, these would differ from one load to the next.
                    rows.put("2021-01-01 00:00:00+00");
                    rows.put(format_args!("00000000-0000-4000-8000-{at:012x}"))
                        .end();
                }
            },
        ),
        Table::new(
            "tax_rates",
            "country_code, category, valid_from, rate",
            1,
            |_, rows| {
                for (at, (country, ..)) in COUNTRIES.iter().enumerate().take(18) {
                    for (nr, (category, _)) in CATEGORIES.iter().enumerate() {
                        let rate = (at * 7 + nr * 3) % 25;
                        rows.put(country).put(category).put("2020-01-01");
                        rows.put(format_args!("0.{rate:02}00")).end();
                    }
                }
            },
        ),
    ]
}
