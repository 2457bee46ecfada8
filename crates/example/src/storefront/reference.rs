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
        // What is left out here is volatile: it has to be the same in every copy all the same.
        Table::new("currencies", "code, name, decimals", 1, |_, rows| {
            for (code, name, decimals) in CURRENCIES {
                rows.put(code).put(name).put(decimals).end();
            }
        }),
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
