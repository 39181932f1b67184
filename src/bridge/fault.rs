//! Failures while talking to JavaScript, and their way out of exported functions.

use greenroom_error::Error;
use napi::Status;

pub(crate) type JsResult<T> = Result<T, Fault>;

/// Why an operation on JavaScript values did not work.
#[derive(Debug)]
pub(crate) enum Fault {
    /// JavaScript code threw, and the exception is still pending in the
    /// environment: rethrow it by returning, or take it.
    Pending,
    Error(Error),
    /// A mistake in the use of the addon that stays an ordinary error.
    Plain(napi::Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<napi::Error> for Fault {
    fn from(error: napi::Error) -> Self {
        if error.status == Status::PendingException {
            Self::Pending
        } else {
            Self::Plain(error)
        }
    }
}

/// The exception an exported function throws for a structured error.
pub(crate) fn to_napi(error: &Error) -> napi::Error {
    napi::Error::new(
        Status::GenericFailure,
        greenroom_error::bridge::encode(error),
    )
}

impl From<Fault> for napi::Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Pending => napi::Error::from_status(Status::PendingException),
            Fault::Error(error) => to_napi(&error),
            Fault::Plain(error) => error,
        }
    }
}
