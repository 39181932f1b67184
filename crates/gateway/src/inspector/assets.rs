//! Files of the inspector: its own page, and those of the actor type's tabs.
//!
//! They are public; what a page asks of the actor needs the token.

use greenroom_core::ActorConfig;
use greenroom_error::{Error, Result, code};
use http::StatusCode;
use http::header::{CACHE_CONTROL, HeaderValue, REFERRER_POLICY};
use serde_json::json;

use crate::body::ReplyBody;
use crate::files::{relative_path, serve_file};
use crate::inspector::page;
use crate::reply::{self, HttpReply};

/// What tabs share, so that they look alike. Follows the page's light or dark theme.
const TAB_CSS: &str = "\
:root { color-scheme: light dark; font: 14px/1.5 system-ui, sans-serif; }
body { margin: 1rem; }
pre, code { font: 13px/1.5 ui-monospace, monospace; }
table { border-collapse: collapse; }
th, td { padding: 0.25rem 0.75rem; text-align: left; border-bottom: 1px solid #8884; }
";

/// A file of the inspector's page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asset<'a> {
    /// The page, and the path below it.
    UserInterface(&'a str),
    TabStyles,
    /// Id of the tab, and the path below its folder.
    CustomTab(&'a str, &'a str),
}

impl<'a> Asset<'a> {
    /// Finds the asset of a path below `/inspector/`.
    pub(crate) fn find(path: &'a str) -> Option<Self> {
        if let Some(rest) = path.strip_prefix("ui")
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return Some(Self::UserInterface(rest));
        }
        if path == "tab.css" {
            return Some(Self::TabStyles);
        }
        let tab = path.strip_prefix("custom-tabs/")?;
        let (id, rest) = tab.split_once('/').unwrap_or((tab, ""));
        Some(Self::CustomTab(id, rest))
    }

    /// # Errors
    /// `inspector/ui_asset_not_found`, `inspector/custom_tab_not_found`,
    /// `inspector/custom_tab_asset_not_found`, `inspector/invalid_request` for a
    /// path that leads out of the tab's folder.
    pub(crate) async fn serve(&self, config: &ActorConfig) -> Result<HttpReply> {
        match self {
            Self::UserInterface(path) => {
                page::at(path).ok_or_else(|| Error::new(&code::INSPECTOR_UI_ASSET_NOT_FOUND))
            }
            Self::TabStyles => {
                let styles = ReplyBody::whole(TAB_CSS);
                Ok(reply::of(StatusCode::OK, "text/css; charset=utf-8", styles))
            }
            Self::CustomTab(id, path) => custom_tab(config, id, path).await,
        }
    }
}

async fn custom_tab(config: &ActorConfig, id: &str, path: &str) -> Result<HttpReply> {
    let tab = config.inspector_tabs.iter().find(|tab| tab.id == id);
    let source = tab.and_then(|tab| tab.source.as_deref());
    let source = source.ok_or_else(|| Error::new(&code::INSPECTOR_CUSTOM_TAB_NOT_FOUND))?;
    let relative = relative_path(path).map_err(|bad| {
        let metadata = json!({ "field": "path", "reason": bad.reason() });
        Error::with(&code::INSPECTOR_INVALID_REQUEST, metadata)
    })?;
    let file = serve_file(source, relative).await?;
    let mut file = file.ok_or_else(|| Error::new(&code::INSPECTOR_CUSTOM_TAB_ASSET_NOT_FOUND))?;
    for (name, value) in [
        (CACHE_CONTROL, "no-cache"),
        (REFERRER_POLICY, "no-referrer"),
    ] {
        file.headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use greenroom_core::InspectorTab;

    use super::*;

    #[test]
    fn assets_are_told_from_routes() {
        assert_eq!(Asset::find("ui"), Some(Asset::UserInterface("")));
        assert_eq!(Asset::find("ui/a.js"), Some(Asset::UserInterface("/a.js")));
        assert_eq!(Asset::find("tab.css"), Some(Asset::TabStyles));
        let tab = |path| Some(Asset::CustomTab("mine", path));
        assert_eq!(Asset::find("custom-tabs/mine"), tab(""));
        assert_eq!(Asset::find("custom-tabs/mine/a/b.js"), tab("a/b.js"));
        for route in ["state", "uix", "custom-tabs", "tab.cssx"] {
            assert_eq!(Asset::find(route), None, "{route}");
        }
    }

    #[tokio::test]
    async fn a_tab_gives_the_files_of_its_folder_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("index.html"), "<p>").unwrap();
        let custom = InspectorTab {
            id: "mine".to_owned(),
            source: Some(folder.path().to_owned()),
            ..InspectorTab::default()
        };
        let hidden = InspectorTab {
            id: "state".to_owned(),
            hidden: true,
            ..InspectorTab::default()
        };
        let config = ActorConfig {
            inspector_tabs: vec![custom, hidden],
            ..ActorConfig::default()
        };
        let page = Asset::CustomTab("mine", "").serve(&config).await.unwrap();
        assert_eq!(page.headers()["cache-control"], "no-cache");
        for (id, path, row) in [
            ("mine", "x.js", &code::INSPECTOR_CUSTOM_TAB_ASSET_NOT_FOUND),
            ("mine", "../x", &code::INSPECTOR_INVALID_REQUEST),
            ("state", "", &code::INSPECTOR_CUSTOM_TAB_NOT_FOUND),
            ("other", "", &code::INSPECTOR_CUSTOM_TAB_NOT_FOUND),
        ] {
            let error = Asset::CustomTab(id, path)
                .serve(&config)
                .await
                .err()
                .unwrap();
            assert!(error.is(row), "{id}/{path}: {error}");
        }
    }
}
