//! `superfluid serve`: one model behind the API, until a signal ends it.

mod daemon;
mod prepare;
mod screen;
mod stderr;

use crate::print;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;
use superfluid_core::Refusal;
use superfluid_io_tokio::http::Server;

/// What `superfluid serve` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// The model file or directory
    model: PathBuf,
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
    /// Choose a runtime: ID, ID@INSTALL or MODEL=ID; repeatable, the later one wins
    #[arg(long = "runtime", value_name = "SELECTOR")]
    selectors: Vec<String>,
    /// Never install a runtime, even when it is missing
    #[arg(long)]
    offline: bool,
    /// Key that clients must send as "Authorization: Bearer KEY"
    #[arg(long, value_name = "KEY", env = "SUPERFLUID_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// Name of the model in the API, instead of its file name
    #[arg(long, value_name = "NAME")]
    model_id: Option<String>,
}

/// Serves until a signal ends it: 0 when what ran was finished, 1 otherwise.
#[expect(clippy::needless_pass_by_value, reason = "the shape every subcommand has")]
pub(crate) fn run(args: ServeArgs) -> ExitCode {
    // What the shell left open for this process is none of a worker's business.
    close_fds::CloseFdsBuilder::new().cloexecfrom(3);
    serve(&args).unwrap_or_else(|refusal| print::refusal(&refusal))
}

fn serve(args: &ServeArgs) -> Result<ExitCode, Refusal> {
    if args.api_key.as_ref().is_some_and(|key| key.trim().is_empty()) {
        return Err(Refusal::new("bad_api_key", "the API key is empty")
            .hint("give --api-key (or SUPERFLUID_API_KEY) a key, or leave it out"));
    }
    let choice = prepare::choose(args)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Refusal::new("io", format!("cannot start the server: {error}")))?;
    // The port comes before anything that takes long, and is held through it.
    let address = address(args)?;
    let server = runtime.block_on(Server::bind(address)).map_err(|error| cannot_listen(address, &error))?;
    runtime.block_on(daemon::run(server, args.api_key.clone(), choice))
}

fn address(args: &ServeArgs) -> Result<SocketAddr, Refusal> {
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
