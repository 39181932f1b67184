/**
 * Saving when a program runs out of things to do.
 *
 * A program that never shuts its registry down ends when the event loop is empty;
 * that is the last moment to drain actors, and the drain itself keeps the process
 * alive until all is on disk. One listener serves all registries of a thread. No
 * signal is handled, and `process.exit()` skips this: both are the program's own.
 */
type Close = () => Promise<void>;

const open = new Set<Close>();

export function closeBeforeExit(close: Close): void {
  if (open.size === 0) process.once("beforeExit", closeAll);
  open.add(close);
}

export function forget(close: Close): void {
  if (open.delete(close) && open.size === 0) process.removeListener("beforeExit", closeAll);
}

function closeAll(): void {
  for (const close of [...open]) {
    forget(close);
    close().catch((error: unknown) => {
      process.stderr.write(
        `greenroom: shutting down failed: ${error instanceof Error ? error.stack : String(error)}\n`,
      );
      process.exitCode = 1;
    });
  }
}
