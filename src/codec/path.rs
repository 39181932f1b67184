//! Where in a value something is: `args[0].user["odd key"]`.

use std::fmt::Write;

use greenroom_error::Error;

use crate::bridge::Fault;

/// Why encoding stopped.
pub(super) enum Stop {
    /// Reading the value threw, or Node-API failed.
    Fault(Fault),
    /// The value has no form. Steps are collected on the way out, innermost
    /// first, so that encoding itself keeps no track.
    Unencodable { steps: Vec<Step>, reason: String },
}

pub(super) enum Step {
    Key(String),
    Index(u32),
    MapKey(u32),
    MapValue(u32),
    SetItem(u32),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Stop {
    pub(super) fn because(reason: impl Into<String>) -> Self {
        Self::Unencodable {
            steps: Vec::new(),
            reason: reason.into(),
        }
    }

    /// Adds the step that led to where it stopped.
    pub(super) fn at(mut self, step: impl FnOnce() -> Step) -> Self {
        if let Self::Unencodable { steps, .. } = &mut self {
            steps.push(step());
        }
        self
    }

    pub(super) fn into_fault(self, root: &str) -> Fault {
        match self {
            Self::Fault(fault) => fault,
            Self::Unencodable { steps, reason } => {
                let mut path = root.to_owned();
                for step in steps.iter().rev() {
                    step.write(&mut path);
                }
                Error::invalid_argument(&path, reason).into()
            }
        }
    }
}

impl Step {
    fn write(&self, path: &mut String) {
        let written = match self {
            Self::Key(key) if is_identifier(key) => write!(path, ".{key}"),
            Self::Key(key) => write!(path, "[{key:?}]"),
            Self::Index(at) => write!(path, "[{at}]"),
            Self::MapKey(at) => write!(path, ".key({at})"),
            Self::MapValue(at) => write!(path, ".value({at})"),
            Self::SetItem(at) => write!(path, ".item({at})"),
        };
        written.expect("writing to a String cannot fail");
    }
}

fn is_identifier(key: &str) -> bool {
    let start = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '$';
    key.starts_with(start) && key.chars().all(|c| start(c) || c.is_ascii_digit())
}
