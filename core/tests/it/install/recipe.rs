//! Recipes and release listings.

use super::plan::{recipe, request};
use crate::host::linux;
use superfluid_core::install::recipe::{AssetName, Role};
use superfluid_core::install::{Recipe, Request, Trust, plan};
use superfluid_core::runtime::RuntimeId;

#[test]
fn the_recipe_is_whole() {
    let recipe = recipe();
    assert_eq!((recipe.version.as_str(), recipe.assets.len(), recipe.trust), ("b11284", 16, Trust::Recipe));
    for asset in &recipe.assets {
        // What a name says is what the recipe says, so that names are read right.
        let named = AssetName::parse(&asset.name).unwrap();
        assert_eq!(
            (&named.platform, &named.backend, named.role),
            (&asset.platform, &asset.backend, asset.role)
        );
        assert_eq!(named.version, recipe.version);
    }
    for asset in recipe.assets.iter().filter(|asset| asset.role == Role::Runtime && asset.family() == "cuda")
    {
        let companion = recipe.assets.iter().find(|other| {
            other.role == Role::CudaRuntime
                && other.backend == asset.backend
                && other.platform == asset.platform
        });
        assert!(companion.is_some(), "{}", asset.name);
    }
}

#[test]
fn the_runtime_that_is_built_in_is_not_installed() {
    let refusal = Recipe::of(RuntimeId::Mock).unwrap_err();
    assert_eq!(refusal.code, "no_recipe");
    assert!(refusal.message.contains("mock") && !refusal.hints.is_empty());
}

#[test]
fn case_x07_a_recipe_cannot_name_a_path() {
    let good = serde_json::to_value(recipe()).unwrap();
    let with = |pointer: &str, value: serde_json::Value| {
        let mut json = good.clone();
        *json.pointer_mut(pointer).unwrap() = value;
        Recipe::parse(&json.to_string()).unwrap_err().code
    };
    assert_eq!(with("/assets/0/name", "a/../../b".into()), "bad_install_name");
    assert_eq!(with("/assets/0/backend", "../x".into()), "bad_install_name");
    assert_eq!(with("/version", "../b1".into()), "bad_version");
    assert_eq!(with("/url_template", "http://x/{version}/{name}".into()), "bad_recipe");
    assert_eq!(with("/assets/1/name", good["assets"][0]["name"].clone()), "bad_recipe");
    assert_eq!(with("/assets/0/sha256", "00".into()), "bad_sha256");
    assert_eq!(with("/assets/0/size", 0.into()), "bad_recipe");
}

#[test]
fn a_release_listing_becomes_a_recipe() {
    let digest = format!("sha256:{}", "ab".repeat(32));
    let listing = serde_json::json!({
        "tag_name": "b11292", "published_at": "2026-10-01T02:03:04Z", "unknown": 1,
        "assets": [
            {"name": "llama-b11292-bin-ubuntu-x64.tar.gz", "size": 5, "digest": digest, "id": 3},
            {"name": "llama-b11292-bin-ubuntu-vulkan-x64.tar.gz", "size": 5},
            {"name": "llama-b11292-bin-win-cpu-x64.zip", "size": 5, "digest": digest},
            {"name": "../evil.tar.gz", "size": 5, "digest": digest},
        ],
    })
    .to_string();
    let other = recipe().with_listing("b11292", &listing).unwrap();
    assert_eq!((other.assets.len(), other.trust), (1, Trust::ReleasePage));
    let asked = Request { version: Some("b11292".into()), untested: true, ..request() };
    let planning = plan::plan(&asked, &linux(&[]), &other).unwrap();
    let asset = &planning.plans[0].assets[0];
    assert_eq!(planning.plans[0].name.as_str(), "b11292-cpu");
    assert_eq!(
        (asset.trust, asset.sha256.as_deref()),
        (Some(Trust::ReleasePage), Some("ab".repeat(32).as_str()))
    );
    // The release page's word alone never makes a build a tested one.
    let tested = Request { untested: false, ..asked };
    assert_eq!(plan::plan(&tested, &linux(&[]), &other).unwrap_err().code, "untested_version");

    assert_eq!(recipe().with_listing("b11293", &listing).unwrap_err().code, "bad_listing");
    assert_eq!(recipe().with_listing("b11292", "<html>").unwrap_err().code, "bad_listing");
    let empty = r#"{"tag_name":"b1","assets":[]}"#;
    assert_eq!(recipe().with_listing("b1", empty).unwrap_err().code, "bad_listing");
}
