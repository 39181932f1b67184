//! An engine, and hosts that join it.

use std::collections::HashMap;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use greenroom_conformance::{Under, actor, in_time};
use greenroom_core::{ActorConfig, ActorFactory};
use greenroom_error::Result;
use greenroom_host_engine::{EngineHost, EngineOptions, EngineProcess, ProcessOptions};

type Factories = HashMap<String, Arc<ActorFactory>>;

fn factories(config: ActorConfig) -> Factories {
    let factory = actor::factory_with(config);
    HashMap::from([(actor::NAME.to_owned(), Arc::new(factory))])
}

/// An engine of this test alone.
pub struct Engine {
    process: EngineProcess,
    options: ProcessOptions,
    pools: AtomicU32,
    _folder: tempfile::TempDir,
}

/// What this process says, if `RUST_LOG` asks for it.
pub fn log() {
    let filter = tracing_subscriber::EnvFilter::from_default_env();
    // Another test may have been first.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).try_init();
}

fn binary() -> PathBuf {
    let root = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../compat/engine/node_modules"
    );
    let platform = PathBuf::from(root).join("@rivetkit/engine-cli-linux-x64-musl/rivet-engine");
    match std::env::var_os("RIVET_ENGINE_BINARY") {
        Some(path) => path.into(),
        None => platform,
    }
}

/// A port with room for the two others of an engine. Somebody else may be faster,
/// in which case the engine does not start and the test says so.
fn free_port() -> u16 {
    loop {
        let first = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = first.local_addr().expect("an address").port();
        let is_free = |offset| {
            let port = port.checked_add(offset);
            port.is_some_and(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        };
        if is_free(1) && is_free(10) {
            return port;
        }
    }
}

impl Engine {
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let endpoint = format!("http://127.0.0.1:{}", free_port());
        let options = ProcessOptions::new(endpoint, binary(), folder.path().join("engine"));
        let process = EngineProcess::ensure(options.clone()).await;
        let process = process.expect("the engine starts");
        assert!(process.is_ours());
        Self {
            process,
            options,
            pools: AtomicU32::new(0),
            _folder: folder,
        }
    }

    pub async fn again(&self) -> Result<EngineProcess> {
        EngineProcess::ensure(self.options.clone()).await
    }

    /// A host in a pool that nobody was in before: what an engine has not noticed
    /// yet of a host that left cannot get in its way.
    pub async fn join_alone(&self) -> Joined {
        let number = self.pools.fetch_add(1, Ordering::SeqCst);
        self.join(&format!("pool-{number}")).await
    }

    pub async fn join(&self, pool: &str) -> Joined {
        self.join_with(self.options_for(pool), actor::config())
            .await
    }

    pub fn options_for(&self, pool: &str) -> EngineOptions {
        EngineOptions {
            pool_name: pool.to_owned(),
            ..EngineOptions::new(&self.options.endpoint)
        }
    }

    pub async fn join_with(&self, options: EngineOptions, config: ActorConfig) -> Joined {
        let pool = options.pool_name.clone();
        let host = EngineHost::join(options, factories(config)).await;
        let host = host.expect("the engine takes us in");
        Joined { host, pool }
    }

    /// Freezes its process, or has it go on.
    pub fn signal(&self, name: &str) {
        let pid = self.process.pid().expect("it runs").to_string();
        let told = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(told.expect("a system with signals").success());
    }

    /// Asks its process to end, and waits until nobody listens there.
    pub async fn go_away(&self) {
        self.signal("TERM");
        while tokio::net::TcpStream::connect(self.address()).await.is_ok() {
            tokio::task::yield_now().await;
        }
    }

    /// With what it stored, where it was.
    pub async fn start_again(&mut self) {
        let started = in_time("the engine starts again", async {
            loop {
                // The one before may still hold its files.
                if let Ok(started) = self.again().await {
                    return started;
                }
            }
        });
        self.process = started.await;
        assert!(self.process.is_ours());
    }

    fn address(&self) -> &str {
        self.options.endpoint.trim_start_matches("http://")
    }

    pub async fn stop(self) {
        self.process.stop().await;
    }
}

pub struct Joined {
    pub host: EngineHost,
    pool: String,
}

impl Joined {
    pub fn under(&self) -> Under {
        let host = self.host.clone();
        let endpoint = host.endpoint().to_owned();
        Under {
            authority: endpoint.trim_start_matches("http://").to_owned(),
            pool: self.pool.clone(),
            awake: Arc::new(move || host.awake_count()),
        }
    }

    pub async fn close(self) {
        self.host.shutdown().await;
        assert_eq!(self.host.awake_count(), 0);
        assert_eq!(self.host.open_databases(), 0);
    }
}
