//! Ids, revisions, addresses and paths: what may be one, and where it leads.

use superfluid_core::pull::{Endpoint, HubListing, ModelId, Revision, cache, hop, quant, wanted};
use superfluid_core::runtime::format::Format;
use superfluid_core::runtime::{Choice, Model, pick};

fn id(text: &str) -> ModelId {
    ModelId::parse(text).expect("an id")
}

#[test]
fn an_id_is_org_and_model_and_perhaps_a_tag() {
    let one = id("Qwen/Qwen3-4B-GGUF:Q4_K_M");
    assert_eq!(
        (one.org.as_str(), one.name.as_str(), one.tag.as_deref()),
        ("Qwen", "Qwen3-4B-GGUF", Some("Q4_K_M"))
    );
    assert_eq!(
        (one.repo().as_str(), one.to_string().as_str()),
        ("Qwen/Qwen3-4B-GGUF", "Qwen/Qwen3-4B-GGUF:Q4_K_M")
    );
    for text in
        ["", "a", "a/b/c", "../b", "a/..", "a/b:../c", "a/b:", "/a/b", "a b/c", "a/b@c", "a/b?x=1", "a\\b/c"]
    {
        assert_eq!(ModelId::parse(text).expect_err(text).code, "bad_model_id");
    }
}

#[test]
fn case_x07_a_revision_or_a_listed_path_never_leads_elsewhere() {
    for text in ["", "..", "a/../b", "/main", "main/", ".git", "a b", "a\u{1b}", "refs//x"] {
        assert_eq!(Revision::new(text).expect_err(text).code, "bad_revision");
    }
    for text in ["main", "v1.0", "refs/pr/1", "0123456789abcdef0123456789abcdef01234567"] {
        assert_eq!(Revision::new(text).expect("a revision").as_str(), text);
    }
    for path in ["../x", "/x", "a/../x", "a//x", ".", "a\\x", "a\0", "a\n", ""] {
        assert!(!cache::is_plain(path), "{path:?}");
    }
    let commit = "a".repeat(40);
    let text = format!(
        r#"{{"sha":"{commit}","siblings":[
            {{"rfilename":"../evil.gguf","size":1,"blobId":"{commit}"}},
            {{"rfilename":"m.gguf","size":1,"blobId":"../../../x"}},
            {{"rfilename":"n.gguf","size":1,"lfs":{{"sha256":"../../x","size":1,"pointerSize":1}}}}]}}"#
    );
    let one = id("a/b");
    let listing = HubListing::parse(&one, &text).expect("a listing");
    assert_eq!(listing.paths(), ["m.gguf", "n.gguf"]);
    for path in listing.paths() {
        assert_eq!(listing.file(&one, path).expect_err("no digest").code, "no_digest");
    }
    for sha in ["", "../../x", &"A".repeat(40), &"a".repeat(64)] {
        let text = format!(r#"{{"sha":"{sha}","siblings":[]}}"#);
        assert_eq!(HubListing::parse(&one, &text).expect_err("no commit").code, "bad_listing");
    }
    assert_eq!(HubListing::parse(&one, "<html>").expect_err("a page").code, "bad_listing");
}

#[test]
fn links_lead_from_any_depth_to_their_blob() {
    assert_eq!(cache::link_target("m.gguf", "ab"), "../../blobs/ab");
    assert_eq!(cache::link_target("Q4/x/m.gguf", "ab"), "../../../../blobs/ab");
}

#[test]
fn case_x09_the_token_goes_to_the_hub_alone_and_every_hop_is_https() {
    let hub = Endpoint::parse("https://Hub.example:8443/").expect("an endpoint");
    for (url, trusted) in [
        ("https://hub.example:8443/a/b", true),
        ("https://hub.example/a/b", false),
        ("https://cdn.hub.example:8443/a", false),
        ("https://hub.example:8443.evil.example/a", false),
        ("https://evil.example/@hub.example:8443/", false),
        ("http://hub.example:8443/a", false),
    ] {
        assert_eq!(hub.trusts(url), trusted, "{url}");
    }
    assert!(Endpoint::parse("https://hub.example").expect("one").trusts("https://hub.example:443/a"));
    let from = "https://hub.example:8443/a/b?x=1";
    for (location, to) in [
        ("https://cdn.example/x?sig=1", Some("https://cdn.example/x?sig=1")),
        ("HTTPS://cdn.example/x", Some("HTTPS://cdn.example/x")),
        ("//cdn.example/x", Some("https://cdn.example/x")),
        ("/c", Some("https://hub.example:8443/c")),
        ("c", Some("https://hub.example:8443/a/c")),
        ("http://cdn.example/x", None),
        ("ftp://cdn.example/x", None),
        ("file:///etc/passwd", None),
        ("https://user:pass@cdn.example/x", None),
        ("https://", None),
        ("https://a b/", None),
        ("/a\r\nX: y", None),
    ] {
        assert_eq!(hop(from, location).ok().as_deref(), to, "{location:?}");
    }
}

#[test]
fn an_endpoint_is_https_without_a_password() {
    for text in [
        "http://hub.example",
        "hub.example",
        "",
        "https://",
        "https://u:p@hub.example",
        "https://h/?x",
        "https://h h",
    ] {
        let refusal = Endpoint::parse(text).expect_err(text);
        assert_eq!(refusal.code, "bad_endpoint");
        assert!(!refusal.message.contains("u:p"), "{}", refusal.message);
    }
    assert_eq!(Endpoint::parse(" https://h:1/base/ ").expect("one").as_str(), "https://h:1/base");
}

#[test]
fn a_quantization_is_read_from_a_name() {
    for (name, want) in [
        ("Qwen3-4B-Q4_K_M.gguf", Some("Q4_K_M")),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", Some("Q4_1")),
        ("m-UD-Q4_K_XL-00001-of-00003.gguf", Some("UD-Q4_K_XL")),
        ("m-iq2_xxs.gguf", Some("IQ2_XXS")),
        ("Q8_0/m-Q8_0.GGUF", Some("Q8_0")),
        ("m-f16.gguf", Some("F16")),
        ("m-BF16.gguf", Some("BF16")),
        ("gpt-oss-20b-MXFP4.gguf", Some("MXFP4")),
        ("Qwen3-4B.gguf", None),
        ("q.gguf", None),
        ("README.md", None),
    ] {
        assert_eq!(quant(name).as_deref(), want, "{name}");
    }
}

#[test]
fn row_f2_an_id_is_inferred_from_its_name_and_basert_has_a_tool_of_its_own() {
    let format = |text: &str| {
        let one = id(text);
        wanted(&one, &pick(&Choice::Auto, &Model::Id(text.into())).expect("a pick"))
    };
    assert_eq!(format("a/M-GGUF").expect("gguf"), Format::Gguf);
    assert_eq!(format("mlx-community/M-4bit").expect("mlx"), Format::MlxDirectory);
    let refusal = format("a/M").expect_err("neither");
    assert_eq!(refusal.code, "needs_basert_tool");
    assert!(refusal.hints.iter().any(|hint| hint.contains("--runtime llamacpp")), "{:?}", refusal.hints);
}
