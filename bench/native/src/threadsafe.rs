//! The least a call from a native runtime into JavaScript and back can cost.

use std::sync::Arc;

use napi::bindgen_prelude::{Buffer, Function, Promise};
use napi::threadsafe_function::ThreadsafeFunction;
use napi::{Result, Status};
use napi_derive::napi;

type Callback = ThreadsafeFunction<Buffer, Promise<Buffer>, Buffer, Status, false, true>;

#[napi]
pub struct ThreadsafeCall {
    callback: Arc<Callback>,
}

#[napi]
impl ThreadsafeCall {
    #[napi(constructor)]
    pub fn new(callback: Function<Buffer, Promise<Buffer>>) -> Result<Self> {
        let callback = callback
            .build_threadsafe_function()
            .weak::<true>()
            .build()?;
        Ok(Self {
            callback: Arc::new(callback),
        })
    }

    /// JavaScript → runtime → the callback's promise → JavaScript.
    #[napi]
    pub async fn call(&self, payload: Buffer) -> Result<Buffer> {
        self.callback.call_async(payload).await?.await
    }

    /// `calls` times runtime → the callback's promise → runtime, one after the
    /// other, without the way in and out that `call` has.
    #[napi]
    pub async fn drive(&self, calls: u32) -> Result<()> {
        for _ in 0..calls {
            let payload = Buffer::from(vec![0x81, 0x01]);
            self.callback.call_async(payload).await?.await?;
        }
        Ok(())
    }
}
