//! Tabs that an actor type adds to, or hides from, its inspector.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use greenroom_core::InspectorTab;
use greenroom_error::{Error, Result};
use napi_derive::napi;

const BUILT_IN: [&str; 7] = [
    "workflow",
    "database",
    "state",
    "queue",
    "schedules",
    "connections",
    "console",
];

/// A tab of its own (`id`, `label`, `source`), or `hidden: true` to hide a
/// built-in one.
#[napi(object)]
pub struct JsInspectorTabEntry {
    pub id: String,
    pub label: Option<String>,
    /// Absolute path of the folder the tab is served from.
    pub source: Option<String>,
    pub icon: Option<String>,
    pub hidden: Option<bool>,
}

/// Checks ids and what each kind of entry needs.
pub(super) fn check_tabs(tabs: Vec<JsInspectorTabEntry>) -> Result<Vec<InspectorTab>> {
    let mut seen = HashSet::new();
    for tab in &tabs {
        let problem = if tab.hidden == Some(true) {
            hidden_problem(&tab.id)
        } else {
            custom_problem(tab)
        };
        if let Some(problem) = problem {
            return Err(Error::internal(problem));
        }
        if !seen.insert(tab.id.as_str()) {
            let text = format!("inspector tab id {:?} is used twice", tab.id);
            return Err(Error::internal(text));
        }
    }
    Ok(tabs.into_iter().map(InspectorTab::from).collect())
}

impl From<JsInspectorTabEntry> for InspectorTab {
    fn from(tab: JsInspectorTabEntry) -> Self {
        let hidden = tab.hidden == Some(true);
        Self {
            id: tab.id,
            label: tab.label,
            icon: tab.icon,
            source: tab.source.filter(|_| !hidden).map(PathBuf::from),
            hidden,
        }
    }
}

fn hidden_problem(id: &str) -> Option<String> {
    let known = BUILT_IN.contains(&id);
    (!known).then(|| {
        let names = BUILT_IN.join(", ");
        format!("inspector tab id {id:?} cannot be hidden: the built-in tabs are {names}")
    })
}

fn custom_problem(tab: &JsInspectorTabEntry) -> Option<String> {
    let id = &tab.id;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if id.is_empty() || !id.chars().all(is_word) {
        return Some(format!(
            "inspector tab id {id:?} is invalid: must be non-empty and contain only [a-zA-Z0-9_-]"
        ));
    }
    if BUILT_IN.contains(&id.as_str()) {
        return Some(format!(
            "inspector tab id {id:?} collides with a built-in tab; use {{ id: {id:?}, hidden: true }} to hide instead"
        ));
    }
    if tab.label.as_deref().unwrap_or_default().is_empty() {
        return Some(format!("inspector tab {id:?} needs a label"));
    }
    let source = tab.source.as_deref().unwrap_or_default();
    (!Path::new(source).is_absolute())
        .then(|| format!("inspector tab {id:?} needs a source that is an absolute path"))
}
