//! `--config <file.toml>`: every flag of `serve` by its long name, as if it stood on the command line.
//!
//! The file becomes arguments before clap reads them, so that a value is judged by the same rules
//! wherever it stands and no flag can be forgotten here. A flag on the command line, or its variable
//! in the environment, wins; a list is replaced whole.

use super::key;
use crate::print;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use std::any::TypeId;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use superfluid_core::Refusal;
use toml::de::DeTable;
use toml::{Spanned, Table, Value};

/// Bytes of a file that are read.
const MOST: u64 = 1 << 20;
/// Flags that are about this one run of the command.
const NOT_IN_A_FILE: [&str; 3] = ["config", "check", "help"];
/// Three ways to say one thing: where one is given, the file's are not taken.
const KEYS: [&str; 2] = ["api-key", "api-key-file"];

/// The arguments, with the file's put in where `serve --config` names one.
///
/// # Errors
/// `bad_config`, with the file and the key.
pub(crate) fn with_file(command: &Command, args: Vec<OsString>) -> Result<Vec<OsString>, Refusal> {
    // What is wrong with the command line itself is said by the parse that counts.
    let Ok(all) = command.clone().ignore_errors(true).try_get_matches_from(&args) else { return Ok(args) };
    let Some(given) = all.subcommand_matches("serve") else { return Ok(args) };
    let Some(serve) = command.find_subcommand("serve") else { return Ok(args) };
    let Some(path) = given.get_one::<PathBuf>("config") else { return Ok(args) };
    let Some(at) = args.iter().position(|arg| arg == "serve") else { return Ok(args) };
    let (place, table) = Place::read(path)?;
    let mut merged = args[..=at].to_vec();
    for (name, value) in &table {
        let refuse = |what: String| place.refuse_at(name, &what);
        let arg = named(serve, name)
            .ok_or_else(|| refuse(format!("there is no key {name:?}")).hint(similar(serve, name)))?;
        let words = words(arg, value, &place.path).map_err(|why| refuse(format!("{name} {why}")))?;
        judge(serve, &words).map_err(|why| refuse(format!("{name}: {why}")))?;
        if !is_given(arg, name, given) {
            merged.extend(words);
        }
    }
    merged.extend_from_slice(&args[at + 1..]);
    Ok(merged)
}

/// A file, for messages and for paths in it.
struct Place {
    path: PathBuf,
    /// By key.
    lines: BTreeMap<String, usize>,
}

impl Place {
    fn refuse(&self, what: &str) -> Refusal {
        Refusal::new("bad_config", format!("{}: {what}", self.path.display()))
    }

    fn refuse_at(&self, key: &str, what: &str) -> Refusal {
        match self.lines.get(key) {
            Some(line) => self.refuse(&format!("line {line}: {what}")),
            None => self.refuse(what),
        }
    }

    fn read(path: &Path) -> Result<(Self, Table), Refusal> {
        let mut place = Self { path: path.into(), lines: BTreeMap::new() };
        let unreadable = |error: std::io::Error| place.refuse(&format!("it can't be read: {error}"));
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let mode = file.metadata().map_err(unreadable)?.permissions().mode();
        let mut text = String::new();
        file.take(MOST + 1).read_to_string(&mut text).map_err(unreadable)?;
        if text.len() as u64 > MOST {
            return Err(place.refuse(&format!("it is larger than {MOST} bytes")));
        }
        let broken = |error: toml::de::Error| place.refuse(&format!("it is no TOML: {error}"));
        let table: Table = text.parse().map_err(broken)?;
        let keys = DeTable::parse(&text).map_err(broken)?;
        place.lines =
            keys.get_ref().keys().map(|key| (key.get_ref().to_string(), line(&text, key))).collect();
        if mode & 0o004 != 0 && table.contains_key("api-key") {
            let name = path.file_name().unwrap_or_default().display();
            print::note(&format!(
                "warning: every user of this machine can read the API key in {name}; run chmod 600 on it"
            ));
        }
        Ok((place, table))
    }
}

