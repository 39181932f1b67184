//! The embedded host keeps what every host promises.

use std::collections::HashMap;
use std::sync::Arc;

use greenroom_conformance::{Under, actor, scenarios};
use greenroom_host_embedded::{EmbeddedHost, EmbeddedOptions, ListenOptions, Listener};

struct Embedded {
    host: EmbeddedHost,
    listener: Listener,
    _folder: tempfile::TempDir,
}

impl Embedded {
    async fn open() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = EmbeddedOptions::new(folder.path());
        let factories = HashMap::from([(actor::NAME.to_owned(), Arc::new(actor::factory()))]);
        let host = EmbeddedHost::open(options, factories).await;
        let host = host.expect("a fresh folder opens");
        let listen = ListenOptions {
            port: 0,
            ..ListenOptions::default()
        };
        let listener = host.listen(listen).await.expect("a free port");
        Self {
            host,
            listener,
            _folder: folder,
        }
    }

    fn under(&self) -> Under {
        let host = self.host.clone();
        Under {
            authority: self.listener.addr().to_string(),
            pool: "default".to_owned(),
            awake: Arc::new(move || host.awake_count()),
        }
    }
}

macro_rules! embedded {
    ($($name:ident),* $(,)?) => { $(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let embedded = Embedded::open().await;
            scenarios::$name(&embedded.under()).await;
            embedded.host.shutdown().await;
        }
    )* };
}

greenroom_conformance::for_each_scenario!(embedded);
