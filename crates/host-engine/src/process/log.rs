//! What an engine says, as lines of our own log.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Longest line that is passed on whole.
const LINE_MAX: usize = 4 * 1024;

/// Reads lines until the other end closes.
pub(super) async fn pass_on(out: impl AsyncRead + Unpin) {
    let mut out = BufReader::new(out);
    let mut line = Vec::new();
    while let Ok(true) = next_line(&mut out, &mut line).await {
        say(&String::from_utf8_lossy(&line));
    }
}

/// Reads a line and keeps at most [`LINE_MAX`] bytes of it. False at the end.
async fn next_line(
    out: &mut (impl AsyncBufReadExt + Unpin),
    line: &mut Vec<u8>,
) -> std::io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let chunk = out.fill_buf().await?;
        if chunk.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(chunk.len());
        let room = LINE_MAX.saturating_sub(line.len());
        line.extend_from_slice(&chunk[..taken.min(room)]);
        let read = end.map_or(taken, |end| end + 1);
        out.consume(read);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// Levels are named in the line; one without counts as news.
fn say(line: &str) {
    let line = line.trim_end();
    let has = |level: &str| line.contains(level);
    if has("level=error") {
        tracing::error!(target: "greenroom::engine", "{line}");
    } else if has("level=warn") {
        tracing::warn!(target: "greenroom::engine", "{line}");
    } else if has("level=debug") || has("level=trace") {
        tracing::debug!(target: "greenroom::engine", "{line}");
    } else {
        tracing::info!(target: "greenroom::engine", "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn long_lines_are_cut_and_the_last_needs_no_end() {
        let text = format!("{}\nshort\n\nlast", "x".repeat(LINE_MAX * 3));
        let mut out = BufReader::with_capacity(100, text.as_bytes());
        let mut line = Vec::new();
        let mut lengths = Vec::new();
        while next_line(&mut out, &mut line).await.unwrap() {
            lengths.push(line.len());
        }
        assert_eq!(lengths, [LINE_MAX, 5, 0, 4]);
    }
}