/// The line that a key stands in, counted from 1.
fn line<T>(text: &str, key: &Spanned<T>) -> usize {
    text.bytes().take(key.span().start).filter(|byte| *byte == b'\n').count() + 1
}

/// A flag by its long name; the models that stand on the command line without one are `model` too.
fn named<'a>(serve: &'a Command, name: &str) -> Option<&'a Arg> {
    keys(serve).find(|(key, _)| *key == name).map(|(_, arg)| arg)
}

fn keys(serve: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    serve
        .get_arguments()
        .filter_map(|arg| Some((arg.get_long()?, arg)))
        .filter(|(key, _)| !NOT_IN_A_FILE.contains(key))
}

/// What may have been meant.
fn similar(serve: &Command, name: &str) -> String {
    let name = name.replace('_', "-").to_lowercase();
    let near = |key: &str| strsim::jaro_winkler(key, &name);
    let best = keys(serve).map(|(key, _)| (near(key), key)).max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((near, key)) if near > 0.8 => format!("did you mean {key}?"),
        _ => "the keys are the long names of the flags: superfluid serve --help".into(),
    }
}

/// Whether the command line or the environment says it already.
fn is_given(arg: &Arg, name: &str, given: &ArgMatches) -> bool {
    let said = |id: &str| {
        let source = given.value_source(id);
        matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
    };
    let key = KEYS.contains(&name);
    said(arg.get_id().as_str())
        || name == "model" && said("model")
        || key
            && (std::env::var_os(key::VARIABLE).is_some()
                || ["api_key", "api_key_file"].map(said) != [false; 2])
}

/// A value as arguments. Each flag takes one kind of value: what is quoted for no reason, or is a number
/// where a name belongs, was not meant so.
fn words(arg: &Arg, value: &Value, file: &Path) -> Result<Vec<OsString>, String> {
    let parser = arg.get_value_parser().type_id();
    let counts = [TypeId::of::<u16>(), TypeId::of::<u32>(), TypeId::of::<u64>()].iter().any(|n| parser == *n);
    let one = |value: &Value| -> Result<OsString, String> {
        let text = match (value, counts) {
            (Value::String(text), false) => text.clone(),
            (Value::Integer(number), true) => number.to_string(),
            (other, true) => return Err(format!("must be a whole number, not {}", kind(other))),
            (other, false) => return Err(format!("must be a text, not {}", kind(other))),
        };
        let is_path =
            matches!(arg.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath);
        let text = if is_path { from_the_file(&text, file).into() } else { OsString::from(text) };
        let Some(long) = arg.get_long() else { return Ok(text) };
        let mut word = OsString::from(format!("--{long}="));
        word.push(text);
        Ok(word)
    };
    match (arg.get_action(), value) {
        (ArgAction::SetTrue, Value::Boolean(on)) => {
            Ok(arg.get_long().filter(|_| *on).map(|long| format!("--{long}").into()).into_iter().collect())
        }
        (ArgAction::SetTrue, other) => Err(format!("must be true or false, not {}", kind(other))),
        (ArgAction::Append, Value::Array(list)) => list.iter().map(one).collect(),
        (_, value) => Ok(vec![one(value)?]),
    }
}

/// A path as the file means it: beside the file, unless it is absolute or begins with `~/`.
fn from_the_file(text: &str, file: &Path) -> PathBuf {
    if let Some(rest) = text.strip_prefix("~/")
        && let Some(home) = std::env::home_dir()
    {
        return home.join(rest);
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // An absolute path replaces the folder.
    folder.join(text)
}

/// Whether clap takes them; its words without its usage lines.
fn judge(serve: &Command, words: &[OsString]) -> Result<(), String> {
    use clap::error::ErrorKind::{MissingRequiredArgument, MissingSubcommand};
    let words = std::iter::once(OsString::from("serve")).chain(words.iter().cloned());
    match serve.clone().no_binary_name(false).try_get_matches_from(words) {
        Err(error) if !matches!(error.kind(), MissingRequiredArgument | MissingSubcommand) => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            Err(line.trim_start_matches("error: ").to_string())
        }
        _ => Ok(()),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) => "a number",
        Value::Float(_) => "a fraction",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}
