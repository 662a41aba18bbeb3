//! An install with Python is placed whole and works where it lies.

use super::{ARCHIVE, Mac, NAME, hex, with_index};
use std::fs;
use superfluid_core::install::{Index, InstallName, Source};
use superfluid_core::runtime::RuntimeId;
use superfluid_io_blocking::{Home, verify};

#[test]
fn row_d4_a_python_and_its_packages_become_an_install_that_runs_where_it_lies() {
    let mac = Mac::new();
    let (success, said) = mac.install(&mac.folder_plan(), &[]);
    assert!(success, "{said}");
    assert_eq!(mac.names(), [NAME, "current"]);
    let install = mac.dir.join(NAME);
    for path in ["python/bin/python3", "env/sf_one/__init__.py", "bin/superfluid-worker-mlx", "runtime.json"]
    {
        assert!(install.join(path).exists(), "{path}");
    }
    assert!(!install.join("env/bin").exists(), "launchers name a place that is gone");
    // Its worker ran while it was staged; it runs as well from where it was moved to.
    let checked = mac.check();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert!(String::from_utf8_lossy(&checked.stdout).contains("onetwo"));

    let manifest = fs::read_to_string(install.join("runtime.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    let sources = manifest["sources"].as_array().expect("sources");
    assert_eq!(sources.len(), 3);
    assert_eq!(sources[0]["sha256"], hex(&fs::read(&*ARCHIVE).expect("an archive")));
    for (source, name) in sources[1..].iter().zip(["sf_one", "sf_two"]) {
        let file = format!("{name}-1.0-py3-none-any.whl");
        assert_eq!((&source["name"], &source["trust"]), (&file.clone().into(), &"recipe".into()));
        assert_eq!(source["sha256"], hex(&fs::read(mac.wheels.join(file)).expect("a wheel")));
    }
    let home = Home::at(mac.path("a home")).expect("a home");
    let verified = verify::installs(RuntimeId::Mlx, Some(&InstallName::new(NAME).expect("a name")), &home);
    let verified = serde_json::to_value(verified.expect("verified")).expect("JSON");
    assert_eq!(verified[0]["state"], "unchanged", "{verified}");

    // The same again is there already, and asks nobody.
    let gone = with_index(mac.folder_plan(), Index::Folder { path: "/nowhere".into() });
    let (success, said) = mac.install(&gone, &[]);
    assert!(success, "{said}");
}

#[test]
fn an_index_laid_out_as_files_serves_as_well() {
    let mac = Mac::new();
    let index = mac.path("index/simple");
    for name in ["sf_one", "sf_two"] {
        let page = index.join(name.replace('_', "-"));
        fs::create_dir_all(&page).expect("a folder");
        let file = format!("{name}-1.0-py3-none-any.whl");
        fs::copy(mac.wheels.join(&file), page.join(&file)).expect("copied");
        fs::write(page.join("index.html"), format!("<a href=\"{file}\">{file}</a>")).expect("written");
    }
    let (success, said) = mac.install(&mac.plan(index.to_str().expect("text")), &[]);
    assert!(success, "{said}");
    assert!(mac.check().status.success());
}

#[test]
fn row_d5_a_wheel_of_another_digest_is_refused_and_leaves_nothing() {
    let mac = Mac::new();
    let plan = mac.folder_plan();
    mac.wheel(&mac.wheels, "sf_two", "something else");
    let (success, said) = mac.install(&plan, &[]);
    assert!(!success && said.contains("wrong_sha256") && said.contains("sf_two==1.0"), "{said}");
    let expected = &plan.packages.as_ref().expect("an environment").wheels[1].sha256;
    let got = hex(&fs::read(mac.wheels.join("sf_two-1.0-py3-none-any.whl")).expect("a wheel"));
    assert!(said.contains(expected) && said.contains(&got), "{said}");
}

#[test]
fn a_wheel_that_is_not_there_is_named() {
    let mac = Mac::new();
    let plan = mac.folder_plan();
    fs::remove_file(mac.wheels.join("sf_two-1.0-py3-none-any.whl")).expect("removed");
    let (success, said) = mac.install(&plan, &[]);
    assert!(!success && said.contains("no_package") && said.contains("sf_two==1.0"), "{said}");
}

#[test]
fn a_source_package_is_never_built() {
    let mac = Mac::new();
    let plan = mac.folder_plan();
    fs::remove_file(mac.wheels.join("sf_two-1.0-py3-none-any.whl")).expect("removed");
    fs::write(mac.wheels.join("sf_two-1.0.tar.gz"), "its setup.py would run").expect("written");
    let (success, said) = mac.install(&plan, &[]);
    assert!(!success && said.contains("no_package"), "{said}");
}

#[test]
fn a_python_that_does_not_run_is_refused_and_leaves_nothing() {
    let mac = Mac::new();
    let mut plan = mac.folder_plan();
    let broken = crate::tgz::tgz(&[
        crate::tgz::dir("python/"),
        crate::tgz::file("python/bin/python3", b"#!/nowhere/at/all\n", 0o755),
        crate::tgz::file("python/lib/x", b"x", 0o644),
    ]);
    let path = mac.path("broken.tar.gz");
    fs::write(&path, &broken).expect("written");
    plan.assets[0].source = Source::File { path: path.display().to_string() };
    (plan.assets[0].size, plan.assets[0].sha256) = (Some(broken.len() as u64), Some(hex(&broken)));
    let (success, said) = mac.install(&plan, &[]);
    assert!(!success && said.contains("python_failed") && said.contains("bin/python3"), "{said}");
}
