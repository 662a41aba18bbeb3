//! `superfluid runtimes` and `superfluid runtime …` as a user runs them.

use crate::command::{home, pack, superfluid};

#[test]
fn case_b11_a_dry_run_prints_the_plan_alone_and_writes_nothing() {
    let (_temp, home) = home();
    let args = ["runtime", "install", "llamacpp", "--backend", "cpu", "--dry-run"];
    let (first, second) = (superfluid(&home, &args), superfluid(&home, &args));
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""));
    assert_eq!(first.stdout, second.stdout);
    assert!(first.stdout.contains("b11284-cpu") && first.stdout.contains("sha256"), "{}", first.stdout);
    let json = superfluid(&home, &[&args[..], &["--json"]].concat()).stdout;
    let plan: serde_json::Value = serde_json::from_str(&json).expect("JSON alone on stdout");
    assert_eq!(plan["plans"][0]["name"], "b11284-cpu");
    assert!(!home.exists(), "it made {}", home.display());
}

#[test]
fn every_runtime_is_listed_before_anything_is_installed() {
    let (_temp, home) = home();
    let ran = superfluid(&home, &["runtimes", "--json"]);
    let states: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let ids: Vec<&str> =
        states.as_array().expect("a list").iter().filter_map(|state| state["id"].as_str()).collect();
    assert_eq!(ids, ["llamacpp", "mlx", "basert", "mock"]);
    assert!(superfluid(&home, &["runtimes"]).stdout.contains("superfluid runtime install llamacpp"));
    assert!(!home.exists(), "looking made {}", home.display());
}

#[test]
fn only_what_this_build_installs_is_advised_to_be_installed() {
    let (_temp, home) = home();
    let listed = superfluid(&home, &["runtimes"]).stdout;
    for id in ["llamacpp", "mlx", "basert"] {
        let plan = superfluid(&home, &["runtime", "install", id, "--backend", "cpu", "--dry-run"]);
        let advised = listed.contains(&format!("superfluid runtime install {id}"));
        assert_eq!(advised, !plan.stderr.contains("does not manage"), "{id}: {listed}{}", plan.stderr);
    }
}

#[test]
fn a_pin_that_names_nothing_is_shown_with_how_to_drop_it() {
    let (temp, home) = home();
    pack(temp.path(), "a.tar.gz", "x");
    let archive = temp.path().join("a.tar.gz").display().to_string();
    let args = ["runtime", "install", "llamacpp", "--from", &archive, "--backend", "cpu"];
    assert_eq!(superfluid(&home, &args).code, Some(0));
    assert!(!superfluid(&home, &["runtimes"]).stdout.contains("pinned"));
    std::fs::write(home.join("runtimes/llamacpp/pinned"), "b77-cpu\n").expect("a pin");
    let shown = superfluid(&home, &["runtimes"]).stdout;
    let advice = "superfluid runtime use llamacpp --auto";
    assert!(shown.contains("b77-cpu, which is not installed") && shown.contains(advice), "{shown}");
    assert_eq!(superfluid(&home, &["runtime", "use", "llamacpp", "--auto"]).code, Some(0));
    assert!(!superfluid(&home, &["runtimes"]).stdout.contains("b77-cpu"));
}

#[test]
fn removing_where_nothing_is_says_so() {
    let (_temp, home) = home();
    std::fs::create_dir_all(home.join("runtimes/llamacpp")).expect("a folder");
    let ran = superfluid(&home, &["runtime", "remove", "llamacpp"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "llamacpp has no install to remove\n"));
}

#[test]
fn case_x07_names_that_lead_elsewhere_are_usage_errors() {
    let (temp, home) = home();
    std::fs::write(temp.path().join("x"), "mine").expect("a file");
    for args in [
        &["runtime", "remove", "llamacpp", "../../x"][..],
        &["runtime", "remove", "llamacpp", "current"],
        &["runtime", "use", "llamacpp", ".."],
        &["runtime", "install", "llamacpp", "--version", "../b1", "--untested"],
        &["runtime", "install", "llamacpp", "--version", "b1/../../x", "--untested"],
        &["runtime", "install", "llamacpp", "--backend", "../x"],
        &["runtime", "install", "no-such-runtime"],
        &["runtime", "use", "llamacpp"],
        &["runtime", "use", "llamacpp", "b1-cpu", "--auto"],
    ] {
        let ran = superfluid(&home, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
    assert_eq!(std::fs::read_to_string(temp.path().join("x")).expect("still there"), "mine");
    assert!(!home.exists());
}

#[test]
fn case_x01_a_model_s_own_code_is_refused_before_anything_is_chosen() {
    let (temp, home) = home();
    let model = temp.path().join("own");
    std::fs::create_dir(&model).unwrap();
    std::fs::write(model.join("model.safetensors"), "").unwrap();
    std::fs::write(model.join("m.py"), "open('ran', 'w')").unwrap();
    for (file, text) in [
        ("config.json", r#"{"model_file":"m.py"}"#),
        ("tokenizer_config.json", r#"{"auto_map":{"AutoTokenizer":"m.T"}}"#),
    ] {
        std::fs::write(model.join("config.json"), "{}").unwrap();
        std::fs::write(model.join(file), text).unwrap();
        for args in [&["runtimes"][..], &["serve", "--offline"]] {
            let ran = superfluid(&home, &[args, &[model.to_str().unwrap()]].concat());
            assert_eq!(ran.code, Some(1), "{}", ran.stderr);
            assert!(
                ran.stderr.contains("brings code of its own") && ran.stderr.contains(file),
                "{}",
                ran.stderr
            );
        }
    }
}

#[test]
fn what_the_world_refuses_exits_1_with_hints_on_lines_of_their_own() {
    let (temp, home) = home();
    let gone = temp.path().join("gone.tar.gz").display().to_string();
    let junk = temp.path().join("junk.tar.gz");
    std::fs::write(&junk, "not an archive").expect("a file");
    let junk = junk.display().to_string();
    for (args, want) in [
        (
            &["runtime", "install", "llamacpp", "--from", &gone, "--version", "b1", "--untested"][..],
            "gone.tar.gz",
        ),
        (
            &["runtime", "install", "llamacpp", "--from", &junk, "--version", "b1", "--untested"],
            "junk.tar.gz",
        ),
        // case I-14: refused before any fetch.
        (
            &[
                "runtime",
                "install",
                "llamacpp",
                "--from",
                "https://127.0.0.1:1/x.tar.gz",
                "--version",
                "b1",
                "--untested",
            ],
            "SHA-256",
        ),
        (&["runtime", "install", "llamacpp", "--version", "b1"], "--untested"),
        (&["runtime", "remove", "llamacpp", "b1-cpu"], "b1-cpu"),
        (&["runtimes", &gone], "gone.tar.gz"),
    ] {
        let ran = superfluid(&home, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{args:?}: {}", ran.stderr);
        let error = ran.stderr.lines().position(|line| line.starts_with("error: ")).expect("an error");
        let lines: Vec<&str> = ran.stderr.lines().skip(error).collect();
        assert!(
            lines[1..].iter().all(|line| line.starts_with("  hint: ")) && lines.len() > 1,
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains(want), "{args:?}: {}", ran.stderr);
    }
}
