//! The record: leaves by name, unknown ones kept.

use proptest::prelude::*;
use serde_json::{Value, json};
use superfluid_core::capability::{Leaf, Record, Support};

#[test]
fn row_g1_a_leaf_is_true_or_says_why_not_or_is_unknown() {
    let record: Record = serde_json::from_value(json!({
        "modalities": {"image_encode": "no eyes", "audio_encode": null, "transcribe": false},
        "sampling": {"top_logprobs_max": 20},
        "serving": {"speculation_strategies": []},
        "state": "not a section",
    }))
    .unwrap();
    assert_eq!(record.support(Leaf::ImageEncode), Support::No("no eyes"));
    assert_eq!(record.support(Leaf::AudioEncode), Support::Unknown);
    assert!(matches!(record.support(Leaf::Transcribe), Support::No(_)));
    assert_eq!(record.support(Leaf::TopLogprobs), Support::Yes);
    assert!(matches!(record.support(Leaf::Speculation), Support::No(_)));
    assert_eq!(record.support(Leaf::Rollback), Support::Unknown);
    assert_eq!(record.support(Leaf::Embedding), Support::Unknown);
    assert_eq!(record.runtime(), "");
}

#[test]
fn builders_write_the_shape_that_basert_reports() {
    let record = Record::new("mock", "1")
        .yes(Leaf::CausalGeneration)
        .no(Leaf::LoraLoad, "no adapters")
        .with("limits", "max_seq_len", 4096)
        .top("architecture", "llama");
    assert_eq!(
        serde_json::to_value(&record).unwrap(),
        json!({
            "descriptor_version": 1,
            "runtime": {"id": "mock", "version": "1"},
            "architecture": "llama",
            "workload": {"causal_generation": true},
            "adaptation": {"lora_load": "no adapters"},
            "limits": {"max_seq_len": 4096},
        })
    );
    assert_eq!(record.number("limits", "max_seq_len"), Some(4096));
}

#[test]
fn a_builder_replaces_what_is_no_section() {
    let record = Record::default().top("state", 7).yes(Leaf::Rollback);
    assert_eq!(record.support(Leaf::Rollback), Support::Yes);
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z ]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("(state|load|serving|rollback|kv_bits|x)", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_a_runtime_reports_is_kept_and_can_be_asked(
        map in proptest::collection::btree_map("(state|load|serving|runtime|modalities|x)", json(), 0..5),
    ) {
        let value = Value::Object(map.into_iter().collect());
        let record: Record = serde_json::from_value(value.clone()).unwrap();
        for leaf in [Leaf::KvBits, Leaf::Rollback, Leaf::ImageEncode, Leaf::Speculation] {
            let _ = record.support(leaf);
        }
        let _ = (record.runtime(), record.strategies());
        prop_assert_eq!(serde_json::to_value(&record).unwrap(), value);
    }

    #[test]
    fn filling_one_leaf_changes_no_other(map in proptest::collection::btree_map("(state|load|x)", json(), 0..4)) {
        let before = Record(map.into_iter().collect());
        let after = before.clone().no(Leaf::ParkLossy, "why");
        prop_assert_eq!(after.support(Leaf::ParkLossy), Support::No("why"));
        for (name, value) in &before.0 {
            if name != "serving" {
                prop_assert_eq!(after.0.get(name), Some(value));
            }
        }
    }
}
