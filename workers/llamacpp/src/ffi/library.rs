//! The loaded llama.cpp library, checked before its first real call.
#![expect(unsafe_code, reason = "loads a library and calls it")]

use super::layout;
use super::log;
use super::symbols::Symbols;
use super::types::{ContextParams, ModelParams};
use crate::{find, needs};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::NonNull;
use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use superfluid_core::Refusal;
use superfluid_core::capability::Device;

/// `GGML_BACKEND_DEVICE_TYPE_CPU`.
const PROCESSOR: c_int = 0;

/// The build whose headers superfluid was written against.
const TESTED: &str = "b11284";

/// A llama.cpp library whose C API was found to be b11284's, its backends loaded. It stays
/// loaded until the process ends: ggml's threads and exit handlers would not survive less.
pub struct Library {
    pub(super) symbols: Symbols,
    path: PathBuf,
}

impl Library {
    /// Loads the library at an absolute path, with its companions and backends from the same
    /// folder only, and checks its C API.
    ///
    /// # Errors
    /// `library_not_loadable` with the loader's own words; `incompatible_library` where the C API
    /// differs; `no_backend` where there is nothing to compute with.
    pub fn open(path: &Path, show_log: bool) -> Result<&'static Self, Refusal> {
        log::show(show_log);
        for companion in needs::companions(path) {
            // What is wrong with it, the loader says again for the library that needs it.
            let _ = keep_loaded(&companion);
        }
        let handle = keep_loaded(path).map_err(|why| not_loadable(path, &why))?;
        // SAFETY: the library is never unloaded, and no pointer is called before `check_layout`.
        let symbols = unsafe { Symbols::resolve(&handle.into()) }.map_err(|missing| lacks(path, &missing))?;
        check_layout(path, &symbols)?;
        let library: &'static Self = Box::leak(Box::new(Self { symbols, path: path.to_path_buf() }));
        library.start()?;
        Ok(library)
    }

    fn start(&self) -> Result<(), Refusal> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        if let Ok(entries) = std::fs::read_dir(folder) {
            let backends =
                entries.filter_map(Result::ok).filter(|entry| find::is_backend(&entry.file_name()));
            let companions: std::collections::BTreeSet<PathBuf> =
                backends.flat_map(|backend| needs::companions(&backend.path())).collect();
            for companion in companions {
                // A backend whose companion does not load is not used; `check` then lists no such device.
                let _ = keep_loaded(&companion);
            }
        }
        let folder = c_path(folder)?;
        // SAFETY: the callbacks are functions that live as long as the process and take any
        // arguments; `folder` is a C string that outlives the call. No other thread calls the
        // library yet: nobody has it.
        unsafe {
            (self.symbols.llama_log_set)(Some(log::callback), core::ptr::null_mut());
            (self.symbols.ggml_log_set)(Some(log::callback), core::ptr::null_mut());
            (self.symbols.ggml_set_abort_callback)(Some(log::last_words));
            (self.symbols.ggml_backend_load_all_from_path)(folder.as_ptr());
            (self.symbols.llama_backend_init)();
        }
        if self.devices().iter().all(|device| device.backend != "cpu") {
            let complaints = log::take_complaints();
            let mut refusal = Refusal::new(
                "no_backend",
                format!("{}: llama.cpp loaded no CPU backend from its own folder", self.path.display()),
            );
            for complaint in complaints {
                refusal = refusal.hint(format!("llama.cpp said: {complaint}"));
            }
            return Err(refusal
                .hint("a libggml-cpu*.so of the same build belongs beside the library")
                .hint("superfluid runtime repair llamacpp"));
        }
        Ok(())
    }

    /// The library's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The build's own name for itself; `llama.cpp` where it has none.
    pub fn version(&self) -> String {
        // SAFETY: no arguments; the result is checked by `text`.
        let version = unsafe { text((self.symbols.llama_version)()) };
        version.filter(|version| !version.is_empty()).unwrap_or_else(|| "unknown".to_owned())
    }

    /// The devices the loaded backends found, best first: as llama.cpp orders them, GPUs before
    /// accelerators before the processor.
    pub fn devices(&self) -> Vec<Device> {
        // SAFETY: no arguments.
        let count = unsafe { (self.symbols.ggml_backend_dev_count)() };
        let mut devices: Vec<(u8, Device)> = (0..count).filter_map(|index| self.device(index)).collect();
        devices.sort_by_key(|(rank, _)| *rank);
        devices.into_iter().map(|(_, device)| device).collect()
    }

    fn device(&self, index: usize) -> Option<(u8, Device)> {
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: `index` is below the count, so the device is one, and it lives as long as the
        // library. The two numbers outlive the call that writes them. Names are C strings of the
        // device's own lifetime, copied here.
        let (name, description, kind, reg) = unsafe {
            let device = (self.symbols.ggml_backend_dev_get)(index);
            if device.is_null() {
                return None;
            }
            (self.symbols.ggml_backend_dev_memory)(device, &raw mut free, &raw mut total);
            let reg = (self.symbols.ggml_backend_dev_backend_reg)(device);
            let reg = if reg.is_null() { None } else { text((self.symbols.ggml_backend_reg_name)(reg)) };
            (
                text((self.symbols.ggml_backend_dev_name)(device)),
                text((self.symbols.ggml_backend_dev_description)(device)),
                (self.symbols.ggml_backend_dev_type)(device),
                reg,
            )
        };
        let backend = family(&reg.unwrap_or_default());
        let name = description.filter(|text| !text.is_empty()).or(name).unwrap_or_default();
        // A Vulkan driver that computes on the processor calls itself a GPU; its name tells.
        let software = ["llvmpipe", "SwiftShader", "softpipe"].iter().any(|soft| name.contains(soft));
        let (rank, kind) = match kind {
            1 if !software => (0, "gpu"),
            2 if !software => (1, "igpu"),
            3 => (2, "accel"),
            _ => (3, "cpu"),
        };
        let (memory_total, memory_free) = (total as u64, free as u64);
        Some((rank, Device { backend, name, kind: kind.to_owned(), memory_total, memory_free }))
    }

    /// A function that the processor's backend offers under a name.
    pub(super) fn processor_function(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: indices are below the count, so each device is one; a registry lives as long as
        // the library. The name is a C string, read during the call.
        unsafe {
            (0..(self.symbols.ggml_backend_dev_count)()).rev().find_map(|index| {
                let device = (self.symbols.ggml_backend_dev_get)(index);
                if device.is_null() || (self.symbols.ggml_backend_dev_type)(device) != PROCESSOR {
                    return None;
                }
                let reg = (self.symbols.ggml_backend_dev_backend_reg)(device);
                if reg.is_null() {
                    return None;
                }
                NonNull::new((self.symbols.ggml_backend_reg_get_proc_address)(reg, name.as_ptr()))
            })
        }
    }

    /// What the CPU backend was built for and found, in llama.cpp's words.
    pub fn system_info(&self) -> String {
        // SAFETY: no arguments; the text is static and copied at once.
        unsafe { text((self.symbols.llama_print_system_info)()) }.unwrap_or_default()
    }
}

