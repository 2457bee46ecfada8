use super::*;

const EVERYTHING: &str = r#"{
  "shards": {
    "store-1": {
      "primary": "db1:5432",
      "replicas": [
        "db1r:5432"
      ],
      "region": "eu",
      "labels": {
        "rack": "a b"
      }
    }
  },
  "shard_indexes": {
    "by_id": {
      "type": "xxhash",
      "columns": [
        "id"
      ],
      "index_params": {
        "b": "1",
        "a": "2"
      }
    }
  },
  "shard_groups": [
    {
      "uid": "g",
      "name": "G",
      "default_shard_index": "by_id",
      "key_ranges": [
        {
          "shard_uid": "store-1",
          "start": "80",
          "end": "c0"
        }
      ]
    }
  ],
  "databases": {
    "shop": {
      "default_shard_group": "g",
      "unsharded_patterns": [
        "x_*"
      ],
      "global_secondary_indexes": {
        "by_email": {
          "schema": "public",
          "table": "customers_by_email",
          "owner_table": "customers",
          "columns": [
            "email"
          ],
          "owner_sk_columns": [
            "id"
          ],
          "owner_pk_columns": [
            "id"
          ],
          "unique": true,
          "ignore_null": true,
          "enabled": false,
          "mode": "async"
        }
      },
      "schemas": {
        "public": {
          "default_shard_group": "g",
          "tables": {
            "customers": {
              "shard_group": "g",
              "primary_indexes": [
                {
                  "shard_index": "by_id",
                  "columns": [
                    "id"
                  ]
                }
              ],
              "secondary_indexes": [
                {
                  "name": "by_email",
                  "columns": [
                    "email"
                  ]
                }
              ],
              "unique_off_key": "local"
            }
          },
          "reference_tables": {
            "countries": {
              "shard_groups": [
                "g"
              ]
            }
          },
          "sequences": {
            "order_number": {
              "shard_group": "main",
              "block": 10
            }
          },
          "functions": {
            "credit": {
              "shard_group": "g",
              "shard_key_argument": "customer"
            }
          }
        }
      }
    }
  },
  "authoritative_shard_group": "main",
  "default_shard_group": "main"
}
"#;

#[test]
fn every_key_of_the_format_is_kept_in_its_order() {
    let read = Document::read(EVERYTHING).unwrap();
    assert_eq!(read.document.to_json(), EVERYTHING);
}

#[test]
fn a_place_in_the_text_is_found_by_its_path() {
    let read = Document::read(EVERYTHING).unwrap();
    let position = |path: &str| read.source.position(path).unwrap().to_string();
    assert_eq!(position(""), "1:1");
    assert_eq!(position("shard_groups[0].key_ranges[0].end"), "35:18");
    assert_eq!(position("shard_groups[0].key_ranges[0].absent"), "32:9");
}

#[test]
fn shards_are_named_by_ranges_too() {
    let text = r#"{"shard_groups": [{"uid": "g", "key_ranges": [
        {"shard_uid": "b", "end": "80"}, {"shard_uid": "a", "start": "80"}]}]}"#;
    assert_eq!(
        Document::read(text).unwrap().document.named_shards(),
        ["b", "a"]
    );
}
