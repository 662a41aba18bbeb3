//! Any headers as an archive: what is placed lies inside the install, and nothing below a link.
#![no_main]

use superfluid_core::install::archive::{Member, RawMember, Shape, arrange, judge};

fn inside(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

libfuzzer_sys::fuzz_target!(|headers: Vec<(&[u8], &[u8], u8, u8)>| {
    let raw = headers.iter().map(|&(name, link, flag, size)| {
        let flag = *b"012345670L".get(usize::from(flag % 16)).unwrap_or(&flag);
        RawMember { name, link, flag, mode: 0o755, size: u64::from(size) }
    });
    let Ok(members) = raw.map(Member::read).collect::<Result<Vec<_>, _>>() else { return };
    let Ok(judged) = judge(members) else { return };
    let Ok(laid) = arrange(&[judged], Shape::of("llamacpp")) else { return };
    let files = laid.files.iter().flatten().map(|file| &file.path);
    let paths: Vec<&String> = files.chain(&laid.dirs).chain(laid.links.iter().map(|link| &link.path)).collect();
    assert!(paths.iter().all(|path| inside(path)));
    assert!(laid.hard.iter().all(|link| inside(&link.path) && inside(&link.target)));
    for link in &laid.links {
        let below = format!("{}/", link.path);
        assert!(!paths.iter().any(|path| path.starts_with(&below)));
        let mut depth = link.path.matches('/').count();
        assert!(!link.target.starts_with('/'));
        for part in link.target.split('/').filter(|part| !part.is_empty() && *part != ".") {
            depth = if part == ".." { depth.checked_sub(1).expect("a link out") } else { depth + 1 };
        }
    }
});