/// Backend family from a registry's name: llama.cpp says `MTL` for Metal.
fn family(registry: &str) -> String {
    match registry.to_ascii_lowercase().as_str() {
        "mtl" => "metal".to_owned(),
        "hip" => "rocm".to_owned(),
        other => other.to_owned(),
    }
}

/// Loads a library for good.
fn keep_loaded(path: &Path) -> Result<Handle, String> {
    // SAFETY: opening runs the library's initialisers. It is a file of the install this worker
    // belongs to, or one its user named to be loaded.
    let handle =
        unsafe { Handle::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| loader_words(&error))?;
    // A second handle is forgotten, so that dropping the first never unloads.
    // SAFETY: the file is loaded already; nothing is initialised again.
    if let Ok(second) = unsafe { Handle::open(Some(path), RTLD_NOW | RTLD_LOCAL) } {
        std::mem::forget(second);
    }
    Ok(handle)
}

/// The loader's own line (`dlerror`), which names the library or symbol that is missing.
fn loader_words(error: &libloading::Error) -> String {
    let inner = std::error::Error::source(error).map(ToString::to_string);
    inner.unwrap_or_else(|| error.to_string())
}

fn not_loadable(path: &Path, why: &str) -> Refusal {
    let refusal = Refusal::new("library_not_loadable", format!("{} can't be loaded: {why}", path.display()));
    let refusal = if why.contains("GLIBC") {
        refusal.hint("this build was made for a newer Linux than this one: use an older build, or build llama.cpp here")
    } else {
        refusal.hint("superfluid runtime repair llamacpp")
    };
    refusal.hint(format!("set {} to a build of your own", find::LIB_VARIABLE))
}

fn differs(path: &Path, what: &str) -> Refusal {
    Refusal::new(
        "incompatible_library",
        format!("{}: this llama.cpp's C API differs from {TESTED}'s: {what}", path.display()),
    )
    .hint(format!("superfluid runtime install llamacpp (the tested build is {TESTED})"))
    .hint(format!("set {} to a build with {TESTED}'s C API", find::LIB_VARIABLE))
}

fn lacks(path: &Path, missing: &[&str]) -> Refusal {
    let named = missing.iter().take(3).copied().collect::<Vec<_>>().join(", ");
    let more = missing.len().saturating_sub(3);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    differs(path, &format!("it lacks {named}{more}"))
}

fn check_layout(path: &Path, symbols: &Symbols) -> Result<(), Refusal> {
    let model = symbols.llama_model_default_params as *const c_void;
    let context = symbols.llama_context_default_params as *const c_void;
    // SAFETY: in every llama.cpp that has them these take nothing, return a struct by value and
    // only fill it in.
    unsafe {
        layout::compare(model, &ModelParams::LAYOUT).map_err(|what| differs(path, &what))?;
        layout::compare(context, &ContextParams::LAYOUT).map_err(|what| differs(path, &what))
    }
}

/// Copies a C string.
///
/// # Safety
/// `text` is null or a C string.
pub(super) unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, hence a C string by the caller's promise.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// A path as C takes it.
pub(super) fn c_path(path: &Path) -> Result<CString, Refusal> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Refusal::new("bad_path", format!("{} holds a zero byte", path.display())))
}
