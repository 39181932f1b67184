//! Sub-objects: cheap new wrappers at each call.

use napi_derive::napi;

use super::ActorContext;
use crate::kv::Kv;
use crate::queue::Queue;
use crate::schedule::Schedule;
use crate::sql::JsNativeDatabase;

#[napi]
impl ActorContext {
    #[napi(catch_unwind)]
    pub fn kv(&self) -> Kv {
        Kv::new(self.shared.clone())
    }

    #[napi(catch_unwind)]
    pub fn sql(&self) -> JsNativeDatabase {
        JsNativeDatabase::new(self.shared.clone())
    }

    #[napi(catch_unwind)]
    pub fn schedule(&self) -> Schedule {
        Schedule::new(self.shared.clone())
    }

    #[napi(catch_unwind)]
    pub fn queue(&self) -> Queue {
        Queue::new(self.shared.clone())
    }
}
