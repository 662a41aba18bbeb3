//! Row G2: startup flags, in the specification's words.

use serde_json::json;
use superfluid_core::Refusal;
use superfluid_core::capability::{Flags, Leaf, Record, validate_flags};
use superfluid_core::runtime::RuntimeId;

fn refused(record: &Record, flags: &Flags) -> Refusal {
    let refusal = validate_flags(record, flags).unwrap_err();
    assert_eq!(refusal.code, "unsupported_runtime");
    assert!(!refusal.hints.is_empty());
    refusal
}

fn speculate(strategy: &str) -> Flags {
    Flags { speculate: Some(strategy.into()), ..Flags::default() }
}

#[test]
fn row_g2_park_lossy_and_kv_bits_in_the_specifications_words() {
    for id in ["llamacpp", "mlx"] {
        let record = Record::primitive(id, "1");
        let refusal = refused(&record, &Flags { park_lossy: true, ..Flags::default() });
        assert_eq!(refusal.message, format!("the {id} runtime exports no lossy encoding"));
        assert_eq!(refusal.param.as_deref(), Some("--park-lossy"));
        let refusal = refused(&record, &Flags { kv_bits: 4, ..Flags::default() });
        assert_eq!(
            refusal.message,
            format!("the {id} runtime keeps its KV type per context and exposes no such knob")
        );
        assert_eq!(refusal.param.as_deref(), Some("--kv-bits"));
        assert_eq!(validate_flags(&record, &Flags { kv_bits: 0, ..Flags::default() }), Ok(()));
    }
}

#[test]
fn row_g2_speculate_takes_only_what_the_model_can_do() {
    let record = Record::primitive("llamacpp", "1").with(
        "serving",
        "speculation_strategies",
        json!(["prompt-lookup"]),
    );
    let cuts = record.clone().yes(Leaf::Rollback);
    let head_only = record.no(Leaf::Rollback, "this model's state cannot cut a rejected draft");
    assert_eq!(validate_flags(&cuts, &speculate("prompt-lookup")), Ok(()));
    assert_eq!(
        refused(&cuts, &speculate("medusa")).message,
        "the llamacpp runtime speculates by prompt-lookup only"
    );
    assert_eq!(
        refused(&head_only, &speculate("prompt-lookup")).message,
        "this model's state cannot cut a rejected draft"
    );
    let none = Record::new("mock", "1").no(Leaf::Speculation, "the mock runtime does not speculate");
    assert_eq!(refused(&none, &speculate("x")).message, "the mock runtime does not speculate");
}

#[test]
fn row_g2_speculate_auto_is_never_refused() {
    let record = Record::new("x", "1").no(Leaf::Speculation, "no").no(Leaf::Rollback, "no");
    for flags in [Flags::default(), speculate("auto"), speculate("off")] {
        assert_eq!(validate_flags(&record, &flags), Ok(()));
    }
}

#[test]
fn what_is_known_only_after_the_load_refuses_nothing_before_it() {
    let record = Record::new("basert", "0.3.1");
    let flags = Flags { park_lossy: true, kv_bits: 8, speculate: Some("eagle".into()) };
    assert_eq!(validate_flags(&record, &flags), Ok(()));
}

#[test]
fn row_g2_what_is_refused_before_any_worker_is_there() {
    let every = Flags { park_lossy: true, kv_bits: 8, speculate: Some("medusa".into()) };
    for id in [RuntimeId::Llamacpp, RuntimeId::Mlx] {
        let refusal = refused(&Record::foretold(id), &every);
        assert_eq!(refusal.message, format!("the {} runtime exports no lossy encoding", id.as_str()));
    }
    assert_eq!(validate_flags(&Record::foretold(RuntimeId::Basert), &every), Ok(()));
    assert!(!every.is_plain() && !speculate("prompt-lookup").is_plain());
    assert!(Flags::default().is_plain() && speculate("off").is_plain() && speculate("auto").is_plain());
}
