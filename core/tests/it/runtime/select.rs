//! `--runtime`.

use superfluid_core::install::InstallName;
use superfluid_core::runtime::{Choice, RuntimeId, Selectors};

fn choose(selectors: &[&str], names: &[&str]) -> Choice {
    Selectors::parse(selectors.iter().copied()).unwrap().choose(names)
}

fn only(id: RuntimeId) -> Choice {
    Choice::Runtime(id, None)
}

#[test]
fn row_f1_for_one_before_for_all_and_the_later_wins() {
    let (llama, mlx, base) = (only(RuntimeId::Llamacpp), only(RuntimeId::Mlx), only(RuntimeId::Basert));
    for (selectors, expected) in [
        (vec![], &Choice::Auto),
        (vec!["auto"], &Choice::Auto),
        (vec!["llamacpp"], &llama),
        (vec!["llamacpp", "mlx"], &mlx),
        (vec!["llamacpp", "auto"], &Choice::Auto),
        (vec!["a.gguf=mlx", "llamacpp"], &mlx),
        (vec!["llamacpp", "a.gguf=mlx", "basert"], &mlx),
        (vec!["a.gguf=mlx", "a.gguf=native"], &base),
        (vec!["b.gguf=mlx", "llamacpp"], &llama),
        (vec!["mlx", "a.gguf=auto"], &Choice::Auto),
    ] {
        assert_eq!(&choose(&selectors, &["a.gguf", "a"]), expected, "{selectors:?}");
    }
    assert_eq!(choose(&["a=mlx"], &["a.gguf", "a"]), mlx, "the served name works too");
}

#[test]
fn case_w06_ids_aliases_and_installs() {
    let install = |id, name: &str| Choice::Runtime(id, Some(InstallName::new(name).unwrap()));
    for (text, expected) in [
        ("llama.cpp@b11284-cpu", install(RuntimeId::Llamacpp, "b11284-cpu")),
        ("llama-cpp", only(RuntimeId::Llamacpp)),
        ("LlamaCpp", only(RuntimeId::Llamacpp)),
        ("AUTO", Choice::Auto),
        ("native", only(RuntimeId::Basert)),
        ("mock", only(RuntimeId::Mock)),
    ] {
        assert_eq!(Choice::parse(text).unwrap(), expected, "{text}");
    }
    assert_eq!(choose(&["a=b=llamacpp"], &["a=b"]), only(RuntimeId::Llamacpp));
    for (text, code) in [
        ("", "no_such_runtime"),
        ("llama", "no_such_runtime"),
        ("llamacpp@", "bad_install_name"),
        ("llamacpp@..", "bad_install_name"),
        ("llamacpp@../../x", "bad_install_name"),
        ("llamacpp@current", "bad_install_name"),
        ("mock@x", "no_such_install"),
        ("=llamacpp", "bad_selector"),
        ("a.gguf=", "no_such_runtime"),
    ] {
        assert_eq!(Selectors::parse([text]).unwrap_err().code, code, "{text:?}");
    }
}

#[test]
fn a_selector_for_no_model_served_is_refused() {
    let selectors = Selectors::parse(["a.gguf=mlx", "llamacpp"]).unwrap();
    assert_eq!(selectors.check(&["a.gguf"]), Ok(()));
    let refusal = selectors.check(&["b.gguf", "c.gguf"]).unwrap_err();
    assert!(refusal.message.contains("a.gguf") && refusal.hints[0].contains("b.gguf, c.gguf"));
}
