//! Threads that stay between passes.
//!
//! Without a pool llama.cpp starts its threads anew for each pass. A new thread is put on whichever
//! core looks idle just then: where that is the caller's own, a prompt takes twice as long
//! (measured on two cores: 75 ms instead of 42 for the first prompt after a pause), and each pass
//! of a small model pays for the start (4.3 ms a token instead of 3.95).
#![expect(unsafe_code, reason = "calls llama.cpp")]

use super::library::Library;
use super::types::RawPool;
use core::ffi::{c_int, c_void};
use core::ptr::NonNull;

/// `struct ggml_threadpool_params` of b11284.
#[repr(C)]
#[derive(Clone, Copy)]
struct PoolParams {
    /// Cores to stay on; none named, the system chooses.
    cpumask: [u8; 512],
    n_threads: c_int,
    prio: c_int,
    /// How long threads spin for the next pass before they sleep, in 131,072 looks.
    poll: u32,
    strict_cpu: u8,
    paused: u8,
}

/// Room for what the library takes the struct to be, whatever that is.
#[repr(C, align(16))]
struct Probe([u8; 4096]);

/// Passes follow each other within a fraction of a millisecond while there is work; llama.cpp's
/// default of 50 would go on spinning for a quarter of a second after the last.
const POLL: u32 = 5;
/// A byte that the library's defaults do not have.
const UNTOUCHED: u8 = 0xA5;
const SIZE: usize = size_of::<PoolParams>();

type PoolNew = unsafe extern "C" fn(*mut c_void) -> *mut RawPool;
type PoolFree = unsafe extern "C" fn(*mut RawPool);

/// The processor backend's threads; freed when dropped. A context that it was attached to must be
/// freed before, or have completed a pass since it was given another: llama.cpp's processor backend
/// pauses the pool of its last pass when the next pass has another one.
pub(super) struct Pool {
    raw: NonNull<RawPool>,
    free: PoolFree,
}

impl Pool {
    /// A pool of `threads`; `None` where this build has none that works as b11284's does, which
    /// costs speed and nothing else.
    pub(super) fn new(library: &Library, threads: c_int) -> Option<Self> {
        let params = params(library, threads)?;
        let new = library.processor_function(c"ggml_threadpool_new")?;
        let free = library.processor_function(c"ggml_threadpool_free")?;
        // SAFETY: both pointers are the processor backend's functions of these names, of the types
        // ggml-cpu.h of b11284 declares. `params` has the layout this library was found to use, and
        // is only read, during the call.
        unsafe {
            let new = core::mem::transmute::<*mut c_void, PoolNew>(new.as_ptr());
            let free = core::mem::transmute::<*mut c_void, PoolFree>(free.as_ptr());
            let mut params = params;
            let raw = NonNull::new(new((&raw mut params).cast()))?;
            Some(Self { raw, free })
        }
    }

    pub(super) fn raw(&self) -> *mut RawPool {
        self.raw.as_ptr()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: made by `new`, freed once; no context uses it any more.
        unsafe { (self.free)(self.raw.as_ptr()) }
    }
}

/// The library's own defaults for `threads`, if they are where b11284 has them.
fn params(library: &Library, threads: c_int) -> Option<PoolParams> {
    let mut probe = Probe([UNTOUCHED; 4096]);
    let first = (&raw mut probe).cast::<c_void>();
    // SAFETY: in every ggml that has it this writes one struct's defaults to the address, and
    // 4096 bytes are several times what any of them has had.
    unsafe { (library.symbols.ggml_threadpool_params_init)(first, threads) };
    let (head, rest) = probe.0.split_at(SIZE);
    let flags = core::mem::offset_of!(PoolParams, strict_cpu);
    let number =
        |at: usize| head.get(at..at + 4).and_then(|four| four.try_into().ok()).map(i32::from_ne_bytes);
    let same = head[..512].iter().all(|byte| *byte == 0)
        && number(core::mem::offset_of!(PoolParams, n_threads)) == Some(threads)
        && number(core::mem::offset_of!(PoolParams, prio)) == Some(0)
        && number(core::mem::offset_of!(PoolParams, poll)) == Some(50)
        && head.get(flags..flags + 2) == Some(&[0, 0])
        && rest.iter().all(|byte| *byte == UNTOUCHED);
    let cpumask = [0; 512];
    same.then_some(PoolParams { cpumask, n_threads: threads, prio: 0, poll: POLL, strict_cpu: 0, paused: 0 })
}
