//! What the counter answers to raw HTTP.

use bytes::Bytes;
use greenroom_core::actor::messages::BodyStream;
use greenroom_core::{Request, Response};
use greenroom_error::{Error, Result};
use tokio::sync::mpsc;

use crate::fixture::Script;

pub async fn respond(script: &Script, request: Request) -> Result<Response> {
    let path = request.uri.split('?').next().unwrap_or_default();
    match path {
        "/throw" => Err(Error::internal("secret")),
        "/fail" => Err(Error::foreign("user", "teapot", "short and stout")),
        "/none" => Ok(Response {
            headers: Vec::new(),
            ..text(404, "")
        }),
        "/status" => Ok(text(99, "")),
        "/short" => Ok(Response {
            headers: vec![("content-length".into(), "70000".into())],
            ..text(200, "cut off")
        }),
        "/decoded" => Ok(Response {
            headers: vec![
                ("content-length".into(), "22".into()),
                ("content-encoding".into(), "gzip".into()),
            ],
            ..text(200, "ok")
        }),
        "/long" => Ok(Response {
            headers: vec![("content-length".into(), "3".into())],
            ..text(200, "inflated")
        }),
        "/length" => length(script, request).await,
        "/echo" => Ok(echo(request)),
        "/ticks" => Ok(ticks()),
        "/hang" => {
            script.at_gate.notify_one();
            request.cancelled.cancelled().await;
            script.note("request cancelled");
            Err(Error::internal("gone"))
        }
        _ => Ok(text(200, describe(&request))),
    }
}

fn text(status: u16, body: impl Into<Bytes>) -> Response {
    Response {
        status,
        headers: vec![("x-from".to_owned(), "user".to_owned())],
        body: body.into(),
        stream: None,
        region: None,
    }
}

fn describe(request: &Request) -> String {
    let mut lines = vec![format!("{} {}", request.method, request.uri)];
    let headers = request.headers.iter();
    lines.extend(headers.map(|(name, value)| format!("{name}={value}")));
    lines.join("\n")
}

async fn next(chunks: &mut Option<BodyStream>) -> Option<Result<Bytes, String>> {
    chunks.as_mut()?.recv().await
}

async fn length(script: &Script, mut request: Request) -> Result<Response> {
    let mut bytes = request.body.len();
    while let Some(chunk) = next(&mut request.stream).await {
        bytes += match chunk {
            Ok(chunk) => chunk.len(),
            Err(reason) => {
                script.note("broken body");
                return Err(Error::internal(reason));
            }
        };
    }
    Ok(text(200, bytes.to_string()))
}

fn streamed(chunks: BodyStream) -> Response {
    Response {
        stream: Some(chunks),
        ..text(200, "")
    }
}

fn echo(mut request: Request) -> Response {
    let (sender, receiver) = mpsc::channel(2);
    tokio::spawn(async move {
        let _ = sender.send(Ok(request.body)).await;
        while let Some(chunk) = next(&mut request.stream).await {
            if sender.send(chunk).await.is_err() {
                return;
            }
        }
    });
    streamed(receiver)
}

/// Events without end.
fn ticks() -> Response {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut number = 0u64;
        while sender
            .send(Ok(Bytes::from(format!("data: {number}\n\n"))))
            .await
            .is_ok()
        {
            number += 1;
        }
    });
    streamed(receiver)
}
