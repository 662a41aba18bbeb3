//! An install from a local https server against `curl | tee >(sha256sum) | tar xz` of the same archive
//! in turn in one run, its peak memory, and `superfluid runtimes` with ten installs. Prints figures;
//! fails nothing.

#[path = "../../io-blocking/tests/it/server.rs"]
#[expect(dead_code, reason = "io-blocking's tests use the rest")]
mod server;

use flate2::write::GzEncoder;
use server::{Server, ok};
use sha2::{Digest, Sha256};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use superfluid_tests::daemon::command;

const SIZE: usize = 200 << 20;
const ROUNDS: usize = 5;
const INSTALLS: usize = 10;
const LISTINGS: usize = 21;

fn main() {
    if let Err(wrong) = run() {
        eprintln!("no figures: {wrong}");
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let temp = tempfile::tempdir()?;
    let large = pack(SIZE)?;
    let sha256: String = Sha256::digest(&large).iter().map(|byte| format!("{byte:02x}")).collect();
    let server = Server::new(ok(&large, large.len()));
    let authority = temp.path().join("ca.pem");
    fs::write(&authority, &server.certificate)?;
    let url = format!("https://localhost:{}/a.tar.gz", server.port);
    println!("load before: {}", fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    println!("archive: {:.1} MB", large.len() as f64 / 1e6);

    let mut times = [Vec::new(), Vec::new()];
    let mut peak = 0;
    for round in 0..=ROUNDS {
        let folder = temp.path().join(format!("piped-{round}"));
        let piped = piped(&url, &authority, &folder)?;
        fs::remove_dir_all(&folder)?;
        let home = temp.path().join(format!("home-{round}"));
        let (ours, memory) = install(&home, &url, &sha256, &authority)?;
        fs::remove_dir_all(&home)?;
        peak = peak.max(memory);
        if round > 0 {
            // The first warms both up.
            times[0].push(piped);
            times[1].push(ours);
        }
    }
    let [piped, ours] = times.map(median);
    println!("curl | tee >(sha256sum) | tar xz: {:.2} s", piped.as_secs_f64());
    println!("superfluid runtime install:       {:.2} s", ours.as_secs_f64());
    println!("ratio: {:.2} (to be at most 1.20)", ours.as_secs_f64() / piped.as_secs_f64());
    println!("peak memory of the install: {:.1} MB (to be under 64)", peak as f64 / 1e3);
    listing(temp.path())
}

/// The other way to the same files, without a check of what they are.
fn piped(url: &str, authority: &Path, folder: &Path) -> Result<Duration, Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let script = r#"set -o pipefail; curl -fsS --noproxy '*' --cacert "$1" "$2" | tee >(sha256sum >sum) | tar xz && sync -f ."#;
    let began = Instant::now();
    let mut bash = Command::new("bash");
    bash.args(["-c", script, "bash"]).arg(authority).arg(url).current_dir(folder);
    match bash.status()? {
        status if status.success() => Ok(began.elapsed()),
        status => Err(format!("the pipe ended with {status}").into()),
    }
}

/// How long an install takes, and its peak memory in kB.
fn install(
    home: &Path,
    url: &str,
    sha256: &str,
    authority: &Path,
) -> Result<(Duration, u64), Box<dyn Error>> {
    let mut install = command(home);
    install.args(["runtime", "install", "llamacpp", "--backend", "cpu", "--from", url, "--sha256", sha256]);
    install.env("SSL_CERT_FILE", authority).env("NO_PROXY", "localhost").stdout(Stdio::null());
    let began = Instant::now();
    let mut child = install.stderr(Stdio::null()).spawn()?;
    let mut peak = 0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let high = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let high = high.and_then(|value| value.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(high.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    };
    match status.success() {
        true => Ok((began.elapsed(), peak)),
        false => Err(format!("the install ended with {status}").into()),
    }
}

/// `superfluid runtimes` with ten installs.
fn listing(temp: &Path) -> Result<(), Box<dyn Error>> {
    let home = temp.join("home");
    let archive = temp.join("small.tar.gz");
    fs::write(&archive, pack(1 << 20)?)?;
    for version in 0..INSTALLS {
        let version = format!("b{}", 11_000 + version);
        let mut install = command(&home);
        install.args([
            "runtime",
            "install",
            "llamacpp",
            "--backend",
            "cpu",
            "--untested",
            "--version",
            &version,
        ]);
        let status =
            install.arg("--from").arg(&archive).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        if !status.success() {
            return Err(format!("an install ended with {status}").into());
        }
    }
    let mut times = Vec::new();
    for _ in 0..LISTINGS {
        let began = Instant::now();
        let output = command(&home).arg("runtimes").output()?;
        if !output.status.success() {
            return Err("superfluid runtimes ended badly".into());
        }
        times.push(began.elapsed());
    }
    let median = median(times);
    println!(
        "superfluid runtimes, {INSTALLS} installs: {:.1} ms (to be under 50)",
        median.as_secs_f64() * 1e3
    );
    Ok(())
}

/// An install of about `size` bytes that do not compress, in a few libraries, with a worker that passes.
fn pack(size: usize) -> std::io::Result<Vec<u8>> {
    let report = r#"{"runtime":"llamacpp","worker":"0","protocol":1,"version":"b","formats":["gguf"],"devices":[{"backend":"cpu","name":"D","kind":"cpu","memory_total":0,"memory_free":0}],"capabilities":{}}"#;
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut add = |path: &str, bytes: &[u8], mode| {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(mode);
        tar.append_data(&mut header, path, bytes)
    };
    let script = format!("#!/bin/sh\necho '{report}'\n");
    add("sf/bin/superfluid-worker-llamacpp", script.as_bytes(), 0o755)?;
    let mut noise = 1_u64;
    for part in 0..8 {
        let bytes: Vec<u8> = std::iter::repeat_with(|| {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            noise.to_le_bytes()
        })
        .take(size / 64)
        .flatten()
        .collect();
        add(&format!("sf/lib/libpart{part}.so"), &bytes, 0o644)?;
    }
    tar.into_inner()?.finish()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
