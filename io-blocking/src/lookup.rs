//! Looks at what is on disk: a runtime's installs, where its worker might be, what a model is.

use crate::Home;
use crate::install::look;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use superfluid_core::Refusal;
use superfluid_core::install::{layout, machine};
use superfluid_core::runtime::format::{
    Entry, Format, HEAD_BYTES, Inspected, Verdict, complete, inspect_directory, inspect_file, mlx,
};
use superfluid_core::runtime::gguf::{FIRST_PREFIX, Header, Parsed};
use superfluid_core::runtime::resolve::{BASERT_LIB, LLAMA_LIB, NamedLibrary, paths};
use superfluid_core::runtime::{ResolveFacts, RuntimeId, Stat};

/// The longest JSON file of an MLX directory that is read.
const INDEX_MAX: u64 = 64 << 20;

/// Everything worker resolution asks of this process and its disk. `linked` are the runtimes built
/// into this build.
pub fn resolve_facts(runtime: RuntimeId, linked: &[RuntimeId], home: &Home) -> Result<ResolveFacts, Refusal> {
    resolve_facts_with(runtime, linked, home, None)
}

/// The same where `--basert-lib` names a library.
pub fn resolve_facts_with(
    runtime: RuntimeId,
    linked: &[RuntimeId],
    home: &Home,
    basert_lib: Option<&str>,
) -> Result<ResolveFacts, Refusal> {
    let listing = look(runtime, &home.runtime(runtime))?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let exe = std::env::current_exe()
        .map_err(|error| Refusal::new("io", format!("this program cannot find its own place: {error}")))?;
    let mut facts = ResolveFacts {
        variable: std::env::var_os(runtime.worker_variable())
            .map(|value| value.to_string_lossy().into_owned()),
        own_library: std::env::var_os(LLAMA_LIB).is_some_and(|value| !value.is_empty()),
        basert_lib: match basert_lib {
            Some(path) => Some(NamedLibrary { path: path.into(), by: "--basert-lib".into() }),
            None => std::env::var_os(BASERT_LIB).filter(|value| !value.is_empty()).map(|value| {
                NamedLibrary { path: value.to_string_lossy().into_owned(), by: BASERT_LIB.into() }
            }),
        },
        current_dir: std::env::current_dir().map_or_else(|_| "/".into(), |dir| text(&dir)),
        exe_real: exe.canonicalize().ok().map(|exe| text(&exe)),
        exe: text(&exe),
        home: text(home.path()),
        linked: linked.to_vec(),
        installs: machine::installed(&listing),
        current: listing.current.as_deref().and_then(layout::named),
        pinned: listing.pinned.as_deref().and_then(layout::named),
        stats: BTreeMap::new(),
    };
    facts.stats = stats(runtime, &facts);
    Ok(facts)
}

/// What lies at each path resolution asks about.
fn stats(runtime: RuntimeId, facts: &ResolveFacts) -> BTreeMap<String, Stat> {
    paths(runtime, facts)
        .into_iter()
        .map(|path| (stat(Path::new(&path)), path))
        .map(|(stat, path)| (path, stat))
        .collect()
}

fn stat(path: &Path) -> Stat {
    match path.metadata() {
        Ok(meta) if meta.is_dir() => Stat::Folder,
        Ok(meta) if meta.permissions().mode() & 0o111 != 0 => {
            match rustix::fs::access(path, rustix::fs::Access::EXEC_OK) {
                Ok(()) => Stat::Executable,
                Err(_) => Stat::File,
            }
        }
        Ok(_) => Stat::File,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Stat::Missing,
        Err(error) => Stat::Unclear(error.to_string()),
    }
}

/// What a model file or folder is, by what is in it; a GGUF file is refused here where its header
/// already says that it cannot be served.
pub fn inspect(path: &Path) -> Result<Inspected, Refusal> {
    let name = path.display().to_string();
    let cannot = |error: std::io::Error| {
        let refusal = Refusal::new(
            "model_not_found",
            match error.kind() {
                std::io::ErrorKind::NotFound => format!("there is no model at {name}"),
                _ => format!("cannot read {name}: {error}"),
            },
        );
        refusal.hint("check the path")
    };
    let meta = path.metadata().map_err(cannot)?;
    if !meta.is_dir() && !meta.is_file() {
        return Err(Refusal::new("bad_model", format!("{name} is neither a file nor a folder"))
            .hint("save the model to a file first; it is read in more than one place"));
    }
    if meta.is_dir() {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(path).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let size = entry.path().metadata().ok().filter(|meta| !meta.is_dir()).map(|meta| meta.len());
            entries.push(Entry { name: entry.file_name().to_string_lossy().into_owned(), size });
        }
        let inspected = inspect_directory(&name, &entries);
        if inspected.verdict != Verdict::Model(Format::MlxDirectory) {
            return Ok(inspected);
        }
        let read = |file: &str| {
            if !entries.iter().any(|entry| entry.name == file) {
                return Ok(None);
            }
            let mut text = Vec::new();
            File::open(path.join(file))?.take(INDEX_MAX).read_to_end(&mut text)?;
            Ok(Some(text))
        };
        if std::env::var_os(mlx::TRUST).is_none_or(|value| value != "1") {
            for file in mlx::SETTINGS {
                if let Some(text) = read(file).map_err(cannot)? {
                    mlx::refuse_own_code(&name, file, &text)?;
                }
            }
        }
        if let Some(index) = read(mlx::INDEX).map_err(cannot)? {
            let shards = mlx::shards(&index)?;
            complete(&name, shards.iter().map(String::as_str), &entries)?;
        }
        return Ok(inspected);
    }
    let mut file = File::open(path).map_err(cannot)?;
    let size = file.metadata().map_err(cannot)?.len();
    let mut head = Vec::new();
    file.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(cannot)?;
    let inspected = inspect_file(&name, size, &head);
    if inspected.verdict != Verdict::Model(Format::Gguf) {
        return Ok(inspected);
    }
    let mut wanted = FIRST_PREFIX;
    loop {
        let more = wanted.min(size).saturating_sub(head.len() as u64);
        file.by_ref().take(more).read_to_end(&mut head).map_err(cannot)?;
        match Header::parse(&head, size).map_err(|error| error.refusal(&name))? {
            Parsed::Header(header) => {
                header.servable(&name)?;
                let parts = header.parts(&name);
                let size = |part: &String| {
                    let beside = path.with_file_name(Path::new(part).file_name()?);
                    beside.metadata().ok().map(|meta| meta.len())
                };
                let entries: Vec<Entry> =
                    parts.iter().map(|part| Entry { name: part.clone(), size: size(part) }).collect();
                complete(&name, parts.iter().map(String::as_str), &entries)?;
                return Ok(inspected);
            }
            Parsed::NeedMore { bytes } if bytes > head.len() as u64 && wanted < size => wanted = bytes,
            Parsed::NeedMore { .. } => {
                return Err(Refusal::new("bad_model", format!("{name} changed while it was read")));
            }
        }
    }
}
