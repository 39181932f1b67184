//! Static files of one folder as responses.
//!
//! Owns finding a file below a folder whatever path is asked for, its content
//! type, and sending it in pieces. Who may read it is decided elsewhere.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use greenroom_error::{Error, Result};
use http::StatusCode;
use http::header::{CONTENT_LENGTH, HeaderValue};
use percent_encoding::percent_decode_str;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::body::ReplyBody;
use crate::reply::{self, HttpReply};

/// What is asked for where a path names a folder.
const INDEX: &str = "index.html";
/// One read of a file; smaller files leave in one piece.
const CHUNK_BYTES: usize = 64 * 1024;
/// Chunks that may wait for a slow client.
const CHUNKS_MAX: usize = 4;

/// Why a path cannot name a file of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPath {
    /// Half an escape, or bytes that are no text.
    Escape,
    /// A step out of the folder, or a character that no file name has.
    Traversal,
}

impl BadPath {
    pub fn reason(self) -> &'static str {
        match self {
            Self::Escape => "an escape does not decode to text",
            Self::Traversal => "a segment is not the name of a file",
        }
    }
}

/// The relative path that the segments of a URL path name.
///
/// # Errors
/// [`BadPath`]; what comes out stays below wherever it is joined to.
pub fn relative_path(url_path: &str) -> std::result::Result<PathBuf, BadPath> {
    let mut path = PathBuf::new();
    for segment in url_path.split('/').filter(|segment| !segment.is_empty()) {
        let segment = decode(segment).ok_or(BadPath::Escape)?;
        let is_name =
            !matches!(segment.as_str(), "." | "..") && !segment.contains(['/', '\\', '\0', ':']);
        if !is_name {
            return Err(BadPath::Traversal);
        }
        path.push(segment);
    }
    Ok(path)
}

fn decode(segment: &str) -> Option<String> {
    let whole = segment.split('%').skip(1).all(|rest| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    let text = percent_decode_str(segment).decode_utf8().ok()?;
    whole.then(|| text.into_owned())
}

/// The file at a relative path below `root`; `None` if there is none. A folder
/// means its `index.html`. Links that lead out of `root` are not followed.
///
/// # Errors
/// `core/internal_error` for a file that is there and cannot be read.
pub async fn serve_file(root: &Path, relative: PathBuf) -> Result<Option<HttpReply>> {
    let root = root.to_owned();
    let opened = blocking(move || open(&root, &relative)).await?;
    let Some(Opened { file, first, found }) = opened else {
        return Ok(None);
    };
    let content_type = content_type(&found.path);
    let length = found.metadata.len();
    let body = if (first.len() as u64) < length && !first.is_empty() {
        let (chunks, stream) = mpsc::channel(CHUNKS_MAX);
        tokio::spawn(send(file, first, chunks));
        // Nobody has to hear that a client left: the task sees it.
        ReplyBody::channel(stream, CancellationToken::new().drop_guard())
    } else {
        ReplyBody::whole(first)
    };
    let mut reply = reply::of(StatusCode::OK, content_type, body);
    let length = HeaderValue::from(length);
    reply.headers_mut().insert(CONTENT_LENGTH, length);
    Ok(Some(reply))
}

struct Opened {
    file: File,
    first: Bytes,
    found: Found,
}

struct Found {
    path: PathBuf,
    metadata: Metadata,
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        Error::internal("a static file could not be read").with_source(error)
    };
    let done = spawn_blocking(work).await;
    done.map_err(|error| failed(error.into()))?
        .map_err(|error| failed(error.into()))
}

fn open(root: &Path, relative: &Path) -> io::Result<Option<Opened>> {
    let Some(found) = find(root, relative)? else {
        return Ok(None);
    };
    let mut file = File::open(&found.path)?;
    let first = read_chunk(&mut file)?;
    Ok(Some(Opened { file, first, found }))
}

fn find(root: &Path, relative: &Path) -> io::Result<Option<Found>> {
    let absent = |error: &io::Error| {
        use io::ErrorKind::{InvalidInput, NotADirectory, NotFound};
        matches!(error.kind(), NotFound | NotADirectory | InvalidInput)
    };
    let looked = root.canonicalize().and_then(|root| {
        let mut path = root.join(relative).canonicalize()?;
        if path.is_dir() {
            path = path.join(INDEX).canonicalize()?;
        }
        let metadata = path.metadata()?;
        let inside = path.starts_with(&root) && metadata.is_file();
        Ok(inside.then_some(Found { path, metadata }))
    });
    match looked {
        Err(error) if absent(&error) => Ok(None),
        looked => looked,
    }
}

