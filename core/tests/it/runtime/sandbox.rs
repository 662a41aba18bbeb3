//! What a worker may touch.

use superfluid_core::runtime::{Confined, Place, Resolved, Sandbox};

fn worker(place: Place) -> Resolved {
    Resolved {
        program: "/home/me/.superfluid/runtimes/llamacpp/current/bin/superfluid-worker-llamacpp".into(),
        engine: vec![],
        place,
        install: None,
        lib_dir: Some("/elsewhere/lib".into()),
        unset: vec![],
    }
}

fn of(worker: &Resolved, model: &str) -> Sandbox {
    Sandbox::of(&Confined { worker, model, libraries: vec![], read: &[], write: &[], network: false })
}

#[test]
fn a_worker_reads_its_install_and_its_model_and_writes_nothing() {
    let sandbox = of(&worker(Place::Installed), "/models/a.gguf");
    assert!(sandbox.read.contains(&"/home/me/.superfluid/runtimes/llamacpp/current".into()));
    assert!(sandbox.read.contains(&"/elsewhere/lib".into()));
    assert_eq!((&*sandbox.model, sandbox.write.len(), sandbox.network), ("/models/a.gguf", 0, false));
    let open = ["/", "/home", "/home/me", "/etc", "/var", "/tmp", "/root", "/run", "/dev"];
    assert!(!sandbox.read.iter().any(|path| open.contains(&path.trim_end_matches('/'))), "{sandbox:?}");
    assert!(sandbox.read.iter().all(|path| path.starts_with('/')), "{sandbox:?}");
}

#[test]
fn a_worker_of_a_source_build_reads_itself_and_not_what_lies_beside_it() {
    let sandbox = of(&worker(Place::Beside), "/models/a.gguf");
    let own = worker(Place::Beside).program;
    assert!(sandbox.read.contains(&own));
    assert!(!sandbox.read.contains(&"/home/me/.superfluid/runtimes/llamacpp/current".into()));
}

#[test]
fn what_the_operator_and_the_environment_add_is_added() {
    let (read, write) = (["/adapters".to_string()], ["/park".to_string()]);
    let sandbox = Sandbox::of(&Confined {
        worker: &worker(Place::Variable),
        model: "/m.gguf",
        libraries: vec!["/opt/mine".into(), "relative".into(), String::new()],
        read: &read,
        write: &write,
        network: true,
    });
    assert!(["/adapters", "/opt/mine"].iter().all(|path| sandbox.read.iter().any(|has| has == path)));
    assert!(!sandbox.read.contains(&"relative".into()) && !sandbox.read.contains(&String::new()));
    assert_eq!((sandbox.write, sandbox.network), (vec!["/park".to_string()], true));
    let text = serde_json::to_string(&of(&worker(Place::Linked), "/m")).unwrap();
    assert_eq!(serde_json::from_str::<Sandbox>(&text).unwrap(), of(&worker(Place::Linked), "/m"));
}

#[test]
fn a_model_in_several_files_is_all_of_them() {
    for (model, allowed) in [
        ("/m/big-00001-of-00003.gguf", "/m/big-*-of-00003.gguf"),
        ("/m/big-0001-of-0003.gguf", "/m/big-0001-of-0003.gguf"),
        ("/m/best-of-all.gguf", "/m/best-of-all.gguf"),
        ("/m/folder", "/m/folder"),
    ] {
        assert_eq!(of(&worker(Place::Linked), model).model, allowed);
    }
}
