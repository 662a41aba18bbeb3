//! Where a worker is found.

use std::collections::BTreeMap;
use superfluid_core::install::{InstallName, Installed, Manifest};
use superfluid_core::runtime::resolve::{adapter, paths};
use superfluid_core::runtime::{Place, Resolution, ResolveFacts, Resolved, RuntimeId, Stat, resolve};

const BESIDE: &str = "/opt/sf/bin/superfluid-worker-llamacpp";
const LIBEXEC: &str = "/opt/sf/libexec/superfluid/superfluid-worker-llamacpp";

fn name(text: &str) -> InstallName {
    InstallName::new(text).unwrap()
}

fn bare() -> ResolveFacts {
    ResolveFacts {
        variable: None,
        own_library: false,
        basert_lib: None,
        current_dir: "/work".into(),
        exe: "/home/u/bin/sf2".into(),
        exe_real: Some("/opt/sf/bin/superfluid".into()),
        home: "/home/u/.superfluid".into(),
        linked: vec![RuntimeId::Mock],
        installs: vec![],
        current: None,
        pinned: None,
        stats: BTreeMap::new(),
    }
}

fn with_install(mut facts: ResolveFacts, install: &str) -> ResolveFacts {
    let manifest = Manifest::parse(r#"{"version":"x","backend":"cpu","sources":[]}"#, "x").unwrap();
    facts.installs.push(Installed { name: name(install), manifest: Some(manifest) });
    let worker = format!("/home/u/.superfluid/runtimes/llamacpp/{install}/bin/superfluid-worker-llamacpp");
    with_file(facts, &worker, Stat::Executable)
}

fn with_file(mut facts: ResolveFacts, path: &str, stat: Stat) -> ResolveFacts {
    facts.stats.insert(path.into(), stat);
    assert!(paths(RuntimeId::Llamacpp, &facts).contains(&path.to_string()) || facts.variable.is_none());
    facts
}

fn found(facts: &ResolveFacts) -> Resolved {
    match resolve(RuntimeId::Llamacpp, None, facts).unwrap() {
        Resolution::Found(found) => found,
        Resolution::NotInstalled { refusal, .. } => panic!("{}", refusal.message),
    }
}

fn lib(install: &str) -> Option<String> {
    Some(format!("/home/u/.superfluid/runtimes/llamacpp/{install}/lib"))
}

#[test]
fn row_e1_the_variable_comes_first() {
    let mut facts = with_file(with_install(bare(), "b1-cpu"), BESIDE, Stat::Executable);
    facts.variable = Some("/x/my worker".into());
    let facts = with_file(facts, "/x/my worker", Stat::Executable);
    let worker = found(&facts);
    assert_eq!((worker.program.as_str(), worker.place), ("/x/my worker", Place::Variable));
    assert_eq!(worker.lib_dir, lib("b1-cpu"));
    assert_eq!(worker.args("serve"), ["serve", "--lib", worker.lib_dir.as_deref().unwrap()]);
    assert_eq!(worker.args("version"), ["version"]);

    let none = ResolveFacts { installs: vec![], ..facts };
    assert_eq!(found(&none).args("check"), ["check"], "its libraries are its own affair");
}

#[test]
fn case_w10_a_variable_that_names_no_program_is_an_error() {
    for (value, stat, why) in [
        ("/no/such", Stat::Missing, "does not exist"),
        ("/etc/hostname", Stat::File, "is not executable"),
        ("/tmp", Stat::Folder, "is a folder"),
        ("", Stat::Executable, "is set to nothing"),
        ("a b/worker", Stat::Missing, "/work/a b/worker does not exist"),
        ("/x", Stat::Unclear("permission denied".into()), "permission denied"),
    ] {
        let mut facts = with_file(with_install(bare(), "b1-cpu"), BESIDE, Stat::Executable);
        facts.variable = Some(value.into());
        facts.stats.insert(value.into(), stat);
        let refusal = resolve(RuntimeId::Llamacpp, None, &facts).unwrap_err();
        assert_eq!(refusal.code, "bad_worker_variable");
        assert!(refusal.message.contains("SUPERFLUID_WORKER_LLAMACPP"), "{}", refusal.message);
        assert!(refusal.message.contains(why), "{value:?}: {}", refusal.message);
    }
    let mut relative = ResolveFacts { variable: Some("target/worker".into()), ..bare() };
    relative = with_file(relative, "/work/target/worker", Stat::Executable);
    assert_eq!(found(&relative).program, "/work/target/worker");
    assert_eq!(RuntimeId::parse("llama-cpp").unwrap().worker_variable(), "SUPERFLUID_WORKER_LLAMACPP");
}

#[test]
fn row_e2_a_linked_runtime() {
    let facts = with_file(bare(), "/opt/sf/bin/superfluid-workerd", Stat::Executable);
    let Ok(Resolution::Found(mock)) = resolve(RuntimeId::Mock, None, &facts) else { panic!() };
    assert_eq!((mock.program.as_str(), mock.place), ("/opt/sf/bin/superfluid-workerd", Place::Linked));
    assert_eq!(mock.args("serve"), ["--engine", "mock", "serve"]);
    assert_eq!(resolve(RuntimeId::Mock, None, &bare()).unwrap_err().code, "broken_build");
}

#[test]
fn row_e3_beside_the_binary_with_an_installs_libraries() {
    let facts = with_file(bare(), BESIDE, Stat::Executable);
    let Ok(Resolution::NotInstalled { adapter, refusal }) = resolve(RuntimeId::Llamacpp, None, &facts) else {
        panic!()
    };
    assert_eq!(adapter.as_deref(), Some(BESIDE));
    assert!(refusal.message.contains("without its libraries"), "{}", refusal.message);
    assert_eq!(refusal.hints, ["superfluid runtime install llamacpp"]);

    let own = ResolveFacts { own_library: true, ..facts.clone() };
    assert_eq!((found(&own).place, found(&own).lib_dir), (Place::Beside, None));
    let both = with_install(with_install(facts, "b1-cpu"), "b1-vulkan");
    let worker = found(&both);
    assert_eq!(
        (worker.place, worker.install, worker.lib_dir),
        (Place::Beside, Some(name("b1-vulkan")), lib("b1-vulkan"))
    );
}

#[test]
fn case_w01_beside_the_real_binary_else_beside_the_link() {
    let real = with_install(with_file(bare(), BESIDE, Stat::Executable), "b1-cpu");
    assert_eq!(found(&real).program, BESIDE);
    let unresolved = ResolveFacts { exe_real: None, ..bare() };
    let unresolved = with_install(unresolved, "b1-cpu");
    let unresolved = with_file(unresolved, "/home/u/bin/superfluid-worker-llamacpp", Stat::Executable);
    assert_eq!(found(&unresolved).program, "/home/u/bin/superfluid-worker-llamacpp");
}

#[test]
fn row_e4_the_install_that_current_names() {
    let mut facts = with_install(with_install(bare(), "b1-cpu"), "b2-vulkan");
    assert_eq!(found(&facts).install, Some(name("b2-vulkan")), "ranking, while there is no link");
    facts.pinned = Some(name("b1-cpu"));
    assert_eq!(found(&facts).install, Some(name("b1-cpu")));
    facts.current = Some(name("b2-vulkan"));
    let worker = found(&facts);
    assert_eq!((worker.place, worker.lib_dir.clone()), (Place::Installed, lib("b2-vulkan")));
    assert_eq!(
        worker.program,
        "/home/u/.superfluid/runtimes/llamacpp/b2-vulkan/bin/superfluid-worker-llamacpp"
    );
    facts.current = Some(name("b9-gone"));
    assert_eq!(found(&facts).install, Some(name("b1-cpu")), "a link to nothing names nothing");
    facts.own_library = true;
    assert_eq!(found(&facts).lib_dir, None);
}

#[test]
fn a_damaged_install_is_named() {
    let mut facts = with_install(bare(), "b1-cpu");
    facts.stats.clear();
    let refusal = resolve(RuntimeId::Llamacpp, None, &facts).unwrap_err();
    assert_eq!(refusal.code, "damaged_install");
    assert_eq!(refusal.hints, ["superfluid runtime repair llamacpp b1-cpu"]);
}

/// Where this build installs none, the hint does not name a command that would be refused.
#[test]
fn a_runtime_that_is_not_managed_is_not_advised_to_be_installed() {
    let bare = ResolveFacts { linked: Vec::new(), ..bare() };
    let Ok(Resolution::NotInstalled { refusal, .. }) = resolve(RuntimeId::Mock, None, &bare) else {
        panic!()
    };
    assert_eq!(refusal.hints, ["serve with --runtime mock; there is nothing to install"]);
}

#[test]
fn case_w02_not_installed_lists_the_places_and_one_command() {
    let Ok(Resolution::NotInstalled { adapter: none, refusal }) = resolve(RuntimeId::Llamacpp, None, &bare())
    else {
        panic!()
    };
    assert_eq!((none, refusal.code.as_str()), (None, "not_installed"));
    for place in
        ["SUPERFLUID_WORKER_LLAMACPP", "(mock)", BESIDE, "/home/u/.superfluid/runtimes/llamacpp", LIBEXEC]
    {
        assert!(refusal.message.contains(place), "{place}: {}", refusal.message);
    }
    assert_eq!(refusal.hints, ["superfluid runtime install llamacpp"]);
    // Row E5: the release's adapter can only say "not installed" and install.
    let release = with_file(bare(), LIBEXEC, Stat::Executable);
    let Ok(Resolution::NotInstalled { adapter: some, .. }) = resolve(RuntimeId::Llamacpp, None, &release)
    else {
        panic!()
    };
    assert_eq!(some.as_deref(), Some(LIBEXEC));
    assert_eq!(
        adapter(RuntimeId::Llamacpp, &with_file(release, BESIDE, Stat::Executable)).as_deref(),
        Some(BESIDE)
    );
}

#[test]
fn row_e6_exactly_the_install_that_was_named() {
    let mut facts =
        with_file(with_install(with_install(bare(), "b1-cpu"), "b2-vulkan"), BESIDE, Stat::Executable);
    facts.own_library = true;
    let Ok(Resolution::Found(worker)) = resolve(RuntimeId::Llamacpp, Some(&name("b1-cpu")), &facts) else {
        panic!()
    };
    assert_eq!(
        (worker.place, worker.install, worker.lib_dir),
        (Place::Installed, Some(name("b1-cpu")), lib("b1-cpu"))
    );
    assert_eq!(worker.unset, ["SUPERFLUID_LLAMA_LIB"]);
    let refusal = resolve(RuntimeId::Llamacpp, Some(&name("nope")), &facts).unwrap_err();
    assert_eq!(
        (refusal.code.as_str(), refusal.hints[0].as_str()),
        ("no_such_install", "the installs are b2-vulkan, b1-cpu")
    );
    let none = resolve(RuntimeId::Llamacpp, Some(&name("nope")), &bare()).unwrap_err();
    assert_eq!(none.hints, ["superfluid runtime install llamacpp"]);
}
