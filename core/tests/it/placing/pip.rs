//! What pip says when it fails, and what people are told.

use super::disk::{Disk, drive};
use super::mlx::{machine, world};
use superfluid_core::Refusal;
use superfluid_core::install::machine::{Action, Fault, FaultKind, Outcome, Run};

/// An install whose pip ends like this.
fn told(run: &Run) -> Refusal {
    let mut disk = Disk::default();
    let done = drive(machine("1-a"), &mut disk, &world, &mut |effect| {
        matches!(effect.action, Action::Run { .. }).then(|| Outcome::Ran(run.clone()))
    });
    assert!(disk.nodes.is_empty(), "left behind: {:?}", disk.nodes.keys());
    done.result.expect_err("pip failed")
}

fn said(stderr: &str) -> Refusal {
    told(&Run::Exited { code: Some(1), signal: None, stdout: String::new(), stderr: stderr.into() })
}

#[test]
fn a_wrong_digest_is_told_with_the_package_and_both_digests() {
    let refusal = said(
        "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated the package \
         versions, please update the hashes. Otherwise, examine the package contents carefully; someone may have \
         tampered with them.\n    click==8.1.7 from file:///i/click.whl (from -r r.txt (line 1)):\n        \
         Expected sha256 aaaa\n             Got        bbbb\n\n",
    );
    assert_eq!(refusal.code, "wrong_sha256");
    assert_eq!(
        refusal.message,
        "a package is not the one that was pinned: click==8.1.7 from file:///i/click.whl (from -r r.txt (line 1)): \
         Expected sha256 aaaa Got bbbb"
    );
}

#[test]
fn the_worlds_failures_are_told_apart() {
    let warning = "WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by \
        'NewConnectionError(...)': /simple/mlx/\n";
    let none = "ERROR: Could not find a version that satisfies the requirement mlx==0.32.2 (from versions: none)\n\
        ERROR: No matching distribution found for mlx==0.32.2 (from -r r.txt (line 3))\n";
    for (stderr, code, part) in [
        (format!("{warning}{none}"), "network", "HTTPS_PROXY"),
        (none.into(), "no_package", "macOS is 14"),
        (
            "ERROR: SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]'))".into(),
            "certificate_not_trusted",
            "PIP_CERT",
        ),
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"
                .into(),
            "no_space",
            "SUPERFLUID_HOME",
        ),
        ("Fatal Python error: init_fs_encoding\n".into(), "pip_failed", "nothing was installed"),
    ] {
        let refusal = said(&stderr);
        assert_eq!(refusal.code, code, "{refusal:?}");
        assert!(refusal.hints.iter().any(|hint| hint.contains(part)), "{refusal:?}");
    }
    // Why it passed the index over pip says on stdout alone.
    let stdout = "Could not fetch URL https://i/: There was a problem confirming the ssl certificate: \
        HTTPSConnectionPool(host='i'): (Caused by SSLError('[SSL: CERTIFICATE_VERIFY_FAILED] self-signed')) - skipping\n";
    let run = Run::Exited { code: Some(1), signal: None, stdout: stdout.into(), stderr: none.into() };
    assert_eq!(told(&run).code, "certificate_not_trusted");
    assert!(said(none).message.ends_with(": mlx==0.32.2"), "{}", said(none).message);
}

#[test]
fn a_python_that_does_not_run_is_told_so() {
    let fault = |kind| Run::NotStarted(Fault::new(kind, "cannot run x"));
    assert_eq!(told(&fault(FaultKind::NotFound)).code, "python_failed");
    assert_eq!(told(&fault(FaultKind::NoExec)).code, "no_exec");
    let slow = told(&Run::TimedOut { stderr: "Collecting mlx".into() });
    assert!(slow.message.contains("in time") && slow.message.contains("Collecting mlx"), "{}", slow.message);
    let killed = Run::Exited { code: None, signal: Some(9), stdout: String::new(), stderr: String::new() };
    assert!(told(&killed).message.contains("SIGKILL"));
}
