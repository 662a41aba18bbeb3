//! Which install is the default.

use proptest::prelude::*;
use std::cmp::Ordering;
use superfluid_core::install::rank::{compare, compare_versions, default_install};
use superfluid_core::install::{InstallName, Installed, Manifest};

fn name(text: &str) -> InstallName {
    InstallName::new(text).unwrap()
}

fn installed(text: &str) -> Installed {
    let manifest = Manifest::parse(r#"{"version":"x","backend":"cpu","sources":[]}"#, "x").unwrap();
    Installed { name: name(text), manifest: Some(manifest) }
}

fn sorted(names: &[&str]) -> Vec<String> {
    let mut names: Vec<InstallName> = names.iter().map(|text| name(text)).collect();
    names.sort_by(compare);
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn case_i11_versions_compare_as_numbers() {
    let huge = "b99999999999999999999-cpu";
    let found = [
        "b9999-cpu",
        "b10000-cpu",
        "b10000-vulkan",
        "0.9.0-cuda",
        "0.10.0-cuda",
        "0.32.2-metal",
        "b-cpu",
        huge,
    ];
    let expected = [
        "b10000-vulkan",
        "0.32.2-metal",
        "0.10.0-cuda",
        "0.9.0-cuda",
        huge,
        "b10000-cpu",
        "b9999-cpu",
        "b-cpu",
    ];
    assert_eq!(sorted(&found), expected);
}

#[test]
fn row_c4_gpu_before_cpu_then_newest_then_the_list() {
    assert_eq!(sorted(&["b2-cpu", "b1-openvino"])[0], "b1-openvino");
    assert_eq!(sorted(&["b1-cuda", "b2-vulkan"])[0], "b2-vulkan");
    let same = ["b1-openvino", "b1-sycl", "b1-vulkan", "b1-rocm", "b1-cuda", "b1-metal"];
    assert_eq!(sorted(&same), ["b1-metal", "b1-cuda", "b1-rocm", "b1-vulkan", "b1-sycl", "b1-openvino"]);
}

#[test]
fn versions() {
    for (older, newer) in [
        ("b9999", "b10000"),
        ("7.9.0", "7.10.0"),
        ("0.3", "0.3.1"),
        ("1.0-rc1", "1.0"),
        ("1.0rc2", "1.0rc10"),
        ("v0.5.0", "0.6.0"),
        ("b099", "b100"),
    ] {
        assert_eq!(compare_versions(older, newer), Ordering::Less, "{older} {newer}");
        assert_eq!(compare_versions(newer, older), Ordering::Greater, "{older} {newer}");
    }
    assert_eq!(compare_versions("b007", "7"), Ordering::Equal);
}

#[test]
fn the_pin_wins_and_a_damaged_install_is_no_default() {
    let mut installs = vec![installed("b1-cpu"), installed("b2-vulkan"), installed("b3-cuda")];
    let default = |installs: &[Installed], pin: Option<&str>| {
        default_install(installs, pin.map(name).as_ref()).map(|install| install.name.to_string())
    };
    assert_eq!(default(&installs, None).as_deref(), Some("b3-cuda"));
    assert_eq!(default(&installs, Some("b1-cpu")).as_deref(), Some("b1-cpu"));
    assert_eq!(default(&installs, Some("b9-gone")).as_deref(), Some("b3-cuda"));
    installs[2].manifest = None;
    assert_eq!(default(&installs, None).as_deref(), Some("b2-vulkan"));
    assert_eq!(default(&[], None), None);
}

proptest! {
    /// The order is total: antisymmetric, transitive, and equal only for the same name.
    #[test]
    fn the_order_is_total(
        a in "[a-z0-9][a-z0-9._+-]{0,12}|b[0-9]{1,25}-(cpu|cuda|vulkan)",
        b in "[a-z0-9][a-z0-9._+-]{0,12}|b[0-9]{1,25}-(cpu|cuda|vulkan)",
        c in "[a-z0-9][a-z0-9._+-]{0,12}|b[0-9]{1,25}-(cpu|cuda|vulkan)",
    ) {
        let (a, b, c) = (name(&a), name(&b), name(&c));
        prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
        prop_assert_eq!(compare(&a, &b) == Ordering::Equal, a == b);
        if compare(&a, &b).is_le() && compare(&b, &c).is_le() {
            prop_assert!(compare(&a, &c).is_le());
        }
    }

    /// Build numbers order as numbers do.
    #[test]
    fn builds_order_as_numbers(a: u64, b: u64) {
        prop_assert_eq!(compare_versions(&format!("b{a}"), &format!("b{b}")), a.cmp(&b));
    }
}
