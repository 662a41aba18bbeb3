//! What a Mac installs for MLX, told on any machine; and what pip is run with.

use crate::host::facts;
use superfluid_core::Refusal;
use superfluid_core::host::{Answer, Arch, HostFacts, Os};
use superfluid_core::install::machine::{Entry, EntryKind, Listing};
use superfluid_core::install::pip::{self, Variable, environment};
use superfluid_core::install::recipe::Role;
use superfluid_core::install::renew::{self, Update};
use superfluid_core::install::{
    Index, InstallName, Manifest, Packages, Plan, Planning, Recipe, Request, Source, Trust, plan,
};
use superfluid_core::runtime::RuntimeId;

pub(crate) fn mac() -> HostFacts {
    facts(Os::Macos, Arch::Arm64, &[])
}

pub(crate) fn recipe() -> Recipe {
    Recipe::of(RuntimeId::Mlx).expect("a recipe")
}

fn request() -> Request {
    Request::new(RuntimeId::Mlx)
}

fn planned(request: &Request, facts: &HostFacts) -> Result<Planning, Refusal> {
    // No listing is ever asked for: nothing unpinned is installed.
    assert_eq!(plan::wants_listing(request, &recipe()).unwrap_or(None), None);
    plan::plan(request, facts, &recipe())
}

fn refused(request: &Request, facts: &HostFacts) -> Refusal {
    planned(request, facts).expect_err("it is refused")
}

fn only(mut planning: Planning) -> Plan {
    assert_eq!(planning.plans.len(), 1, "one plan, no fallback: {planning:?}");
    planning.plans.remove(0)
}

#[test]
fn row_d4_a_mac_gets_a_python_and_every_wheel_by_its_digest() {
    let planning = planned(&request(), &mac()).expect("Apple silicon");
    let [candidate] = &planning.candidates[..] else { panic!("one candidate") };
    assert_eq!((candidate.backend.as_str(), candidate.plan), ("metal", Some(0)));
    assert_eq!(candidate.reason, "Apple silicon");
    let plan = only(planning);
    assert_eq!(
        (plan.name.as_str(), plan.version.as_str(), plan.backend.as_str()),
        ("0.32.2-metal", "0.32.2", "metal")
    );
    let [python] = &plan.assets[..] else { panic!("one archive") };
    assert_eq!(python.name, "cpython-3.12.14+20260929-aarch64-apple-darwin-install_only_stripped.tar.gz");
    let Source::Url { url } = &python.source else { panic!("from its own project") };
    assert!(
        url.ends_with(
            "/20260929/cpython-3.12.14%2B20260929-aarch64-apple-darwin-install_only_stripped.tar.gz"
        )
    );
    assert_eq!((python.size, python.trust), (Some(25_017_608), Some(Trust::Recipe)));
    let packages = plan.packages.expect("an environment");
    assert_eq!(
        (packages.index.clone(), packages.wheels.len(), packages.size()),
        (Index::Default, 34, 85_344_590)
    );
    let requirements = packages.requirements();
    for line in requirements.lines() {
        let (what, digest) = line.split_once(" --hash=sha256:").expect("every line has a digest");
        assert!(what.contains("==") && digest.len() == 64, "{line}");
    }
    for wanted in ["mlx==0.32.2 ", "mlx_metal==0.32.2 ", "mlx_lm==0.31.3 "] {
        assert!(requirements.lines().any(|line| line.starts_with(wanted)), "{wanted}");
    }
}

#[test]
fn the_recipe_is_for_one_machine_and_one_python() {
    let recipe = recipe();
    assert!(recipe.assets.iter().all(|asset| asset.role == Role::Python && asset.platform == "macos-arm64"));
    for wheel in &recipe.wheels {
        let fits =
            ["-none-any.whl", "_arm64.whl", "_universal2.whl"].iter().any(|end| wheel.file.ends_with(end));
        let python = ["-py3-", "-py2.py3-", "-cp312-", "-cp310-abi3-", "-cp38-abi3-"];
        assert!(fits && python.iter().any(|tag| wheel.file.contains(tag)), "{}", wheel.file);
    }
}

#[test]
fn a_wheel_cannot_put_anything_else_on_its_line() {
    let good = serde_json::to_value(recipe()).expect("JSON");
    for (field, value) in [
        ("file", "mlx-0.32.2 --index-url=x-py3-none-any.whl"),
        ("file", "../mlx-0.32.2-py3-none-any.whl"),
        ("file", "mlx.whl"),
        ("file", "mlx-0.32.2-py3-none-any.tar.gz"),
        ("sha256", "00"),
        ("sha256", ""),
    ] {
        let mut json = good.clone();
        json["wheels"][0][field] = value.into();
        let refusal = Recipe::parse(&json.to_string()).expect_err(value);
        assert!(["bad_wheel", "bad_sha256"].contains(&refusal.code.as_str()), "{value}: {refusal:?}");
    }
}

