//! `superfluid serve`: models behind the API, until a signal ends it.

mod check;
mod choose;
pub(crate) mod config;
mod daemon;
mod key;
mod launch;
mod log;
mod notify;
mod prepare;
mod sandbox;
mod screen;
mod stderr;

use crate::print;
use log::{Log, LogFormat};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use superfluid_core::Refusal;
use superfluid_core::access::{Access, Host, Origin};
use superfluid_core::capability::Flags;
use superfluid_core::sched::parse_class_lanes;
use superfluid_core::{fleet, supervise};
use superfluid_io_tokio::http::Server;

/// What `superfluid serve` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// The model: a file, a directory, or its id in the hub (ORG/MODEL or ORG/MODEL:QUANTIZATION)
    #[arg(value_name = "MODEL", required_unless_present_any = ["more", "model_dir"])]
    model: Option<PathBuf>,
    /// Another model to serve; repeatable
    #[arg(long = "model", value_name = "MODEL")]
    more: Vec<PathBuf>,
    /// Also offer every model in this directory, each loaded on its first use
    #[arg(long, value_name = "DIR")]
    model_dir: Option<PathBuf>,
    /// Unload a model that has had nothing to do for so many seconds; its next request loads it again
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    idle_timeout: Option<u64>,
    /// Models that are loaded at once; for another one, that not used for longest is unloaded
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    max_loaded: Option<u16>,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    host: String,
    /// Port to listen on; 0 picks a free one
    #[arg(long, default_value_t = 8453)]
    port: u16,
    /// Requests that run at once
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    max_batch: u32,
    /// Context window of one request, in tokens; sized by the runtime unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(16..))]
    max_context: Option<u32>,
    /// Requests of each class that run at once, like interactive=4,agent=6,background=2; a class
    /// that is not named may have as many as --max-batch
    #[arg(long, value_name = "CLASS=N,…", value_parser = parse_class_lanes)]
    class_lanes: Option<[u32; 3]>,
    /// How to guess tokens ahead and check them in one pass: auto, off, or a strategy of the runtime
    #[arg(long, default_value = "auto", value_name = "STRATEGY", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    speculate: String,
    /// Bits of one number in the KV cache, where the runtime lets one choose; 0 leaves it to the runtime
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=32))]
    kv_bits: u32,
    /// Let state that leaves the device lose precision for a smaller size, where the runtime can
    #[arg(long)]
    park_lossy: bool,
    /// Choose a runtime: ID, ID@INSTALL or MODEL=ID; repeatable, the later one wins
    #[arg(long = "runtime", value_name = "SELECTOR")]
    selectors: Vec<String>,
    /// Never install a runtime or pull a model, even when it is missing
    #[arg(long)]
    offline: bool,
    /// A baseRT library, or the folder it lies in, instead of an install of basert; also BASERT_LIB
    #[arg(long, value_name = "PATH")]
    basert_lib: Option<String>,
    /// Key that clients must send as "Authorization: Bearer KEY"; other users of this machine see
    /// it in the process list, so better give it by --api-key-file or SUPERFLUID_API_KEY
    #[arg(long, value_name = "KEY", conflicts_with = "api_key_file")]
    api_key: Option<String>,
    /// File that holds the key
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// Origin whose web pages may use the server: scheme and host, and the port if it has one; repeatable
    #[arg(long = "cors-origin", value_name = "ORIGIN")]
    cors_origins: Vec<String>,
    /// Name the server also goes by in the Host header, behind a proxy or tunnel that keeps its own;
    /// repeatable
    #[arg(long = "allow-host", value_name = "NAME")]
    allow_hosts: Vec<String>,
    /// What is logged: error, warn, info, debug, trace or off, also by part, like
    /// warn,superfluid::worker=debug
    #[arg(long, value_name = "LEVEL", env = "SUPERFLUID_LOG")]
    log_level: Option<String>,
    /// How it is logged
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// Name of the first model in the API, instead of its file name
    #[arg(long, value_name = "NAME")]
    model_id: Option<String>,
    /// Seconds after which a worker that does not answer is ended and followed by another
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(2..=3600))]
    hang_timeout: u64,
    /// Seconds that a stopping server gives running requests to finish; 0 cuts them at once
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=86_400))]
    drain: u64,
    /// Let workers do all that this user may (Linux confines them otherwise)
    #[arg(long)]
    no_sandbox: bool,
    /// File or folder that workers may read besides their model, their libraries and the system's;
    /// repeatable
    #[arg(long, value_name = "PATH")]
    allow_read: Vec<PathBuf>,
    /// Folder that workers may write in; repeatable
    #[arg(long, value_name = "FOLDER")]
    allow_write: Vec<PathBuf>,
    /// Let workers use the network
    #[arg(long)]
    allow_network: bool,
    /// TOML file with any of these flags, by their long names; a flag given here wins
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Check everything, print what would be served, and serve nothing
    #[arg(long)]
    check: bool,
}

