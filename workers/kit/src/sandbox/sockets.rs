//! No sockets but those that stay on this machine: neither TCP nor UDP, raw or any other.

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;

/// Families that stay on this machine: other programs' sockets (Landlock scopes them), and the
/// kernel's own news, which drivers ask for devices.
const LOCAL: [i32; 2] = [libc::AF_UNIX, libc::AF_NETLINK];

/// The same call as programs with 32-bit pointers make it.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// Has the kernel refuse, for this process and all it starts, to make a socket of another family; and
/// the queue of requests that would make one without a call.
///
/// # Errors
/// The kernel has no such filters, or knows this machine by a name that nobody here does.
pub(super) fn forbid() -> Result<(), seccompiler::Error> {
    seccompiler::apply_filter(&filter()?)
}

fn filter() -> Result<BpfProgram, BackendError> {
    let other = LOCAL.map(|family| {
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family.unsigned_abs().into())
    });
    let socket = vec![SeccompRule::new(other.into_iter().collect::<Result<_, _>>()?)?];
    let calls = [(libc::SYS_socket, socket), (libc::SYS_io_uring_setup, Vec::new())];
    let mut rules = BTreeMap::new();
    for (call, rule) in calls {
        #[cfg(target_arch = "x86_64")]
        rules.insert(call + X32, rule.clone());
        rules.insert(call, rule);
    }
    let refuse = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, std::env::consts::ARCH.try_into()?)?.try_into()
}