#[test]
fn row_d4_every_other_machine_is_refused_with_its_reason() {
    let own = Request { from: Some("/wheels".into()), ..request() };
    let rosetta =
        [("hw.optional.arm64", Answer::Ran { code: Some(0), stdout: "1\n".into(), stderr: String::new() })];
    let silent = [("hw.optional.arm64", Answer::TimedOut), ("sysctl.proc_translated", Answer::TimedOut)];
    for (facts, part) in [
        (facts(Os::Linux, Arch::X64, &[]), "linux-x64"),
        (facts(Os::Linux, Arch::Arm64, &[]), "linux-arm64"),
        (facts(Os::Macos, Arch::X64, &[]), "macos-x64"),
        (facts(Os::Macos, Arch::X64, &silent), "could not be found out"),
    ] {
        for request in [&request(), &own] {
            let refusal = refused(request, &facts);
            assert_eq!(refusal.code, "unsupported_machine");
            assert!(
                refusal.message.contains("Apple silicon") && refusal.message.contains(part),
                "{refusal:?}"
            );
            assert!(refusal.hints[0].contains("llamacpp"), "{:?}", refusal.hints);
        }
    }
    // Case B-09: the hardware decides, not what this program was built for.
    only(planned(&request(), &facts(Os::Macos, Arch::X64, &rosetta)).expect("Apple silicon under Rosetta"));
}

#[test]
fn what_is_not_pinned_is_not_installed() {
    let with = |change: fn(&mut Request)| {
        let mut asked = request();
        change(&mut asked);
        refused(&asked, &mac())
    };
    let other = with(|asked| asked.version = Some("0.33.0".into()));
    assert_eq!(other.code, "untested_version");
    let untested = with(|asked| (asked.version, asked.untested) = (Some("0.33.0".into()), true));
    assert_eq!(untested.code, "no_pin");
    assert_eq!(untested.message, "no wheels are pinned for mlx 0.33.0, only for 0.32.2");
    assert_eq!(with(|asked| asked.backend = Some("cpu".into())).code, "no_build");
    assert_eq!(with(|asked| asked.sha256 = Some("a".repeat(64))).code, "sha256_without_archive");
    let tested = Request { version: Some("0.32.2".into()), backend: Some("metal".into()), ..request() };
    only(planned(&tested, &mac()).expect("what is tested needs no flag"));
}

#[test]
fn from_names_another_package_index_and_nothing_else_changes() {
    let index = |from: &str| {
        let plan = only(planned(&Request { from: Some(from.into()), ..request() }, &mac()).expect(from));
        assert_eq!(plan.assets, only(planned(&request(), &mac()).expect("plain")).assets);
        plan.packages.expect("an environment").index
    };
    assert_eq!(index("/wheels"), Index::Folder { path: "/wheels".into() });
    let url = "https://mirror.example/simple/".to_string();
    assert_eq!(index(&url), Index::Url { url });
    for bad in ["http://mirror.example/simple", "https://me:secret@mirror.example/", "ftp://x", ""] {
        let refusal = refused(&Request { from: Some(bad.into()), ..request() }, &mac());
        assert_eq!(refusal.code, "bad_source");
        assert!(!refusal.message.contains("secret"), "{}", refusal.message);
    }
}

#[test]
fn row_d5_pip_is_run_with_the_flags_of_the_specification() {
    let mut packages = only(planned(&request(), &mac()).expect("a plan")).packages.expect("an environment");
    let args = |packages: &Packages| pip::arguments(packages, ".s/requirements.txt", ".s/tree/env");
    let plain = args(&packages);
    for flag in ["--require-hashes", "--no-deps", "--only-binary=:all:", "--no-input", "--no-cache-dir"] {
        assert!(plain.iter().any(|arg| arg == flag), "{flag}: {plain:?}");
    }
    assert_eq!(plain[0], "-I", "the interpreter is isolated");
    assert!(!plain.iter().any(|arg| arg.contains("index") || arg.contains("find-links")), "{plain:?}");
    packages.index = Index::Url { url: "https://mirror.example/simple/".into() };
    assert!(args(&packages).ends_with(&["--index-url".into(), "https://mirror.example/simple/".into()]));
    packages.index = Index::Folder { path: "/a b/ü".into() };
    let folder = args(&packages);
    assert!(folder.ends_with(&[
        "--index-url".into(),
        "file:///a%20b/%C3%BC".into(),
        "--find-links".into(),
        "/a b/ü".into()
    ]));
}