fn read_chunk(file: &mut File) -> io::Result<Bytes> {
    let mut chunk = Vec::new();
    file.take(CHUNK_BYTES as u64).read_to_end(&mut chunk)?;
    Ok(chunk.into())
}

async fn send(file: File, first: Bytes, chunks: mpsc::Sender<Result<Bytes, String>>) {
    let mut file = file;
    let mut chunk = Ok(first);
    loop {
        let goes_on = chunk.is_ok();
        if chunks.send(chunk).await.is_err() || !goes_on {
            return;
        }
        let read = spawn_blocking(move || read_chunk(&mut file).map(|chunk| (file, chunk))).await;
        match read {
            Ok(Ok((_, rest))) if rest.is_empty() => return,
            Ok(Ok((same, rest))) => {
                file = same;
                chunk = Ok(rest);
            }
            Ok(Err(error)) => return abort(&chunks, error.to_string()).await,
            Err(error) => return abort(&chunks, error.to_string()).await,
        }
    }
}

async fn abort(chunks: &mpsc::Sender<Result<Bytes, String>>, reason: String) {
    // A client that left needs no reason.
    let _ = chunks.send(Err(reason)).await;
}

fn content_type(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension.unwrap_or_default().to_ascii_lowercase().as_str() {
        "html" | "htm" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "txt" => "text/plain; charset=utf-8",
        "xml" => "application/xml",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "ico" => "image/x-icon",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "wasm" => "application/wasm",
        "pdf" => "application/pdf",
        "mp4" => "video/mp4",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    async fn text(root: &Path, path: &str) -> Option<(String, String)> {
        let relative = relative_path(path).expect("a path");
        let reply = serve_file(root, relative).await.expect("readable")?;
        let content_type = reply.headers()["content-type"].to_str().unwrap().to_owned();
        let length = reply.headers()["content-length"]
            .to_str()
            .unwrap()
            .to_owned();
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body.len().to_string(), length);
        Some((content_type, String::from_utf8(body.to_vec()).unwrap()))
    }

    #[tokio::test]
    async fn a_folder_gives_its_files_and_its_index() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("sub")).unwrap();
        std::fs::write(root.path().join("index.html"), "<h1>").unwrap();
        std::fs::write(root.path().join("sub/a b.css"), "p{}").unwrap();
        std::fs::write(root.path().join("empty.txt"), "").unwrap();
        let big = "x".repeat(3 * CHUNK_BYTES + 1);
        std::fs::write(root.path().join("big.bin"), &big).unwrap();
        let html = "text/html; charset=utf-8".to_owned();
        assert_eq!(text(root.path(), "").await, Some((html, "<h1>".into())));
        let css = text(root.path(), "/sub//a%20b.css").await.unwrap();
        assert_eq!(css, ("text/css; charset=utf-8".into(), "p{}".into()));
        assert_eq!(text(root.path(), "/empty.txt").await.unwrap().1, "");
        assert_eq!(text(root.path(), "/big.bin").await.unwrap().1, big);
        for absent in ["/nothing", "/sub", "/index.html/x"] {
            assert_eq!(text(root.path(), absent).await, None, "{absent}");
        }
    }

    #[test]
    fn a_path_that_steps_out_names_nothing() {
        for path in [
            "/../x",
            "/a/%2e%2e/b",
            "/a%2fb",
            "/a\\b",
            "/%00",
            "/c:/x",
            "/.",
        ] {
            assert_eq!(relative_path(path), Err(BadPath::Traversal), "{path}");
        }
        for path in ["/%", "/%4", "/%zz", "/%ff"] {
            assert_eq!(relative_path(path), Err(BadPath::Escape), "{path}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_link_that_leads_out_is_not_followed() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("secret.txt"), "s").unwrap();
        std::fs::write(root.path().join("real.txt"), "r").unwrap();
        let link = |to: PathBuf, name: &str| {
            std::os::unix::fs::symlink(to, root.path().join(name)).unwrap();
        };
        link(outside.path().join("secret.txt"), "leak.txt");
        link(root.path().join("real.txt"), "alias.txt");
        assert_eq!(text(root.path(), "/leak.txt").await, None);
        assert_eq!(text(root.path(), "/alias.txt").await.unwrap().1, "r");
    }
}
