/** The life of a connection: from its first attempt to its end, which is for good. */
import type { ActorConnStatus } from "../types";
import { Listeners } from "./listeners";

export class Life {
  /** Fires when the connection is over, with the error of whatever is asked of it later. */
  readonly over: AbortSignal;
  /** Who listens to the connection itself: `open`, `close`, `error`, `status`. */
  readonly own = new Listeners();
  readonly ready: Promise<void>;
  status: ActorConnStatus = "idle";
  actorId: string | undefined;
  connectionId: string | undefined;
  readonly #over = new AbortController();
  #isOpen = false;
  #settleReady!: (error?: unknown) => void;

  constructor() {
    this.over = this.#over.signal;
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = (error) => (error ? reject(error) : resolve());
    });
    // Nobody has to wait for it.
    this.ready.catch(() => {});
  }

  become(status: ActorConnStatus): void {
    if (status === this.status) return;
    this.status = status;
    this.own.emit("status", [status]);
  }

  opened(actorId: string, connectionId: string): void {
    this.actorId = actorId;
    this.connectionId = connectionId;
    this.#isOpen = true;
    this.#settleReady();
    this.become("connected");
    this.own.emit("open");
  }

  closed(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.own.emit("close");
  }

  end(error: unknown): void {
    if (this.over.aborted) return;
    this.#over.abort(error);
    this.#settleReady(error);
    this.become("idle");
    this.closed();
  }
}
