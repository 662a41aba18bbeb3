//! Nothing of the user's own Python and pip reaches an install, but pip's network settings.

use super::{ARCHIVE, Mac, with_index};
use crate::server::{Server, answer, ok};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use superfluid_core::install::{Index, Source};

#[test]
fn case_i16_a_hostile_environment_changes_nothing() {
    let mac = Mac::new();
    let evil = mac.path("evil");
    mac.wheel(&evil, "sf_two", "evil");
    let touched = mac.path("touched");
    let run = format!("open({:?}, 'w')\n", touched.display().to_string());
    for module in
        ["sitecustomize.py", "usercustomize.py", "json.py", "runpy.py", "pip.py", "threading.py", "start.py"]
    {
        fs::write(evil.join(module), &run).expect("written");
    }
    let me = mac.path("me");
    let config = format!(
        "[global]\nuser = true\ntarget = {0}\nindex-url = https://127.0.0.1:9/\nfind-links = {0}\nno-index = true\n",
        evil.display()
    );
    for path in
        [".config/pip/pip.conf", ".pip/pip.conf", "Library/Application Support/pip/pip.conf", "pip.conf"]
    {
        let path = me.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, &config).expect("written");
    }
    let (evil, own) = (evil.display().to_string(), me.join("pip.conf").display().to_string());
    let start = format!("{evil}/start.py");
    let hostile = [
        ("PIP_USER", "1"),
        ("PIP_REQUIRE_VIRTUALENV", "1"),
        ("PIP_TARGET", &evil),
        ("PIP_PREFIX", &evil),
        ("PIP_ROOT", &evil),
        ("PIP_INDEX_URL", "https://127.0.0.1:9/"),
        ("PIP_EXTRA_INDEX_URL", "https://127.0.0.1:9/"),
        ("PIP_NO_INDEX", "1"),
        ("PIP_FIND_LINKS", &evil),
        ("PIP_CONFIG_FILE", &own),
        ("PIP_NO_BINARY", ":all:"),
        ("PIP_CONSTRAINT", "/nowhere"),
        ("PIP_PYTHON", "/nowhere"),
        ("PIP_DRY_RUN", "1"),
        ("PYTHONPATH", &evil),
        ("PYTHONHOME", &evil),
        ("PYTHONSTARTUP", &start),
        ("PYTHONUSERBASE", &evil),
        ("PYTHONINSPECT", "1"),
        ("VIRTUAL_ENV", &evil),
        ("XDG_CONFIG_DIRS", &own),
    ];
    let (success, said) = mac.install(&mac.folder_plan(), &hostile);
    assert!(success, "{said}");
    assert!(!touched.exists(), "the user's own Python files ran");
    assert!(String::from_utf8_lossy(&mac.check().stdout).contains("onetwo"));
    let left: Vec<_> = fs::read_dir(&evil).expect("there").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 8, "something was installed there: {left:?}");
}

/// A package index on loopback, and the Python beside it.
fn server(mac: &Mac) -> Server {
    let wheels = mac.wheels.clone();
    Server::with(move |asked, _| {
        if asked.path == "/python.tar.gz" {
            let bytes = fs::read(&*ARCHIVE).expect("an archive");
            return ok(&bytes, bytes.len());
        }
        let file = |name: &str| format!("{}-1.0-py3-none-any.whl", name.replace('-', "_"));
        if let Some(name) = asked.path.strip_prefix("/simple/").and_then(|path| path.strip_suffix('/')) {
            let page = format!("<a href=\"/files/{0}\">{0}</a>", file(name));
            return answer(
                "200 OK",
                &format!("Content-Type: text/html\r\nContent-Length: {}\r\n", page.len()),
                page.as_bytes(),
            );
        }
        let bytes = asked.path.strip_prefix("/files/").and_then(|name| fs::read(wheels.join(name)).ok());
        bytes.map_or_else(|| crate::server::bare("404 Not Found"), |bytes| ok(&bytes, bytes.len()))
    })
}

#[test]
fn pips_own_and_superfluids_certificates_are_trusted_and_no_others() {
    for (variable, trusted) in [("PIP_CERT", true), ("SSL_CERT_FILE", true), ("PIP_RETRIES", false)] {
        let mac = Mac::new();
        let server = server(&mac);
        let authority = mac.path("ca.pem");
        fs::write(&authority, &server.certificate).expect("written");
        let plan = mac.plan(&format!("https://localhost:{}/simple/", server.port));
        let value = if trusted { authority.to_str().expect("text") } else { "0" };
        let (success, said) =
            mac.install(&plan, &[("PIP_RETRIES", "0"), ("no_proxy", "*"), (variable, value)]);
        assert_eq!(success, trusted, "{variable}: {said}");
        if trusted {
            assert!(
                server.asked().iter().any(|asked| asked.path == "/simple/sf-one/"),
                "{:?}",
                server.asked()
            );
            assert!(mac.check().status.success());
        } else {
            assert!(said.contains("certificate_not_trusted") && said.contains("PIP_CERT"), "{said}");
        }
    }
}

#[test]
fn the_python_and_the_packages_both_come_over_https() {
    let mac = Mac::new();
    let server = server(&mac);
    let authority = mac.path("ca.pem");
    fs::write(&authority, &server.certificate).expect("written");
    let mut plan = mac.plan(&format!("https://localhost:{}/simple/", server.port));
    plan.assets[0].source = Source::Url { url: format!("https://localhost:{}/python.tar.gz", server.port) };
    let authority = authority.to_str().expect("text");
    let (success, said) = mac.install(&plan, &[("SSL_CERT_FILE", authority), ("no_proxy", "*")]);
    assert!(success, "{said}");
    let asked: Vec<String> = server.asked().into_iter().map(|asked| asked.path).collect();
    assert_eq!(asked.first().map(String::as_str), Some("/python.tar.gz"));
    assert!(asked.iter().any(|path| path == "/files/sf_two-1.0-py3-none-any.whl"), "{asked:?}");
    assert!(!asked.iter().any(|path| path.contains("nowhere")), "a dependency was looked for: {asked:?}");
}

#[test]
fn a_proxy_reaches_pip_and_what_it_cannot_reach_is_told() {
    for variable in ["PIP_PROXY", "HTTPS_PROXY", "https_proxy"] {
        let mac = Mac::new();
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let proxy = format!("http://127.0.0.1:{}", listener.local_addr().expect("bound").port());
        let heard = std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("somebody asks");
            let mut line = String::new();
            let mut reader = BufReader::new(stream);
            reader.read_line(&mut line).expect("it says what for");
            reader
                .get_mut()
                .write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
                .expect("answered");
            line
        });
        let plan = with_index(mac.folder_plan(), Index::Url { url: "https://mirror.invalid/simple/".into() });
        let (success, said) = mac.install(&plan, &[("PIP_RETRIES", "1"), (variable, &proxy)]);
        assert!(
            !success && said.contains("refused: network") && said.contains("--from"),
            "{variable}: {said}"
        );
        assert!(heard.join().expect("heard").starts_with("CONNECT mirror.invalid:443 "), "{variable}");
    }
}
