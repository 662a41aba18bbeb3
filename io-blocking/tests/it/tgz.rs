//! A tar writer with full control over every header field.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// The two blocks of NUL a tar archive ends with.
pub(crate) const END: [u8; 1024] = [0; 1024];

/// One header block.
pub(crate) fn header(name: &[u8], size: usize, flag: u8, link: &[u8], mode: u32) -> Vec<u8> {
    let mut block = vec![0; 512];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &name[..name.len().min(100)]);
    put(100, format!("{mode:07o}\0").as_bytes());
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, &[flag]);
    put(157, &link[..link.len().min(100)]);
    put(257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// A member with its data, padded.
pub(crate) fn member(name: &str, flag: u8, link: &str, mode: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = header(name.as_bytes(), data.len(), flag, link.as_bytes(), mode);
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

pub(crate) fn file(name: &str, data: &[u8], mode: u32) -> Vec<u8> {
    member(name, b'0', "", mode, data)
}

pub(crate) fn dir(name: &str) -> Vec<u8> {
    member(name, b'5', "", 0o755, b"")
}

pub(crate) fn symlink(name: &str, target: &str) -> Vec<u8> {
    member(name, b'2', target, 0o777, b"")
}

pub(crate) fn hardlink(name: &str, target: &str) -> Vec<u8> {
    member(name, b'1', target, 0o644, b"")
}

/// A GNU long name for the member after it.
pub(crate) fn long_name(name: &str) -> Vec<u8> {
    member("././@LongLink", b'L', "", 0o644, &[name.as_bytes(), b"\0"].concat())
}

/// A PAX header with one record, for the member after it.
pub(crate) fn pax(key: &str, value: &[u8]) -> Vec<u8> {
    let body = [b" ", key.as_bytes(), b"=", value, b"\n"].concat();
    let mut length = body.len();
    while length != length.to_string().len() + body.len() {
        length = length.to_string().len() + body.len();
    }
    member("PaxHeaders/x", b'x', "", 0o644, &[length.to_string().as_bytes(), &body].concat())
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// Members and the end, packed.
pub(crate) fn tgz(members: &[Vec<u8>]) -> Vec<u8> {
    gzip(&[members.concat().as_slice(), &END].concat())
}

/// A worker that reports these devices.
pub(crate) fn worker(backends: &[&str]) -> String {
    let device = |backend: &&str| {
        let kind = if *backend == "cpu" { "cpu" } else { "gpu" };
        format!(r#"{{"backend":"{backend}","name":"D","kind":"{kind}","memory_total":0,"memory_free":0}}"#)
    };
    let devices: Vec<String> = backends.iter().map(device).collect();
    let report = format!(
        r#"{{"runtime":"llamacpp","worker":"0","protocol":1,"version":"b","formats":["gguf"],"devices":[{}],"capabilities":{{}}}}"#,
        devices.join(",")
    );
    format!("#!/bin/sh\ntest \"$1\" = check || exit 2\necho '{report}'\n")
}

/// What every honest archive of these tests begins with: an install's shape with a worker.
pub(crate) fn base() -> Vec<u8> {
    base_with(&worker(&["cpu"]))
}

pub(crate) fn base_with(worker: &str) -> Vec<u8> {
    [
        dir("sf/"),
        dir("sf/bin/"),
        file("sf/bin/superfluid-worker-llamacpp", worker.as_bytes(), 0o755),
        dir("sf/lib/"),
        file("sf/lib/libok.so.1.2", b"\x7fELF-not-really", 0o644),
    ]
    .concat()
}
