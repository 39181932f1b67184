//! Lists of texts that go to JavaScript again and again, such as the names of a
//! result's columns: made once per environment, then found by their address.

use std::cell::RefCell;
use std::sync::Arc;

use napi::sys;

use super::fault::JsResult;
use super::raw;
use super::scope::{Scope, Value};

/// Lists kept per environment, about as many as one actor has statements.
const KEPT_MAX: usize = 64;

/// Most recently used last. The address of a list means nothing else while the
/// list is kept here.
#[derive(Default)]
pub(super) struct KeptTexts(RefCell<Vec<Kept>>);

struct Kept {
    texts: Arc<[String]>,
    array: sys::napi_ref,
}

impl KeptTexts {
    fn find(&self, texts: &Arc<[String]>) -> Option<sys::napi_ref> {
        let mut all = self.0.borrow_mut();
        let at = all
            .iter()
            .rposition(|kept| Arc::ptr_eq(&kept.texts, texts))?;
        let last = all.len() - 1;
        all.swap(at, last);
        Some(all[last].array)
    }

    /// Returns the array that had to go.
    fn keep(&self, texts: Arc<[String]>, array: sys::napi_ref) -> Option<sys::napi_ref> {
        let mut all = self.0.borrow_mut();
        let gone = (all.len() >= KEPT_MAX).then(|| all.remove(0).array);
        all.push(Kept { texts, array });
        gone
    }
}

impl<'s> Scope<'s> {
    /// A new array of the texts.
    pub(crate) fn texts(&self, texts: &[String]) -> JsResult<Value<'s>> {
        let array = self.array(texts.len())?;
        for (at, text) in texts.iter().enumerate() {
            self.set_element(array, at as u32, self.text(text)?)?;
        }
        Ok(array)
    }

    /// A frozen array of the texts, the same one for the same list while that is in
    /// use.
    pub(crate) fn shared_texts(&self, texts: &Arc<[String]>) -> JsResult<Value<'s>> {
        if let Some(array) = self.side.texts().find(texts) {
            return raw::deref(self.env, array).map(|v| self.value(v));
        }
        let array = self.texts(texts)?;
        let freeze = self.prelude(|p| p.freeze)?;
        self.call(freeze, &[array])?;
        // A list that nobody else holds will not come again.
        if Arc::strong_count(texts) > 1 {
            let reference = raw::reference(self.env, array.raw, 1)?;
            if let Some(gone) = self.side.texts().keep(Arc::clone(texts), reference) {
                raw::delete_reference(self.env, gone)?;
            }
        }
        Ok(array)
    }
}
