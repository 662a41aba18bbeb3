//! Which of a repository's files make the model that was asked for.

use super::ModelId;
use super::gguf_name::{is_companion, part, quant, without_suffix};
use crate::refusal::Refusal;
use crate::runtime::format::Format;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The quantization taken where several are there and none is named.
const USUAL: &str = "Q4_K_M";

/// The files of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Their paths in the repository, in order.
    pub files: Vec<String>,
    /// What a runtime is given: the path of the (first) file, or empty for the folder itself.
    pub open: String,
}

/// Chooses among a repository's `paths`.
pub fn choose(id: &ModelId, format: Format, paths: &[&str]) -> Result<Chosen, Refusal> {
    match format {
        Format::Gguf => gguf(id, paths),
        Format::MlxDirectory => mlx(id, paths),
        Format::BaseBundle => Err(Refusal::new(
            "needs_basert_tool",
            format!("{id} is pulled with the basert tool: .base bundles are its own"),
        )
        .hint(format!("basert pull {}", id.repo()))),
    }
}

/// One model in one or more GGUF files.
#[derive(Debug, Default)]
struct Group<'a> {
    /// By part number; a whole file is part 1.
    files: BTreeMap<u32, &'a str>,
    /// How many parts there are to be.
    parts: u32,
}

impl Group<'_> {
    fn first(&self) -> &str {
        self.files.values().next().copied().unwrap_or_default()
    }

    fn label(&self) -> Option<String> {
        quant(self.first())
    }

    /// Whether a tag that is no quantization names it: its file, with or without its suffix.
    fn goes_by(&self, tag: &str) -> bool {
        self.files.values().any(|path| {
            let file = path.rsplit('/').next().unwrap_or_default();
            let stem = without_suffix(file).unwrap_or(file);
            let whole = part(file).map_or(stem, |(stem, _, _)| stem);
            [file, stem, whole].iter().any(|name| name.eq_ignore_ascii_case(tag))
        })
    }
}

fn gguf(id: &ModelId, paths: &[&str]) -> Result<Chosen, Refusal> {
    let mut groups: BTreeMap<String, Group<'_>> = BTreeMap::new();
    for path in paths.iter().copied().filter(|path| without_suffix(path).is_some() && !is_companion(path)) {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let (stem, one, all) = part(file).unwrap_or((file, 1, 1));
        let group = groups.entry(format!("{folder}/{stem} {all}")).or_default();
        group.parts = all;
        group.files.insert(one, path);
    }
    let groups: Vec<Group<'_>> = groups.into_values().collect();
    if groups.is_empty() {
        let refusal = Refusal::new("no_model_files", format!("{} has no GGUF file", id.repo()));
        return Err(match paths.iter().any(|path| path.ends_with(".safetensors")) {
            true => refusal
                .hint("it has safetensors: pass --runtime mlx on Apple silicon, or look for its GGUF twin"),
            false => refusal.hint("check the id; a repository of GGUF files often has GGUF in its name"),
        });
    }
    let chosen = pick(id, &groups)?;
    let missing: Vec<String> = (1..=chosen.parts)
        .filter(|one| !chosen.files.contains_key(one))
        .take(8)
        .map(|one| format!("{one} of {}", chosen.parts))
        .collect();
    if !missing.is_empty() {
        return Err(Refusal::new(
            "incomplete_model",
            format!("{} lacks parts of {}: {}", id.repo(), chosen.first(), missing.join(", ")),
        )
        .hint("choose another quantization, or tell whoever publishes it"));
    }
    let files: Vec<String> = chosen.files.values().map(ToString::to_string).collect();
    Ok(Chosen { open: chosen.first().into(), files })
}

fn pick<'a, 'b>(id: &ModelId, groups: &'b [Group<'a>]) -> Result<&'b Group<'a>, Refusal> {
    let labelled = |tag: &str| -> Vec<&'b Group<'a>> {
        groups
            .iter()
            .filter(|group| group.label().is_some_and(|label| label.eq_ignore_ascii_case(tag)))
            .collect()
    };
    let matching = match &id.tag {
        Some(tag) => {
            let named: Vec<&Group<'_>> = groups.iter().filter(|group| group.goes_by(tag)).collect();
            if named.is_empty() { labelled(tag) } else { named }
        }
        None if groups.len() == 1 => groups.iter().collect(),
        None => labelled(USUAL),
    };
    let labels: BTreeSet<String> = groups.iter().filter_map(Group::label).collect();
    let offered = |refusal: Refusal| {
        let some: Vec<String> = labels.iter().take(40).cloned().collect();
        if some.is_empty() {
            let names: Vec<&str> = groups.iter().take(20).map(Group::first).collect();
            return refusal.hint(format!("its files are {}", names.join(", ")));
        }
        refusal.hint(format!("it has {}; name one as {}:<quantization>", some.join(", "), id.repo()))
    };
    match (&matching[..], &id.tag) {
        ([one], _) => Ok(one),
        ([], Some(tag)) => Err(offered(Refusal::new("no_such_tag", format!("{} has no {tag}", id.repo())))),
        ([], None) => {
            let message = format!("{} has several models, and none of them is {USUAL}", id.repo());
            Err(offered(Refusal::new("ambiguous_model", message)))
        }
        (several, _) => {
            let names: Vec<&str> = several.iter().take(20).map(|group| group.first()).collect();
            let files: Vec<&str> = names.iter().filter_map(|path| path.rsplit('/').next()).collect();
            let example = files.first().copied().unwrap_or_default();
            Err(Refusal::new("ambiguous_model", format!("{id} is more than one model: {}", names.join(", ")))
                .hint(format!("name the file: {}:{example}", id.repo())))
        }
    }
}

/// What an MLX directory is made of besides its weights.
const MLX_SUFFIXES: [&str; 7] = [".json", ".jsonl", ".jinja", ".txt", ".tiktoken", ".model", ".py"];

fn mlx(id: &ModelId, paths: &[&str]) -> Result<Chosen, Refusal> {
    if let Some(tag) = &id.tag {
        return Err(Refusal::new(
            "no_such_tag",
            format!("{} is one model as a whole; there is no {tag} in it", id.repo()),
        )
        .hint("leave the tag out; an MLX model has a repository of its own for each quantization"));
    }
    let top: Vec<&str> = paths.iter().copied().filter(|path| !path.contains('/')).collect();
    let weights: Vec<&str> = top.iter().copied().filter(|path| path.ends_with(".safetensors")).collect();
    if weights.is_empty() || !top.contains(&"config.json") {
        let refusal = Refusal::new(
            "no_model_files",
            format!("{} is no MLX model: it lacks config.json or safetensors", id.repo()),
        );
        return Err(match paths.iter().any(|path| without_suffix(path).is_some()) {
            true => refusal.hint("it has GGUF files: pass --runtime llamacpp"),
            false => refusal.hint("check the id"),
        });
    }
    // A second copy of the weights under another name is not what the runtime loads.
    let usual: Vec<&str> = weights.iter().copied().filter(|path| path.starts_with("model")).collect();
    let weights = if usual.is_empty() { weights } else { usual };
    let mut files: Vec<&str> =
        top.into_iter().filter(|path| MLX_SUFFIXES.iter().any(|suffix| path.ends_with(suffix))).collect();
    files.extend(weights);
    files.sort_unstable();
    files.dedup();
    let files = files.into_iter().map(String::from).collect();
    Ok(Chosen { files, open: String::new() })
}
