// `lib/client/browser.mjs` and its parts: the client for browsers, for pages that
// have no bundler, too.

import { rm } from "node:fs/promises";
import { bundleBrowserClient } from "./lib/browser-bundle.mjs";

// Parts are named by what is in them: older ones would stay.
await rm("lib/client/browser", { recursive: true, force: true });
await bundleBrowserClient({ write: true });
