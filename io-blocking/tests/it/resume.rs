//! Fetches that break, from a server on loopback that breaks them.

use crate::https::{hex, install};
use crate::server::{Asked, Server, answer, bare, ok};
use crate::tgz::{base, file, tgz};
use crate::world::World;

const TAG: &str = "\"v1\"";

/// The first answer breaks in the middle; `then` answers what comes after.
fn breaks(bytes: &[u8], then: impl Fn(&Asked, usize) -> Vec<u8> + Send + 'static) -> Server {
    let (half, length) = (bytes[..bytes.len() / 2].to_vec(), bytes.len());
    Server::with(move |asked, before| match before {
        0 => answer("200 OK", &format!("ETag: {TAG}\r\nContent-Length: {length}\r\n"), &half),
        _ => then(asked, before),
    })
}

/// The part after the middle, as a server sends it.
fn rest(bytes: &[u8], claimed: usize) -> Vec<u8> {
    let (half, length) = (bytes.len() / 2, bytes.len());
    let headers = format!(
        "ETag: {TAG}\r\nContent-Range: bytes {claimed}-{}/{length}\r\nContent-Length: {}\r\n",
        length - 1,
        length - half
    );
    answer("206 Partial Content", &headers, &bytes[half..])
}

fn ranges(server: &Server) -> Vec<Option<String>> {
    server.asked().into_iter().map(|asked| asked.range).collect()
}

#[test]
fn a_break_is_gone_on_with_where_the_server_allows_it() {
    let bytes = tgz(&[base(), file("sf/lib/more", &[7; 4096], 0o644)]);
    let whole = bytes.clone();
    let server = breaks(&bytes, move |_, _| rest(&whole, whole.len() / 2));
    let world = World::new();
    let (success, said) = install(&world, &server, &hex(&bytes), &[]);
    assert!(success, "{said}");
    assert_eq!(world.names(), ["b1-cpu", "current"]);
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1].range, Some(format!("bytes={}-", bytes.len() / 2)));
    assert_eq!(asked[1].if_range.as_deref(), Some(TAG));
}

#[test]
fn a_server_that_sends_it_whole_or_wrongly_costs_time_alone() {
    let bytes = tgz(&[base()]);
    let range = Some(format!("bytes={}-", bytes.len() / 2));
    // It knows no ranges, or the file is another one by now.
    let whole = bytes.clone();
    let server = breaks(&bytes, move |_, _| ok(&whole, whole.len()));
    let (success, said) = install(&World::new(), &server, &hex(&bytes), &[]);
    assert!(success, "{said}");
    assert_eq!(ranges(&server), [None, range.clone()]);

    // It sends another part than was asked for, or says there is none; then it is asked for it all.
    for wrong in [rest(&bytes, 0), bare("416 Range Not Satisfiable")] {
        let whole = bytes.clone();
        let server = breaks(&bytes, move |_, before| match before {
            1 => wrong.clone(),
            _ => ok(&whole, whole.len()),
        });
        let (success, said) = install(&World::new(), &server, &hex(&bytes), &[]);
        assert!(success, "{said}");
        assert_eq!(ranges(&server), [None, range.clone(), None]);
    }
}

#[test]
fn case_i17_a_part_of_another_file_does_not_pass_for_the_rest() {
    let bytes = tgz(&[base()]);
    let mut other = bytes.clone();
    *other.last_mut().expect("not empty") ^= 1;
    let server = breaks(&bytes, move |_, _| rest(&other, other.len() / 2));
    let (success, said) = install(&World::new(), &server, &hex(&bytes), &[]);
    assert!(!success && said.contains("SHA-256"), "{said}");
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn a_server_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    let bytes = tgz(&[base()]);
    let whole = bytes.clone();
    let server = Server::with(move |_, before| match before {
        0 => bare("503 Service Unavailable"),
        _ => ok(&whole, whole.len()),
    });
    let (success, said) = install(&World::new(), &server, &hex(&bytes), &[]);
    assert!(success, "{said}");

    let mut changed = bytes.clone();
    changed[0] ^= 1;
    for no in [bare("404 Not Found"), bare("403 Forbidden"), ok(&changed, changed.len())] {
        let server = Server::new(no);
        let (success, said) = install(&World::new(), &server, &hex(&bytes), &[]);
        assert!(!success, "{said}");
        assert_eq!(server.asked().len(), 1, "{said}");
    }
}
