//! Installs that a daemon uses, and `superfluid runtime remove`.

use crate::command::{home, pack_worker, superfluid};
use crate::serve::gguf;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A worker that passes its check and, asked to serve, never answers.
pub(crate) const MUTE: &str = "[ \"$1\" = serve ] && exec 3>&1 && exec cat >/dev/null";

struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        // It may be gone.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A daemon on `model` that has found its worker.
fn daemon(home: &Path, model: &Path) -> Serving {
    let child = Command::new(env!("CARGO_BIN_EXE_superfluid"))
        .arg("serve")
        .arg(model)
        .args(["--port", "0", "--offline", "--runtime", "llamacpp@b11284-cpu"])
        .env("SUPERFLUID_HOME", home)
        .env_remove("SUPERFLUID_WORKER_LLAMACPP")
        .env_remove("SUPERFLUID_LLAMA_LIB")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a daemon");
    let mut serving = Serving(child);
    let mut log = BufReader::new(serving.0.stderr.take().expect("piped"));
    let mut said = String::new();
    while !said.contains("worker: ") {
        assert!(log.read_line(&mut said).expect("it reads") > 0, "it ended: {said}");
    }
    serving
}

#[test]
fn an_install_in_use_is_removed_once_its_daemon_is_gone_however_that_ended() {
    let (temp, home) = home();
    pack_worker(temp.path(), "a.tar.gz", "x", MUTE);
    let archive = temp.path().join("a.tar.gz").display().to_string();
    let args = ["runtime", "install", "llamacpp", "--from", &archive, "--backend", "cpu"];
    assert_eq!(superfluid(&home, &args).code, Some(0));
    let model = temp.path().join("m.gguf");
    std::fs::write(&model, gguf()).expect("a model");

    let serving = daemon(&home, &model);
    let held = superfluid(&home, &["runtimes"]).stdout;
    let holder = format!("in use by process {} (superfluid serve {})", serving.0.id(), model.display());
    assert!(held.contains(&holder), "{held}");
    for args in [&["runtime", "remove", "llamacpp"][..], &["runtime", "remove", "llamacpp", "b11284-cpu"]] {
        let ran = superfluid(&home, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("b11284-cpu is {holder}")), "{}", ran.stderr);
    }
    assert!(home.join("runtimes/llamacpp/b11284-cpu/bin").is_dir());

    // SIGKILL.
    drop(serving);
    let ran = superfluid(&home, &["runtime", "remove", "llamacpp"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let left: Vec<_> = std::fs::read_dir(home.join("runtimes/llamacpp"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(left, [".lock"], "nothing is left of its lease either");
}
