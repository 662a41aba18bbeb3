//! The official OpenAI client for Python, as an application uses it.

use super::serve;
use std::path::Path;
use std::process::Command;
use superfluid_tests::things;

#[test]
fn the_official_python_client_lists_chats_streams_and_sees_typed_errors() {
    let Some(python) = things::need(things::python_with_openai()) else { return };
    let Some(served) = serve(&["--api-key", "a key of the test"]) else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/real/openai_client.py");
    let mut client = Command::new(python);
    client.arg(script).arg(format!("http://{}/v1", served.daemon.address())).arg(&served.model);
    client.env("OPENAI_API_KEY", "a key of the test").env_remove("OPENAI_BASE_URL");
    // A proxy of this machine has no business between a test and its own server.
    for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        client.env_remove(name);
    }
    super::done(&client.output().expect("runs"));
}
