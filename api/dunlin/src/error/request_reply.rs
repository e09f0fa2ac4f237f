//! Why requests and replies were not sent.

use dunlin_core::ReturnCode;
use thiserror::Error;

use super::{WaitForError, WriteError};

crate::sentence::debug_is_sentence!(RequestError, ReplyError);

/// Why a request was not sent, or its reply not waited for.
#[derive(Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum RequestError {
    /// No replier is ready: see [`Requester::wait_for_service`](crate::request_reply::Requester::wait_for_service).
    #[error("no replier is ready: wait for the service first")]
    NotReady,
    /// So many requests wait for replies already.
    #[error("{0} requests wait for replies already: take replies or drop requests, or allow more of them")]
    TooManyOutstanding(usize),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The reply did not come in time, or this thread cannot wait for it.
    #[error(transparent)]
    Wait(#[from] WaitForError),
}

impl RequestError {
    /// The DDS return code.
    #[must_use]
    pub fn return_code(&self) -> ReturnCode {
        match self {
            Self::NotReady => ReturnCode::PreconditionNotMet,
            Self::TooManyOutstanding(_) => ReturnCode::OutOfResources,
            Self::Write(error) => error.return_code(),
            Self::Wait(error) => error.return_code(),
        }
    }
}

/// Why a reply was not sent.
#[derive(Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The requester is gone, or cannot be reached any more.
    #[error("the requester is gone")]
    RequesterGone,
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl ReplyError {
    /// The DDS return code.
    #[must_use]
    pub fn return_code(&self) -> ReturnCode {
        match self {
            Self::RequesterGone => ReturnCode::PreconditionNotMet,
            Self::Write(error) => error.return_code(),
        }
    }
}
