//! A hub on loopback: an API and files on one host, the bytes of large files on another.

use super::server::{Asked, PROXIES, Server, answer, bare, ok};
use serde_json::{Value, json};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A file of the repository; a large one has its bytes on the other host.
#[derive(Clone)]
pub(crate) struct File {
    pub(crate) path: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) large: bool,
}

impl File {
    pub(crate) fn large(path: &'static str, bytes: &[u8]) -> Self {
        Self { path, bytes: bytes.to_vec(), large: true }
    }

    pub(crate) fn small(path: &'static str, bytes: &[u8]) -> Self {
        Self { path, bytes: bytes.to_vec(), large: false }
    }

    /// The name of its blob.
    pub(crate) fn digest(&self) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        if self.large {
            return hex(&Sha256::digest(&self.bytes));
        }
        let git = Sha1::new_with_prefix(format!("blob {}\0", self.bytes.len())).chain_update(&self.bytes);
        hex(&git.finalize())
    }
}

/// What a server answers in the place of what it would; and whether it then holds the connection.
pub(crate) type Instead = Box<dyn Fn(&Asked, usize) -> Option<(Vec<u8>, bool)> + Send + Sync>;

pub(crate) struct Hub {
    pub(crate) api: Server,
    pub(crate) store: Server,
    pub(crate) temp: TempDir,
}

impl Hub {
    pub(crate) fn new(files: &[File]) -> Self {
        Self::with(files, Box::new(|_, _| None), Box::new(|_, _| None))
    }

    /// A hub of which either host may answer otherwise.
    pub(crate) fn with(files: &[File], api: Instead, store: Instead) -> Self {
        let temp = tempfile::tempdir().expect("a folder");
        let files: Arc<[File]> = files.into();
        let kept = Arc::clone(&files);
        let store = Server::on("127.0.0.1", move |asked, before| {
            store(asked, before).unwrap_or_else(|| (stored(&kept, asked), false))
        });
        let port = store.port;
        let api = Server::on("localhost", move |asked, before| {
            api(asked, before).unwrap_or_else(|| (listed(&files, asked, port), false))
        });
        let trust = format!("{}{}", api.certificate, store.certificate);
        std::fs::write(temp.path().join("ca.pem"), trust).expect("it is written");
        Self { api, store, temp }
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.temp.path().join("hf/hub")
    }

    /// The repository's folder in the cache.
    pub(crate) fn repo(&self) -> PathBuf {
        self.cache().join("models--org--tiny-GGUF")
    }

    /// The command with this hub's environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_superfluid"));
        command.args(args);
        let own = ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HUB_CACHE", "SSL_CERT_DIR"];
        for name in own.into_iter().chain(PROXIES) {
            command.env_remove(name);
        }
        command
            .env("HF_ENDPOINT", format!("https://localhost:{}", self.api.port))
            .env("HF_HOME", self.temp.path().join("hf"))
            .env("SSL_CERT_FILE", self.temp.path().join("ca.pem"))
            .env("SUPERFLUID_HOME", self.temp.path().join("home"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, &[])
    }

    pub(crate) fn run_with(&self, args: &[&str], env: &[(&str, &str)]) -> Ran {
        let output = self.command(args).envs(env.iter().copied()).output().expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// A run that goes on beside the test.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a child")
    }

    /// Everything that was asked of either host.
    pub(crate) fn requests(&self) -> usize {
        self.api.asked().len() + self.store.asked().len()
    }
}

/// What a run did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The path it printed.
    pub(crate) fn path(&self) -> &Path {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        Path::new(self.stdout.trim_end())
    }
}

/// The API's answer: a listing, a small file, or the way to a large one.
fn listed(files: &[File], asked: &Asked, store: u16) -> Vec<u8> {
    if asked.path == "/api/models/org/tiny-GGUF/revision/main?blobs=true" {
        let siblings: Vec<Value> = files
            .iter()
            .map(|file| {
                let (size, digest) = (file.bytes.len(), file.digest());
                let lfs = json!({ "sha256": digest, "size": size, "pointerSize": 134 });
                match file.large {
                    true => {
                        json!({ "rfilename": file.path, "size": size, "blobId": "f".repeat(40), "lfs": lfs })
                    }
                    false => json!({ "rfilename": file.path, "size": size, "blobId": digest }),
                }
            })
            .collect();
        let listing = json!({ "id": "org/tiny-GGUF", "sha": COMMIT, "gated": false, "siblings": siblings });
        let text = listing.to_string();
        return ok(text.as_bytes(), text.len());
    }
    // A hub leads from one of its own addresses to another before it leads away.
    if let Some(path) = asked.path.strip_prefix(&format!("/org/tiny-GGUF/resolve/{COMMIT}/")) {
        return answer(
            "307 Temporary Redirect",
            &format!("Location: /cached/{path}\r\nContent-Length: 0\r\n"),
            b"",
        );
    }
    match files.iter().find(|file| asked.path == format!("/cached/{}", file.path)) {
        Some(file) if file.large => {
            let to = format!("https://127.0.0.1:{store}/{}?signature=s3cret", file.digest());
            answer("302 Found", &format!("Location: {to}\r\nContent-Length: 0\r\n"), b"")
        }
        Some(file) => ok(&file.bytes, file.bytes.len()),
        None => answer("404 Not Found", "X-Error-Code: RepoNotFound\r\nContent-Length: 0\r\n", b""),
    }
}

/// The store's answer: a file by its digest, or what follows a byte of it.
fn stored(files: &[File], asked: &Asked) -> Vec<u8> {
    let digest = asked.path.trim_start_matches('/').split('?').next().unwrap_or_default();
    let Some(file) = files.iter().find(|file| file.digest() == digest) else { return bare("404 Not Found") };
    let from = asked
        .range
        .as_deref()
        .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
    match from {
        Some(from) if from < file.bytes.len() => {
            let all = file.bytes.len();
            let headers = format!(
                "Content-Range: bytes {from}-{}/{all}\r\nContent-Length: {}\r\n",
                all - 1,
                all - from
            );
            answer("206 Partial Content", &headers, &file.bytes[from..])
        }
        Some(_) => bare("416 Range Not Satisfiable"),
        None => ok(&file.bytes, file.bytes.len()),
    }
}

/// Bytes that do not repeat.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut noise = 7_u32;
    std::iter::repeat_with(|| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        noise.to_be_bytes()[0]
    })
    .take(length)
    .collect()
}
