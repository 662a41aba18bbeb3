//! Names that meet a path.

use super::plan::{recipe, request};
use crate::host::linux;
use proptest::prelude::*;
use superfluid_core::install::{InstallName, Request, check, layout, plan};
use superfluid_core::runtime::RuntimeId;

#[test]
fn case_x07_names_and_versions_are_narrow() {
    for bad in
        ["../../x", "..", ".", "", "current", "pinned", ".hidden", "-x", "a/b", "a\\b", "a b", "a\0", "ä-cpu"]
    {
        assert_eq!(InstallName::new(bad).unwrap_err().code, "bad_install_name", "{bad:?}");
    }
    assert!(InstallName::new(&"a".repeat(101)).is_err());
    for good in ["b11284-vulkan", "0.3.1-cuda", "0.32.2-metal", "v0.5.0+local_1-cpu"] {
        assert_eq!(InstallName::new(good).unwrap().as_str(), good);
    }
    for bad in ["../b1", "b1/../../x", "", "-b1", ".b1", "b1..2", "b 1", "b1\n"] {
        let asked = Request { version: Some(bad.into()), untested: true, ..request() };
        assert_eq!(plan::plan(&asked, &linux(&[]), &recipe()).unwrap_err().code, "bad_version", "{bad:?}");
        assert_eq!(plan::wants_listing(&asked, &recipe()).unwrap_err().code, "bad_version");
        assert_eq!(recipe().listing_url(bad).unwrap_err().code, "bad_version");
    }
}

#[test]
fn row_c1_the_layout() {
    let (id, name) = (RuntimeId::Llamacpp, InstallName::new("b11284-cuda").unwrap());
    assert_eq!(layout::install(id, &name), "runtimes/llamacpp/b11284-cuda");
    assert_eq!(layout::worker(id, &name), "runtimes/llamacpp/b11284-cuda/bin/superfluid-worker-llamacpp");
    assert_eq!(layout::lib(id, &name), "runtimes/llamacpp/b11284-cuda/lib");
    assert_eq!(layout::manifest(id, &name), "runtimes/llamacpp/b11284-cuda/runtime.json");
    assert_eq!(layout::current(id), "runtimes/llamacpp/current");
    assert_eq!(layout::pinned(id), "runtimes/llamacpp/pinned");
    assert_eq!(layout::lock(id), "runtimes/llamacpp/.lock");
    assert_eq!(layout::named("b11284-cuda\n"), Some(name));
    assert_eq!(layout::named("../x\n"), None);
    assert_eq!(layout::named("a\nb\n"), None);
}

/// A file manager's, a network file system's, a user's own: none of them is swept.
#[test]
fn only_temporary_names_of_our_own_are_leftovers() {
    for ours in [".stage-7-a-0", ".aside-b1-cpu", ".trash-7-a-b1-cpu", ".new-current", ".new-pinned"] {
        assert!(layout::is_leftover(ours), "{ours}");
    }
    for theirs in
        [".lock", ".DS_Store", ".nfs000000000001", ".hidden", ".stage-", ".stage", ".newer", ".", "b1-cpu"]
    {
        assert!(!layout::is_leftover(theirs), "{theirs}");
    }
}

proptest! {
    /// A checked name is one plain path component that no temporary or reserved name equals.
    #[test]
    fn a_name_is_one_component(text in ".{0,120}|[a-z0-9./_+-]{0,20}") {
        if let Ok(name) = InstallName::new(&text) {
            prop_assert_eq!(name.as_str(), text.as_str());
            prop_assert!(!text.is_empty() && text.is_ascii() && !text.contains(['/', '\\', '\0', ' ']));
            prop_assert!(!layout::is_leftover(&text) && text != layout::CURRENT && text != layout::PINNED);
        }
        if check::version(&text).is_ok() {
            prop_assert!(InstallName::of(&text, "cpu").is_ok());
            prop_assert!(!text.contains("..") && !text.contains('/'));
        }
    }
}
