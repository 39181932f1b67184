/** The life of a connection: from its first attempt to its end, which is for good. */
import type { ActorConnStatus } from "../types";
import { type Listeners, newListeners } from "./listeners";

export interface Life {
  /** Fires when the connection is over, with the error of whatever is asked of it later. */
  readonly over: AbortSignal;
  /** Who listens to the connection itself: `open`, `close`, `error`, `status`. */
  readonly own: Listeners;
  readonly ready: Promise<void>;
  status: ActorConnStatus;
  actorId?: string;
  connectionId?: string;
  become(status: ActorConnStatus): void;
  opened(actorId: string, connectionId: string): void;
  /** Its socket is lost; it may get another. */
  closed(): void;
  end(error: unknown): void;
}

export function newLife(): Life {
  const controller = new AbortController();
  const over = controller.signal;
  const own = newListeners();
  let isOpen = false;
  let settleReady!: (error?: unknown) => void;
  const ready = new Promise<void>((resolve, reject) => {
    settleReady = (error) => (error ? reject(error) : resolve());
  });
  // Nobody has to wait for it.
  ready.catch(() => {});

  const life: Life = {
    over,
    own,
    ready,
    status: "idle",

    become(status: ActorConnStatus): void {
      if (status === life.status) return;
      life.status = status;
      own.emit("status", [status]);
    },

    opened(actorId: string, connectionId: string): void {
      life.actorId = actorId;
      life.connectionId = connectionId;
      isOpen = true;
      settleReady();
      life.become("connected");
      own.emit("open");
    },

    closed(): void {
      if (!isOpen) return;
      isOpen = false;
      own.emit("close");
    },

    end(error: unknown): void {
      if (over.aborted) return;
      controller.abort(error);
      settleReady(error);
      life.become("idle");
      life.closed();
    },
  };
  return life;
}
