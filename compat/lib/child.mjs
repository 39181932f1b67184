// Programs in processes of their own, which say a word when they are ready and
// end when they are told to stop.

import { fork } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";

/** Starts the program and waits for its first message; fails if it ends before. */
export async function startChild(path, args, options) {
  const child = fork(path, args, { execArgv: [], ...options });
  const ended = once(child, "exit");
  const [message] = await Promise.race([
    once(child, "message"),
    ended.then(([code]) => {
      throw new Error(`${basename(path)} ended with exit code ${code} before it was ready`);
    }),
  ]);
  return {
    message,
    /** Ends it the orderly way and resolves with its exit code. */
    async stop() {
      if (child.connected) child.send("stop");
      const [code] = await ended;
      return code;
    },
    /** Ends it as a power failure would. */
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
