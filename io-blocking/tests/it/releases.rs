//! Releases looked up, installed and updated to, from a server on loopback that has a project's
//! release pages and files.

use crate::https::{hex, trust};
use crate::server::{Asked, Server, answer, bare, ok};
use crate::tgz::{base, base_with, tgz};
use crate::world::{Heard, World, tree};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use superfluid_core::Refusal;
use superfluid_core::install::machine::Purpose;
use superfluid_core::install::renew::Update;
use superfluid_core::install::{Recipe, Request};
use superfluid_core::runtime::RuntimeId;
use superfluid_io_blocking::{Home, request};

const HOME: &str = "SUPERFLUID_IT_HOME";
const RECIPE: &str = "SUPERFLUID_IT_RECIPE";
/// A request as JSON, or nothing for an update.
const REQUEST: &str = "SUPERFLUID_IT_REQUEST";

/// What a child process does: one request with a recipe of its own.
#[test]
#[ignore = "run by other tests as a child process"]
fn child_requests() {
    let variable = |name| std::env::var(name).expect("run as a child process only");
    if let Err(refusal) = ask(&variable(HOME), &variable(RECIPE), &variable(REQUEST)) {
        eprintln!("refused: {}: {}\nhints: {:?}", refusal.code, refusal.message, refusal.hints);
        std::process::exit(1);
    }
}

fn ask(home: &str, recipe: &str, asked: &str) -> Result<(), Refusal> {
    let home = Home::at(home)?;
    let recipe = Recipe::parse(recipe)?;
    let (planning, purpose) = if asked.is_empty() {
        match request::update(&recipe, &home)? {
            Update::Newer { planning, .. } => (planning, Purpose::Update),
            Update::Newest { .. } => return Err(Refusal::new("newest", "nothing to do")),
        }
    } else {
        let asked: Request = serde_json::from_str(asked).expect("a request");
        (request::plans_of(&asked, recipe)?, Purpose::Install)
    };
    eprintln!("warnings: {:?}", planning.warnings);
    request::install(RuntimeId::Llamacpp, planning, purpose, &home, &mut Heard::default()).map(drop)
}

/// Runs one request in a child; whether it went well, and what was said.
fn run(world: &World, server: &Server, recipe: &Value, request: Option<&Request>) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "--ignored", "--nocapture", "releases::child_requests"]);
    command.env(HOME, world.temp.path().join("home")).env(RECIPE, recipe.to_string());
    let request = request.map(|request| serde_json::to_string(request).expect("plain values"));
    trust(&mut command, world, server).env(REQUEST, request.unwrap_or_default());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = command.output().expect("a child");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn arch() -> &'static str {
    if std::env::consts::ARCH == "aarch64" { "arm64" } else { "x64" }
}

fn asset_name(version: &str) -> String {
    format!("llama-{version}-bin-ubuntu-{}.tar.gz", arch())
}

/// A recipe whose releases are on the server; of its own version it knows `bytes` for the CPU.
fn recipe(server: &Server, version: &str, bytes: &[u8]) -> Value {
    let port = server.port;
    json!({
        "runtime": "llamacpp", "version": version, "published": "2026-09-30", "project": "example/llama.cpp",
        "url_template": format!("https://localhost:{port}/files/{{version}}/{{name}}"),
        "release_api_template": format!("https://localhost:{port}/pages/{{version}}"),
        "cuda_driver_min": {}, "named_only_backends": [],
        "assets": [{
            "name": asset_name(version), "size": bytes.len(), "sha256": hex(bytes),
            "platform": format!("linux-{}", arch()), "backend": "cpu", "role": "runtime",
        }],
    })
}

/// A release page that lists one asset for the CPU.
fn page(version: &str, size: usize, digest: Option<&str>) -> Vec<u8> {
    let digest = digest.map(|digest| format!("sha256:{digest}"));
    let assets = json!([{ "name": asset_name(version), "size": size, "digest": digest }]);
    let page = json!({ "tag_name": version, "published_at": "2026-10-01T00:00:00Z", "assets": assets });
    let page = page.to_string();
    ok(page.as_bytes(), page.len())
}

/// A server with the page and the file of a release.
fn release(page: Vec<u8>, bytes: Vec<u8>) -> Server {
    Server::with(move |asked: &Asked, _| match asked.path.split('/').nth(1) {
        Some("pages") => page.clone(),
        _ => ok(&bytes, bytes.len()),
    })
}

fn paths(server: &Server) -> Vec<String> {
    server.asked().into_iter().map(|asked| asked.path).collect()
}

fn untested(version: &str) -> Request {
    Request { version: Some(version.into()), untested: true, ..Request::new(RuntimeId::Llamacpp) }
}

