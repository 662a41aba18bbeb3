//! The places of a worker, against the obvious reading of the specification: first match wins.

use proptest::prelude::*;
use std::collections::BTreeMap;
use superfluid_core::install::{InstallName, Installed, Manifest};
use superfluid_core::runtime::resolve::paths;
use superfluid_core::runtime::{
    Choice, Place, Resolution, ResolveFacts, RuntimeId, Selectors, Stat, resolve,
};

const INSTALLS: [&str; 3] = ["b1-cpu", "b2-cpu", "b2-vulkan"];

fn installed(name: &str) -> Installed {
    let manifest = Manifest::parse(r#"{"version":"x","backend":"cpu","sources":[]}"#, "x").unwrap();
    Installed { name: InstallName::new(name).unwrap(), manifest: Some(manifest) }
}

prop_compose! {
    fn worlds()(
        variable in prop::option::of(prop_oneof![Just(""), Just("/own/worker"), Just("own")]),
        variable_stat in prop_oneof![
            Just(Stat::Executable), Just(Stat::File), Just(Stat::Folder), Just(Stat::Missing),
            Just(Stat::Unclear("denied".into())),
        ],
        own_library: bool,
        linked: bool,
        has in prop::collection::vec(any::<bool>(), 3),
        works in prop::collection::vec(any::<bool>(), 3),
        beside: bool,
        libexec: bool,
        workerd: bool,
        resolved: bool,
    ) -> ResolveFacts {
        let installs: Vec<Installed> =
            INSTALLS.iter().zip(&has).filter(|(_, has)| **has).map(|(name, _)| installed(name)).collect();
        let mut facts = ResolveFacts {
            variable: variable.map(str::to_owned),
            own_library,
            basert_lib: None,
            current_dir: "/work".into(),
            exe: "/opt/sf/bin/superfluid".into(),
            exe_real: resolved.then(|| "/opt/sf/bin/superfluid".into()),
            home: "/home/u/.superfluid".into(),
            linked: if linked { vec![RuntimeId::Llamacpp, RuntimeId::Mock] } else { vec![RuntimeId::Mock] },
            current: None,
            pinned: None,
            installs,
            stats: BTreeMap::new(),
        };
        for path in paths(RuntimeId::Llamacpp, &facts) {
            let there = match &path {
                path if path.contains("libexec") => libexec,
                path if path.ends_with("superfluid-workerd") => workerd,
                path if path.ends_with("/bin/superfluid-worker-llamacpp") && path.starts_with("/opt") => beside,
                path => INSTALLS.iter().zip(&works).any(|(name, works)| *works && path.contains(name)),
            };
            let stat = if path.contains("own") { variable_stat.clone() } else if there { Stat::Executable } else { Stat::Missing };
            facts.stats.insert(path, stat);
        }
        facts
    }
}

proptest! {
    #[test]
    fn the_first_place_that_matches_wins(facts in worlds()) {
        let at = |path: &str| facts.stats.get(path) == Some(&Stat::Executable);
        let beside = at("/opt/sf/bin/superfluid-worker-llamacpp");
        let linked = facts.linked.contains(&RuntimeId::Llamacpp) && at("/opt/sf/bin/superfluid-workerd");
        let libraries = facts.own_library || !facts.installs.is_empty();
        match (resolve(RuntimeId::Llamacpp, None, &facts), facts.variable.as_deref()) {
            (Ok(Resolution::Found(found)), Some(_)) => prop_assert_eq!(found.place, Place::Variable),
            (Err(refusal), Some(_)) => {
                prop_assert!(refusal.message.contains("SUPERFLUID_WORKER_LLAMACPP"), "{}", refusal.message);
            }
            (Ok(Resolution::NotInstalled { .. }), Some(_)) => prop_assert!(false, "the variable was ignored"),
            (Ok(Resolution::Found(found)), None) => {
                prop_assert!(at(&found.program), "{} is not there", found.program);
                match found.place {
                    Place::Variable => prop_assert!(false, "no variable is set"),
                    Place::Linked => prop_assert!(linked),
                    Place::Beside => prop_assert!(beside && libraries && !linked),
                    Place::Installed => prop_assert!(!beside && !linked && !facts.installs.is_empty()),
                }
            }
            (Ok(Resolution::NotInstalled { refusal, .. }), None) => {
                prop_assert!(!linked && (facts.installs.is_empty() || !beside));
                prop_assert!(!refusal.hints.is_empty(), "there is one command to run");
            }
            (Err(refusal), None) => prop_assert!(!refusal.hints.is_empty(), "{}", refusal.message),
        }
    }

    /// `--runtime <model>=<id>` before `--runtime <id>`, and the later of each.
    #[test]
    fn the_later_selector_wins(given in prop::collection::vec((any::<bool>(), 0_usize..4), 0..6)) {
        let ids = ["llamacpp", "mlx", "basert", "auto"];
        let texts: Vec<String> = given
            .iter()
            .map(|(one, id)| if *one { format!("a=b.gguf={}", ids[*id]) } else { ids[*id].to_owned() })
            .collect();
        let selectors = Selectors::parse(texts.iter().map(String::as_str)).unwrap();
        let last = |one: bool| given.iter().rev().find(|(is, _)| *is == one).map(|(_, id)| ids[*id]);
        let of = |id: Option<&str>| Choice::parse(id.unwrap_or("auto")).unwrap();
        prop_assert_eq!(selectors.choose(&["a=b.gguf"]), of(last(true).or(last(false))));
        prop_assert_eq!(selectors.choose(&["other.gguf"]), of(last(false)));
    }
}
