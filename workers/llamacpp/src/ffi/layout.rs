//! Tells whether a library's parameter structs are laid out as b11284's, before one is passed.
//!
//! llama.cpp passes these structs by value and has no call that tells their size. What tells is
//! `*_default_params`: it returns the struct, and what it returns is known. A struct that large
//! comes back through memory the caller provides. So that memory is larger than the struct and
//! filled with a pattern first, and afterwards every byte shows who wrote it: a struct of another
//! size is seen by where the writing ends, a field that moved, came or went by its value.
//!
//! The call can't be declared in Rust: a function that returns a struct by value can't be given
//! memory with something in it already, and a function that takes the pointer as its argument is
//! the same call on some processors only (on AArch64 the pointer has a register of its own, x8).
//! So it is made in assembly, where the pointer goes into the register the C ABI names. If the
//! library returns something small in registers instead, the memory is not touched, and that too
//! is an answer.
#![expect(unsafe_code, reason = "calls a function whose return type is in doubt")]

use super::types::{Expected, Field, Layout};
use core::ffi::c_void;

const ROOM: usize = 4096;

/// Memory for a returned struct, aligned as any C struct could want it.
#[repr(C, align(64))]
struct Returned([u8; ROOM]);

/// Compares what the library's default-parameter function returns with `layout`.
///
/// `Err` says in words what differs: `llama_context_params.n_ubatch is 7, expected 512`.
///
/// # Safety
/// `function` is a C function without arguments that returns a struct by value.
pub(crate) unsafe fn compare(function: *const c_void, layout: &Layout) -> Result<(), String> {
    // SAFETY: the caller's promise is the same.
    let (one, other) = unsafe { (returned(function, 0xA5)?, returned(function, 0x5A)?) };
    let written = |at: usize| one.0[at] == other.0[at];
    let end = (0..ROOM).rev().find(|at| written(*at)).map_or(0, |last| last + 1);
    for field in layout.fields {
        if field.offset >= end {
            return Err(format!(
                "{} has {end} bytes and no {}, expected {}",
                layout.name, field.name, layout.size
            ));
        }
        let set = (field.offset..field.offset + width(field)).all(written);
        let found = if set { show(read(&one.0, field)) } else { "not set".to_owned() };
        let expected = show(field.expected);
        if found != expected {
            return Err(format!("{}.{} is {found}, expected {expected}", layout.name, field.name));
        }
    }
    if end > layout.size {
        return Err(format!("{} has {end} bytes, expected {}", layout.name, layout.size));
    }
    Ok(())
}

fn width(field: &Field) -> usize {
    match field.expected {
        Expected::Bool(_) => 1,
        Expected::U32(_) | Expected::I32(_) | Expected::F32(_) => 4,
        Expected::Null | Expected::Usize(_) => size_of::<usize>(),
    }
}

/// What the field holds, in the kind that is expected. A bool that is neither is shown as a number.
fn read(bytes: &[u8; ROOM], field: &Field) -> Expected {
    let at = field.offset;
    let four = || [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    let word = || {
        let mut word = [0; size_of::<usize>()];
        word.copy_from_slice(&bytes[at..at + size_of::<usize>()]);
        usize::from_ne_bytes(word)
    };
    match field.expected {
        Expected::Bool(_) if bytes[at] > 1 => Expected::U32(u32::from(bytes[at])),
        Expected::Bool(_) => Expected::Bool(bytes[at] == 1),
        Expected::U32(_) => Expected::U32(u32::from_ne_bytes(four())),
        Expected::I32(_) => Expected::I32(i32::from_ne_bytes(four())),
        Expected::F32(_) => Expected::F32(f32::from_ne_bytes(four())),
        Expected::Null if word() == 0 => Expected::Null,
        Expected::Null | Expected::Usize(_) => Expected::Usize(word()),
    }
}

fn show(value: Expected) -> String {
    match value {
        Expected::U32(value) => value.to_string(),
        Expected::I32(value) => value.to_string(),
        Expected::F32(value) => value.to_string(),
        Expected::Bool(value) => value.to_string(),
        Expected::Null => "null".to_owned(),
        Expected::Usize(value) => value.to_string(),
    }
}

/// Calls `function` with memory full of `pattern` for the struct it returns.
///
/// # Safety
/// `function` is a C function without arguments that returns a struct by value.
#[cfg(all(target_arch = "x86_64", unix))]
unsafe fn returned(function: *const c_void, pattern: u8) -> Result<Returned, String> {
    let mut memory = Returned([pattern; ROOM]);
    // SAFETY: the System V ABI passes the address of a returned struct's memory in rdi; `memory` is
    // larger than any struct in question and lives across the call. clobber_abi names every
    // register a C function may change, and without `nostack` the stack is aligned for a call.
    // A function that returns in registers ignores rdi.
    unsafe {
        core::arch::asm!(
            "call {function}",
            function = in(reg) function,
            in("rdi") memory.0.as_mut_ptr(),
            clobber_abi("C"),
        );
    }
    Ok(memory)
}

/// Calls `function` with memory full of `pattern` for the struct it returns.
///
/// # Safety
/// `function` is a C function without arguments that returns a struct by value.
#[cfg(all(target_arch = "aarch64", unix))]
unsafe fn returned(function: *const c_void, pattern: u8) -> Result<Returned, String> {
    let mut memory = Returned([pattern; ROOM]);
    // SAFETY: AAPCS64 passes the address of a returned struct's memory in x8; `memory` is larger
    // than any struct in question and lives across the call. clobber_abi names every register a C
    // function may change, the link register included, and without `nostack` the stack is aligned
    // for a call. A function that returns in registers ignores x8.
    unsafe {
        core::arch::asm!(
            "blr {function}",
            function = in(reg) function,
            in("x8") memory.0.as_mut_ptr(),
            clobber_abi("C"),
        );
    }
    Ok(memory)
}

/// The C ABI of other processors has not been looked at.
///
/// # Safety
/// None needed; the same signature as its siblings.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), unix)))]
unsafe fn returned(_function: *const c_void, _pattern: u8) -> Result<Returned, String> {
    Err("its C API can't be checked on this processor".to_owned())
}