#[test]
fn row_d1_an_untested_release_is_looked_up_and_checked_by_its_pages_digest() {
    let bytes = tgz(&[base()]);
    let server = release(page("b20000", bytes.len(), Some(&hex(&bytes))), bytes);
    let (world, recipe) = (World::new(), recipe(&server, "b2", b"x"));
    let (success, said) = run(&world, &server, &recipe, Some(&untested("b20000")));
    assert!(success && said.contains("has not been tested"), "{said}");
    assert_eq!(world.names(), ["b20000-cpu", "current"]);
    assert_eq!(paths(&server), ["/pages/b20000".into(), format!("/files/b20000/{}", asset_name("b20000"))]);
    let manifest = std::fs::read_to_string(world.dir.join("b20000-cpu/runtime.json")).expect("a manifest");
    assert!(manifest.contains(r#""trust": "release_page""#), "{manifest}");

    let tested = Request { untested: false, ..untested("b20001") };
    let (success, said) = run(&world, &server, &recipe, Some(&tested));
    assert!(!success && said.contains("--untested") && server.asked().len() == 2, "{said}");
}

#[test]
fn row_b10_a_release_whose_page_lies_or_says_nothing_is_not_installed() {
    let bytes = tgz(&[base()]);
    for (page, code, asked) in [
        (page("b20000", bytes.len(), Some(&"0".repeat(64))), "wrong_sha256", 2),
        (page("b20000", bytes.len() + 1, Some(&hex(&bytes))), "wrong_size", 2),
        (page("b20000", bytes.len(), None), "bad_listing", 1),
        (page("b20001", bytes.len(), Some(&hex(&bytes))), "bad_listing", 1),
        (ok(b"<html>", 6), "bad_listing", 1),
        (bare("404 Not Found"), "no_such_release", 1),
        (bare("403 Forbidden"), "listing_refused", 1),
    ] {
        let server = release(page, bytes.clone());
        let world = World::new();
        let (success, said) = run(&world, &server, &recipe(&server, "b2", b"x"), Some(&untested("b20000")));
        assert!(!success && said.contains(&format!("refused: {code}: ")), "{code}: {said}");
        assert!(world.names().is_empty() && server.asked().len() == asked, "{code}: {:?}", paths(&server));
    }
}

#[test]
fn a_release_page_that_asks_for_patience_is_asked_again_when_it_says() {
    let bytes = tgz(&[base()]);
    let page = page("b20000", bytes.len(), Some(&hex(&bytes)));
    for status in ["429 Too Many Requests", "403 Forbidden", "503 Service Unavailable"] {
        let (page, bytes) = (page.clone(), bytes.clone());
        let server =
            Server::with(move |asked: &Asked, before| match (before, asked.path.split('/').nth(1)) {
                (0, _) => answer(status, "Retry-After: 1\r\nContent-Length: 0\r\n", b""),
                (_, Some("pages")) => page.clone(),
                _ => ok(&bytes, bytes.len()),
            });
        let world = World::new();
        let (success, said) = run(&world, &server, &recipe(&server, "b2", b"x"), Some(&untested("b20000")));
        assert!(success, "{status}: {said}");
        assert_eq!(server.asked().len(), 3);
    }
    // An hour is nobody's patience.
    let server =
        Server::new(answer("429 Too Many Requests", "Retry-After: 3600\r\nContent-Length: 0\r\n", b""));
    let (success, said) =
        run(&World::new(), &server, &recipe(&server, "b2", b"x"), Some(&untested("b20000")));
    assert!(!success && server.asked().len() == 1, "{said}");
}

#[test]
fn case_i08_a_release_without_the_backend_is_refused_before_any_file_is_fetched() {
    let bytes = tgz(&[base()]);
    let server = release(page("b20000", bytes.len(), Some(&hex(&bytes))), bytes);
    let request = Request { backend: Some("vulkan".into()), ..untested("b20000") };
    let world = World::new();
    let (success, said) = run(&world, &server, &recipe(&server, "b2", b"x"), Some(&request));
    assert!(!success && said.contains("vulkan") && said.contains("b20000"), "{said}");
    assert_eq!(paths(&server), ["/pages/b20000"]);
    assert!(world.names().is_empty());
}

#[test]
fn case_i08_a_file_that_is_not_there_is_named_with_its_release_and_address() {
    let server = Server::new(bare("404 Not Found"));
    let world = World::new();
    let request = Request::new(RuntimeId::Llamacpp);
    let (success, said) = run(&world, &server, &recipe(&server, "b2", b"x"), Some(&request));
    let name = asset_name("b2");
    let wanted = [format!("{name} of llamacpp b2 (cpu)"), format!("/files/b2/{name}"), "404".into()];
    assert!(!success && wanted.iter().all(|wanted| said.contains(wanted)), "{said}");
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn case_i13_an_update_takes_the_default_once_its_check_has_passed() {
    let world = World::new();
    world.install(&tgz(&[base()])).expect("the old one");
    let before = tree(&world.dir);
    let broken = tgz(&[base_with("#!/bin/sh\necho broken >&2\nexit 1\n")]);
    let server = Server::new(ok(&broken, broken.len()));
    let (success, said) = run(&world, &server, &recipe(&server, "b2", &broken), None);
    assert!(!success && said.contains("broken"), "{said}");
    assert_eq!(tree(&world.dir), before);

    let good = tgz(&[base()]);
    let server = Server::new(ok(&good, good.len()));
    let recipe = recipe(&server, "b2", &good);
    let (success, said) = run(&world, &server, &recipe, None);
    assert!(success, "{said}");
    assert_eq!(world.names(), ["b1-cpu", "b2-cpu", "current"]);
    let current = std::fs::read_link(world.dir.join("current")).expect("a link");
    assert_eq!(current, std::path::Path::new("b2-cpu"));
    assert!(run(&world, &server, &recipe, None).1.contains("refused: newest"));
    assert_eq!(server.asked().len(), 1);
}
