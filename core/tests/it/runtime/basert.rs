//! A baseRT library of one's own, instead of an install.

use std::collections::BTreeMap;
use superfluid_core::Refusal;
use superfluid_core::install::{InstallName, Installed, Manifest};
use superfluid_core::runtime::resolve::{BASERT_LIB, NamedLibrary, paths};
use superfluid_core::runtime::{Place, Resolution, ResolveFacts, Resolved, RuntimeId, Stat, resolve};

const WORKER: &str = "/opt/sf/bin/superfluid-worker-basert";

/// Everything at `there` is a file, `WORKER` where it is named an executable one.
fn facts(named: Option<(&str, &str)>, there: &[&str]) -> ResolveFacts {
    let named = named.map(|(path, by)| NamedLibrary { path: path.into(), by: by.into() });
    let mut facts = ResolveFacts {
        variable: None,
        own_library: false,
        basert_lib: named,
        current_dir: "/work".into(),
        exe: "/opt/sf/bin/superfluid".into(),
        exe_real: None,
        home: "/home/u/.superfluid".into(),
        linked: vec![],
        installs: vec![],
        current: None,
        pinned: None,
        stats: BTreeMap::new(),
    };
    for path in there {
        let stat = if *path == WORKER { Stat::Executable } else { Stat::File };
        facts.stats.insert((*path).into(), stat);
    }
    for path in there {
        assert!(paths(RuntimeId::Basert, &facts).contains(&(*path).to_string()), "{path} is not looked at");
    }
    facts
}

fn found(facts: &ResolveFacts) -> Result<Resolved, Refusal> {
    match resolve(RuntimeId::Basert, None, facts)? {
        Resolution::Found(found) => Ok(found),
        Resolution::NotInstalled { refusal, .. } => panic!("it wants an install: {}", refusal.message),
    }
}

#[test]
fn row_d9_a_named_library_is_used_instead_of_an_install() {
    for (named, there, library) in [
        (("/b/libbaseRT.so", "--basert-lib"), "/b/libbaseRT.so", "/b/libbaseRT.so"),
        (("b/mine.so", BASERT_LIB), "/work/b/mine.so", "/work/b/mine.so"),
    ] {
        let one = found(&facts(Some(named), &[there, WORKER])).expect("a worker");
        assert_eq!((one.program.as_str(), one.place), (WORKER, Place::Beside));
        assert_eq!(one.args("serve"), ["serve", "--lib", library]);
    }
}

#[test]
fn row_d9_a_named_folder_is_searched_for_its_names_and_nothing_else() {
    for name in ["libbaseRT.dylib", "libbaseRT.so", "libbaseRT.0.dylib", "libbaseRT.so.0"] {
        let path = format!("/b/{name}");
        let mut facts = facts(Some(("/b", BASERT_LIB)), &[&path, WORKER]);
        facts.stats.insert("/b".into(), Stat::Folder);
        assert_eq!(found(&facts).expect("a worker").lib_dir, Some(path));
    }
    let mut empty = facts(Some(("/b", BASERT_LIB)), &[WORKER]);
    empty.stats.insert("/b".into(), Stat::Folder);
    let refusal = found(&empty).expect_err("nothing in it");
    assert_eq!(refusal.code, "bad_basert_lib");
    assert!(refusal.message.contains("BASERT_LIB names the folder /b"), "{}", refusal.message);
}

#[test]
fn row_d9_a_name_of_nothing_is_refused_not_passed_over() {
    let mut with_install = facts(Some(("/gone.so", "--basert-lib")), &[WORKER]);
    let manifest = Manifest::parse(r#"{"version":"0.3.0","backend":"cuda","sources":[]}"#, "x").expect("one");
    let name = InstallName::new("0.3.0-cuda").expect("a name");
    with_install.installs.push(Installed { name: name.clone(), manifest: Some(manifest) });
    let refusal = found(&with_install).expect_err("it is not there");
    assert_eq!(refusal.message, "--basert-lib names /gone.so, which does not exist");
    // An install that is named exactly is used exactly.
    let worker = "/home/u/.superfluid/runtimes/basert/0.3.0-cuda/bin/superfluid-worker-basert";
    with_install.stats.insert(worker.into(), Stat::Executable);
    match resolve(RuntimeId::Basert, Some(&name), &with_install).expect("it is there") {
        Resolution::Found(found) => {
            assert_eq!((found.program.as_str(), found.unset), (worker, vec![BASERT_LIB.to_string()]));
        }
        Resolution::NotInstalled { refusal, .. } => panic!("{}", refusal.message),
    }
}

#[test]
fn row_d9_a_library_without_a_worker_says_so_and_asks_for_no_install() {
    let refusal = found(&facts(Some(("/b.so", BASERT_LIB)), &["/b.so"])).expect_err("no worker");
    assert_eq!(refusal.code, "no_adapter");
    // Another runtime does not care.
    let other =
        resolve(RuntimeId::Llamacpp, None, &facts(Some(("/gone", BASERT_LIB)), &[])).expect("it looks");
    assert!(matches!(other, Resolution::NotInstalled { .. }));
}