#[test]
fn case_i16_nothing_of_the_users_python_reaches_pip_but_its_network_settings() {
    let own = [
        ("PIP_USER", "1"),
        ("PIP_TARGET", "/evil"),
        ("PIP_PREFIX", "/evil"),
        ("PIP_REQUIRE_VIRTUALENV", "1"),
        ("PIP_INDEX_URL", "https://evil.example/"),
        ("PIP_EXTRA_INDEX_URL", "https://evil.example/"),
        ("PIP_FIND_LINKS", "/evil"),
        ("PIP_CONFIG_FILE", "/home/me/pip.conf"),
        ("PYTHONPATH", "/evil"),
        ("PYTHONHOME", "/evil"),
        ("PYTHONSTARTUP", "/evil.py"),
        ("LD_PRELOAD", "/evil.so"),
        ("DYLD_INSERT_LIBRARIES", "/evil.dylib"),
        ("GITHUB_TOKEN", "secret"),
        ("TMPDIR", "/tmp"),
        ("PIP_PROXY", "http://proxy.example:1"),
        ("PIP_CERT", "/ca.pem"),
        ("PIP_CLIENT_CERT", "/me.pem"),
        ("PIP_TRUSTED_HOST", "mirror.example"),
        ("PIP_TIMEOUT", "9"),
        ("PIP_RETRIES", "2"),
        ("HTTPS_PROXY", "http://proxy.example:2"),
        ("no_proxy", "localhost"),
        ("SSL_CERT_FILE", "/other.pem"),
        ("HOME", "/home/me"),
    ];
    let look = |own: &'static [(&str, &str)]| {
        move |name: &str| own.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_string())
    };
    let made = environment(&pip::variables(".s/tmp"), |name| {
        own.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_string())
    });
    let names: Vec<&str> = made.iter().map(|(name, _)| name.as_str()).collect();
    let kept = [
        "PIP_CERT",
        "PIP_CLIENT_CERT",
        "PIP_PROXY",
        "PIP_TRUSTED_HOST",
        "PIP_TIMEOUT",
        "PIP_RETRIES",
        "HTTPS_PROXY",
        "no_proxy",
        "SSL_CERT_FILE",
        "HOME",
        "PIP_CONFIG_FILE",
        "TMPDIR",
    ];
    assert_eq!(names, kept);
    let value = |made: &[(String, String)], wanted: &str| {
        made.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone())
    };
    assert_eq!(value(&made, "PIP_CONFIG_FILE").as_deref(), Some("/dev/null"));
    assert_eq!(value(&made, "TMPDIR").as_deref(), Some(".s/tmp"));
    assert_eq!(value(&made, "PIP_CERT").as_deref(), Some("/ca.pem"), "the user's own word for pip wins");
    let inspected = environment(&pip::variables(".s/tmp"), look(&[("SSL_CERT_FILE", "/other.pem")]));
    assert_eq!(value(&inspected, "PIP_CERT").as_deref(), Some("/other.pem"));
    assert_eq!(environment(&pip::variables("t"), look(&[])).len(), 2);
    // An effect can be recorded without what a proxy's address may hold.
    assert!(
        pip::variables("t")
            .iter()
            .all(|variable| !matches!(variable, Variable::Set { value, .. } if value.contains("proxy")))
    );
}

#[test]
fn a_repair_asks_for_the_same_wheels_from_the_same_index() {
    let from = Request { from: Some("/wheels".into()), ..request() };
    for asked in [&request(), &from] {
        let mut plan = only(planned(asked, &mac()).expect("a plan"));
        // One pin of a recipe before this one.
        let wheels = plan.packages.as_mut().map(|packages| &mut packages.wheels).expect("an environment");
        wheels[0].sha256 = "b".repeat(64);
        let manifest =
            Manifest::of(&plan, &[(25_017_608, plan.assets[0].sha256.clone().expect("pinned"))], "0", 0);
        assert_eq!(manifest.sources.len(), 35);
        let entry = Entry {
            name: plan.name.to_string(),
            kind: EntryKind::Dir,
            manifest: Some(manifest.to_json()),
            worker: true,
        };
        let listing = Listing { entries: vec![entry], ..Listing::default() };
        let again = only(renew::repair(None, &listing, &mac(), &recipe()).expect("it can be repaired"));
        assert_eq!((again.name.clone(), again.assets.clone()), (plan.name, plan.assets));
        assert_eq!(again.packages, plan.packages);
        let Ok(Update::Newest { default, .. }) = renew::update(&listing, &mac(), &recipe()) else { panic!() };
        assert_eq!(default, InstallName::new("0.32.2-metal").expect("a name"));
    }
}
