/** The native module, loaded when it is first needed. */
import type { NativeModule } from "./registry-types";

let loaded: NativeModule | undefined;

export function nativeModule(): NativeModule {
  loaded ??= require("../../native.js") as NativeModule;
  return loaded;
}
