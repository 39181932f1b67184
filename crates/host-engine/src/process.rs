//! The engine as a process of this machine, for programs that want one at a
//! loopback endpoint.
//!
//! One that answers there already is used as it is and left alone. One that was
//! started here is stopped here. Nothing is downloaded: whoever wants this brings
//! the binary.

mod log;
mod settings;

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use greenroom_core::Clock;
use greenroom_error::{Error, Result, code};
use serde_json::json;
use tokio::process::{Child, Command};

use crate::api::{Address, EngineApi, EngineMetadata};

/// Pause between two questions whether the engine is ready.
const ASK_AGAIN: Duration = Duration::from_millis(100);
/// Time for one such answer.
const ASK_TIME: Duration = Duration::from_secs(2);

/// Which engine to run, and where.
#[derive(Clone)]
pub struct ProcessOptions {
    /// `http://` and a loopback address. The two ports that the engine needs
    /// beside this one are the next, and the one ten further.
    pub endpoint: String,
    /// The engine's program.
    pub binary: PathBuf,
    /// Where it keeps what it stores; made if it does not exist.
    pub storage: PathBuf,
    pub clock: Clock,
    /// Time until it has to answer. Default 30 s.
    pub ready_timeout: Duration,
    /// Time between the request to end and the killing. Default 10 s.
    pub stop_timeout: Duration,
}

impl ProcessOptions {
    pub fn new(
        endpoint: impl Into<String>,
        binary: impl Into<PathBuf>,
        storage: impl Into<PathBuf>,
    ) -> Self {
        Self {
            endpoint: endpoint.into(),
            binary: binary.into(),
            storage: storage.into(),
            clock: Clock::real(),
            ready_timeout: Duration::from_secs(30),
            stop_timeout: Duration::from_secs(10),
        }
    }
}

/// An engine that answers. Dropping it kills what was started here.
pub struct EngineProcess {
    metadata: EngineMetadata,
    /// `None` if somebody else runs it.
    child: Option<Child>,
    clock: Clock,
    stop_timeout: Duration,
}

impl EngineProcess {
    /// The engine at the endpoint: the one that runs there, or else a new one.
    ///
    /// # Errors
    /// `engine/invalid_endpoint` unless it is a loopback address;
    /// `engine/port_occupied` if something else answers there;
    /// `engine/binary_unusable`; `engine/unreachable` if it is not ready in time.
    pub async fn ensure(options: ProcessOptions) -> Result<Self> {
        let address = Address::parse(&options.endpoint)?;
        let invalid = |reason: &str| {
            let metadata = json!({ "endpoint": options.endpoint, "reason": reason });
            Err(Error::with(&code::ENGINE_INVALID_ENDPOINT, metadata))
        };
        if !address.is_loopback() {
            return invalid("an engine is started at a loopback address only");
        }
        let api = EngineApi::new(&options.endpoint, "default", None, options.clock.clone())?;
        let found = match look(&api, &options).await? {
            Some(metadata) => (metadata, None),
            None if address.is_secure() => {
                return invalid("nobody answers, and an engine that is started speaks no TLS");
            }
            None => {
                let child = start(&address, &options)?;
                let (metadata, child) = await_ready(&api, &options, child).await?;
                (metadata, Some(child))
            }
        };
        let (metadata, child) = found;
        Ok(Self {
            metadata,
            child,
            clock: options.clock,
            stop_timeout: options.stop_timeout,
        })
    }

    pub fn metadata(&self) -> &EngineMetadata {
        &self.metadata
    }

    /// Whether it was started here.
    pub fn is_ours(&self) -> bool {
        self.child.is_some()
    }

    /// Its process, if it was started here and has not ended.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().and_then(Child::id)
    }

    /// Ends the engine if it was started here: politely first. Resolves when its
    /// process is gone.
    pub async fn stop(mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        ask_to_end(&child);
        let ended = self.clock.timeout(self.stop_timeout, child.wait()).await;
        if ended.is_err() {
            tracing::warn!("the engine did not end in time and is killed");
            if let Err(error) = child.kill().await {
                tracing::error!(%error, "the engine could not be killed");
            }
        }
    }
}

/// Who answers at the endpoint; `None` if nobody does.
async fn look(api: &EngineApi, options: &ProcessOptions) -> Result<Option<EngineMetadata>> {
    let asked = options.clock.timeout(ASK_TIME, api.metadata()).await;
    let occupied = |runtime: &str| {
        Error::with(
            &code::ENGINE_PORT_OCCUPIED,
            json!({ "endpoint": options.endpoint, "runtime": runtime }),
        )
    };
    match asked {
        Ok(Ok(metadata)) if metadata.stands_in.is_some() => {
            Err(occupied(&metadata.stands_in.unwrap_or_default()))
        }
        Ok(Ok(metadata)) if metadata.runtime == "engine" => Ok(Some(metadata)),
        Ok(Ok(metadata)) => Err(occupied(&metadata.runtime)),
        Ok(Err(error)) if error.is(&code::ENGINE_UNREACHABLE) => Ok(None),
        Ok(Err(_)) | Err(_) => Err(occupied("unknown")),
    }
}

fn start(address: &Address, options: &ProcessOptions) -> Result<Child> {
    let unusable = |reason: String| {
        let reason = format!("{}: {reason}", options.binary.display());
        Error::with(&code::ENGINE_BINARY_UNUSABLE, json!({ "reason": reason }))
    };
    std::fs::create_dir_all(&options.storage).map_err(|error| unusable(error.to_string()))?;
    let settings = settings::of(address, &options.storage).map_err(&unusable)?;
    let mut command = Command::new(&options.binary);
    command
        .arg("start")
        .envs(settings)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // An interrupt at the terminal is for the program, which then stops its engine
    // after its actors have said what they have to say.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command
        .spawn()
        .map_err(|error| unusable(error.to_string()))?;
    if let Some(out) = child.stdout.take() {
        tokio::spawn(log::pass_on(out));
    }
    if let Some(out) = child.stderr.take() {
        tokio::spawn(log::pass_on(out));
    }
    Ok(child)
}

/// Waits until the new engine answers. It is killed if it does not.
async fn await_ready(
    api: &EngineApi,
    options: &ProcessOptions,
    mut child: Child,
) -> Result<(EngineMetadata, Child)> {
    let answers = async {
        loop {
            if let Ok(Some(metadata)) = look(api, options).await {
                return metadata;
            }
            options.clock.sleep(ASK_AGAIN).await;
        }
    };
    let outcome = tokio::select! {
        ready = options.clock.timeout(options.ready_timeout, answers) => ready.map_err(|_| {
            Error::with(
                &code::ENGINE_UNREACHABLE,
                json!({ "endpoint": options.endpoint, "reason": "it was started and is not ready" }),
            )
        }),
        ended = child.wait() => {
            let ended = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
            let reason = format!("it ended before it was ready ({ended})");
            Err(Error::with(&code::ENGINE_BINARY_UNUSABLE, json!({ "reason": reason })))
        }
    };
    outcome.map(|metadata| (metadata, child))
}

#[cfg(unix)]
fn ask_to_end(child: &Child) {
    let Some(pid) = child.id().and_then(|pid| libc::pid_t::try_from(pid).ok()) else {
        return;
    };
    // SAFETY: a plain call. The child was not waited for, so the number is its own.
    unsafe {
        libc::kill(pid, libc::SIGTERM);
    }
}

/// There is no polite way here; the caller kills it after its patience.
#[cfg(not(unix))]
fn ask_to_end(_child: &Child) {}
