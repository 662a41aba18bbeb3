//! The process's own standard streams.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

/// Takes standard output for this program alone: the returned file is what standard output was,
/// and whatever a library prints there from now on goes to standard error.
pub fn reserve_stdout() -> io::Result<File> {
    let kept = rustix::io::fcntl_dupfd_cloexec(io::stdout().as_fd(), 3)?;
    rustix::stdio::dup2_stdout(io::stderr().as_fd())?;
    Ok(File::from(kept))
}

/// What standard input was, as a file of its own; nothing else in the process reads it then.
pub(crate) fn take_stdin() -> io::Result<File> {
    let kept = rustix::io::fcntl_dupfd_cloexec(io::stdin().as_fd(), 3)?;
    if let Ok(nothing) = File::open("/dev/null") {
        rustix::stdio::dup2_stdin(nothing.as_fd())?;
    }
    Ok(File::from(kept))
}

/// Has the kernel kill this process when the thread that started it ends, where the kernel can.
/// Elsewhere, and for a parent that is already gone, the end of standard input does the same, a
/// little later.
///
/// The parent must start workers from a thread that lives as long as it does.
pub(crate) fn die_with_parent() {
    #[cfg(target_os = "linux")]
    {
        let parent = rustix::process::getppid();
        let signal = Some(rustix::process::Signal::KILL);
        if let Err(error) = rustix::process::set_parent_process_death_signal(signal) {
            eprintln!("the worker cannot be tied to its parent's life: {error}");
        }
        if rustix::process::getppid() != parent {
            std::process::exit(0);
        }
    }
}
