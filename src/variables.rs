//! Environment variables, which the published package's contract gives a meaning.

/// The value of a variable; one that is empty counts as not set.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