impl ServeArgs {
    /// The models asked for by name, in their order.
    fn named(&self) -> impl Iterator<Item = &PathBuf> {
        self.model.iter().chain(&self.more)
    }

    fn fleet(&self) -> fleet::Config {
        fleet::Config {
            idle: self.idle_timeout.map(Duration::from_secs),
            loaded_max: self.max_loaded.map(usize::from),
            ..fleet::Config::default()
        }
    }

    /// What depends on the runtime.
    fn flags(&self) -> Flags {
        let speculate = (self.speculate != "auto").then(|| self.speculate.clone());
        Flags { park_lossy: self.park_lossy, kv_bits: self.kv_bits, speculate }
    }
}

/// Serves until a signal ends it: 0 when what ran was finished, 1 otherwise.
#[expect(clippy::needless_pass_by_value, reason = "the shape every subcommand has")]
pub(crate) fn run(args: ServeArgs) -> ExitCode {
    // What the shell left open for this process is none of a worker's business.
    close_fds::CloseFdsBuilder::new().cloexecfrom(3);
    serve(&args).unwrap_or_else(|refusal| print::refusal(&refusal))
}

fn serve(args: &ServeArgs) -> Result<ExitCode, Refusal> {
    let (api_key, mut warnings) = key::find(args)?;
    let origins = args.cors_origins.iter().map(|origin| Origin::parse(origin)).collect::<Result<_, _>>()?;
    let hosts: Vec<Host> = args.allow_hosts.iter().map(|name| Host::parse(name)).collect::<Result<_, _>>()?;
    let log = Log::new(args.log_level.as_deref(), args.log_format)?;
    let (choices, left_out) = choose::all(args)?;
    warnings.extend(left_out);
    let address = address(args)?;
    let loopback = address.ip().is_loopback();
    if !loopback && !hosts.is_empty() {
        warnings.push(format!(
            "warning: --allow-host keeps nobody out: on {} any Host is answered",
            address.ip()
        ));
    }
    let access = Access { loopback, hosts, api_key, origins };
    if args.check {
        warnings.iter().for_each(|line| print::note(line));
        return check::run(address, &access, &choices);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Refusal::new("io", format!("cannot start the server: {error}")))?;
    // The port comes before anything that takes long, and is held through it.
    let server = runtime.block_on(Server::bind(address)).map_err(|error| cannot_listen(address, &error))?;
    let rules = daemon::Rules { access, fleet: args.fleet(), supervision: supervision(args) };
    let code = runtime.block_on(daemon::run(server, rules, choices, warnings, log));
    // An install that is under way ends with the process, as one from the command line does.
    runtime.shutdown_background();
    code
}

/// How patient the daemon is with workers.
fn supervision(args: &ServeArgs) -> supervise::Config {
    let patience = Duration::from_secs(args.hang_timeout);
    let defaults = supervise::Config::default();
    let ping_every = defaults.ping_every.min(patience / 4);
    supervise::Config {
        ping_patience: patience,
        ping_every,
        drain: Duration::from_secs(args.drain),
        ..defaults
    }
}

fn address(args: &ServeArgs) -> Result<SocketAddr, Refusal> {
    if args.host.is_empty() {
        return Err(Refusal::new("bad_host", "--host is empty")
            .hint("leave it out to listen on 127.0.0.1, or give 0.0.0.0 to listen on every address"));
    }
    let host = args.host.trim_start_matches('[').trim_end_matches(']');
    let found = (host, args.port).to_socket_addrs().map(|mut all| all.next());
    let why = match found {
        Ok(Some(address)) => return Ok(address),
        Ok(None) => "it has no address".into(),
        Err(error) => error.to_string(),
    };
    Err(Refusal::new("bad_host", format!("cannot listen on {}: {why}", args.host))
        .hint("--host takes an address of this machine: 127.0.0.1, ::1, 0.0.0.0"))
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Refusal {
    let refusal = |what: String| Refusal::new("cannot_listen", what);
    match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            refusal(format!("port {} of {} is in use", address.port(), address.ip()))
                .hint("stop what listens there, or pass another --port (0 picks a free one)")
        }
        std::io::ErrorKind::PermissionDenied => {
            refusal(format!("may not listen on port {}: {error}", address.port()))
                .hint("pass a --port above 1023")
        }
        std::io::ErrorKind::AddrNotAvailable => {
            refusal(format!("{} is no address of this machine", address.ip()))
                .hint("--host takes an address of this machine: 127.0.0.1, ::1, 0.0.0.0")
        }
        _ => refusal(format!("cannot listen on {address}: {error}")),
    }
}
