//! How pip is run so that an environment holds the pinned wheels and nothing of the user's own.
//!
//! The interpreter is the install's, isolated (`-I`): no `PYTHON*` variable, no user site, nothing
//! of the current folder. Its environment is made from nothing, with pip's network settings alone,
//! and no configuration file is read.

use super::packages::{Index, Packages};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Runs pip as `-m pip` does, and ends with whoever holds the other end of its standard input:
/// a run whose superfluid was killed must not go on writing.
const START: &str = "\
import os, runpy, signal, threading
def watch():
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGKILL)
threading.Thread(target=watch, daemon=True).start()
runpy.run_module('pip', run_name='__main__', alter_sys=True)
";

/// pip's network settings, the proxies and the certificates its libraries know, and where a
/// `.netrc` lies. Which index it asks is no network setting: `--from` names another.
const PASSED: [&str; 21] = [
    "PIP_CERT",
    "PIP_CLIENT_CERT",
    "PIP_PROXY",
    "PIP_TRUSTED_HOST",
    "PIP_TIMEOUT",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_RETRIES",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NETRC",
    "HOME",
];

/// One variable of a program's environment, which holds no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variable {
    /// Passed on, where superfluid has it itself. Its value stays out of effects and logs.
    Pass {
        /// Its name.
        name: String,
    },
    /// Passed on under another name, where superfluid has none of that name.
    PassAs {
        /// Its name for the program.
        name: String,
        /// Its name here.
        from: String,
    },
    /// Always this.
    Set {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
}

/// The environment that `variables` make of superfluid's own. `own` looks a variable up; one that
/// is set to nothing counts as not set.
pub fn environment<V: From<String>>(
    variables: &[Variable],
    own: impl Fn(&str) -> Option<V>,
) -> Vec<(String, V)> {
    let made = variables.iter().filter_map(|variable| match variable {
        Variable::Pass { name } => Some((name.clone(), own(name)?)),
        Variable::PassAs { name, from } => match own(name) {
            Some(_) => None,
            None => Some((name.clone(), own(from)?)),
        },
        Variable::Set { name, value } => Some((name.clone(), V::from(value.clone()))),
    });
    made.collect()
}

/// pip's environment. `temporary` is a folder of its own.
pub fn variables(temporary: &str) -> Vec<Variable> {
    let set = |name: &str, value: &str| Variable::Set { name: name.into(), value: value.into() };
    let mut variables: Vec<Variable> =
        PASSED.iter().map(|name| Variable::Pass { name: (*name).into() }).collect();
    // superfluid's own fetches trust this file; pip's may not look at it.
    variables.push(Variable::PassAs { name: "PIP_CERT".into(), from: "SSL_CERT_FILE".into() });
    // The null device: of all configuration files none is read.
    variables.push(set("PIP_CONFIG_FILE", "/dev/null"));
    variables.push(set("TMPDIR", temporary));
    variables
}

/// The interpreter's arguments: `packages`, as `requirements` lists them, into the new folder `target`.
pub fn arguments(packages: &Packages, requirements: &str, target: &str) -> Vec<String> {
    let fixed = [
        "-I",
        "-c",
        START,
        "install",
        "--require-hashes",
        "--no-deps",
        "--only-binary=:all:",
        "--disable-pip-version-check",
        "--no-input",
        "--no-cache-dir",
        "--no-color",
        "--progress-bar=off",
        "--no-warn-script-location",
        "--root-user-action=ignore",
        "--target",
        target,
        "-r",
        requirements,
    ];
    let mut arguments: Vec<String> = fixed.into_iter().map(ToString::to_string).collect();
    match &packages.index {
        Index::Default => {}
        Index::Url { url } => arguments.extend(["--index-url".into(), url.clone()]),
        // The folder is one or the other; both leave the default index out.
        Index::Folder { path } => {
            arguments.extend(["--index-url".into(), file_url(path), "--find-links".into(), path.clone()]);
        }
    }
    arguments
}

/// An absolute path as an address.
fn file_url(path: &str) -> String {
    let mut url = String::from("file://");
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => {
                url.push(byte.into());
            }
            _ => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url
}
