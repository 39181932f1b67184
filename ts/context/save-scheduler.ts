/**
 * Turns changes of the state into save requests and `onStateChange` calls: both
 * once per turn of the event loop, however many fields were written.
 *
 * Invariant: after a change there is always a save request to come, unless one
 * was made after it. That request sets the native dirty bit, so a change is never
 * lost between two saves.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { stateMutationReentrant } from "../errors/raised";
import type { NativeContext, SaveRequest, StateDelta } from "../native/types";
import type { Watcher } from "./write-through";

/** The `onStateChange` call that an async context belongs to, while it runs. */
const running = new AsyncLocalStorage<Call>();

interface Call {
  readonly owner: SaveScheduler;
  active: boolean;
}

/** The state whose changes are saved and reported. */
export interface SavedState {
  /** Throws if the calling code may not change it now. */
  check(): void;
  /** What to store now. */
  delta(): StateDelta;
  /** True while a transaction may still take it back: who waits for changes hears of them later. */
  isUndecided(): boolean;
}

export interface StateChangeHook {
  readonly call: () => unknown;
  /** Known to be an async function; others are found out at their first call. */
  readonly isAsync: boolean;
}

export class SaveScheduler implements Watcher {
  readonly #native: NativeContext;
  readonly #onStateChange: (() => unknown) | undefined;
  readonly #onError: (error: unknown) => void;
  readonly #state: SavedState;
  #changes = 0;
  /** Value of `#changes` at the latest save request. */
  #requested = 0;
  /** Value of `#changes` at the latest `onStateChange`. */
  #reported = 0;
  /** Saves that somebody waits for. */
  #waiting = 0;
  /** Calls of `onStateChange` that have not ended. */
  #reports = 0;
  #turn: NodeJS.Immediate | undefined;
  /** Inside the synchronous part of `onStateChange`. */
  #reporting = false;
  /** `onStateChange` goes on asynchronously, so its context must be followed. */
  #async = false;

  constructor(
    native: NativeContext,
    hook: StateChangeHook | undefined,
    onError: (error: unknown) => void,
    state: SavedState,
  ) {
    this.#state = state;
    this.#native = native;
    this.#onStateChange = hook?.call;
    this.#async = hook?.isAsync ?? false;
    this.#onError = onError;
  }

  beforeChange(): void {
    this.#state.check();
    if (this.#reporting) throw stateMutationReentrant();
    if (!this.#async) return;
    const call = running.getStore();
    if (call?.owner === this && call.active) throw stateMutationReentrant();
  }

  changed(): void {
    this.#changes++;
    this.#turn ??= setImmediate(() => this.look());
  }

  /** As {@link flush}, for when nobody is there who could be told of an error. */
  look(): void {
    try {
      this.flush();
    } catch (error) {
      this.#onError(error);
    }
  }

  /** Asks for a save that covers all changes so far. */
  request(options: SaveRequest): void {
    this.#requested = this.#changes;
    this.#native.requestSave(options);
  }

  /** As {@link request}; resolves when those changes are on disk. */
  async requestAndWait(options: SaveRequest): Promise<void> {
    this.#requested = this.#changes;
    const alone = this.#waiting++ === 0;
    try {
      if (alone && options.immediate === true && this.#reports === 0) await this.#saveNow();
      else await this.#native.requestSaveAndWait(options);
    } finally {
      this.#waiting--;
    }
  }

  /**
   * Takes the state along instead of being asked for it: the short way to the disk
   * for a save that has none to share it with.
   */
  async #saveNow(): Promise<void> {
    if (this.#state.isUndecided()) return this.#native.requestSaveAndWait({ immediate: true });
    const delta = this.#takeDelta();
    try {
      await this.#native.saveState(delta);
    } catch {
      // As any failed save: tried again at the save interval, and waited for.
      await this.#native.requestSaveAndWait({ immediate: false });
    }
  }

  /** A state that cannot be encoded now is asked for again, as after any failed save. */
  #takeDelta(): StateDelta {
    try {
      return this.#state.delta();
    } catch (error) {
      this.#native.requestSave({ immediate: true });
      throw error;
    }
  }

  /** Asks for a save if there are changes that no request covers yet. */
  requestPending(): void {
    if (this.#requested !== this.#changes) this.request({ immediate: false });
  }

  /** Does at once what the end of this turn would bring. */
  flush(): void {
    if (this.#turn !== undefined) clearImmediate(this.#turn);
    this.#turn = undefined;
    this.requestPending();
    if (this.#reported === this.#changes || this.#state.isUndecided()) return;
    this.#reported = this.#changes;
    if (this.#onStateChange !== undefined) void this.#report(this.#onStateChange);
  }

  /** While it runs, also asynchronously, the actor neither sleeps nor saves for the last time. */
  async #report(onStateChange: () => unknown): Promise<void> {
    const call = { owner: this, active: true };
    this.#reports++;
    this.#native.beginOnStateChange();
    try {
      await this.#begin(onStateChange, call);
    } catch (error) {
      this.#onError(error);
    } finally {
      call.active = false;
      this.#reports--;
      this.#native.endOnStateChange();
    }
  }

  #begin(onStateChange: () => unknown, call: Call): unknown {
    this.#reporting = true;
    try {
      // Following async contexts slows every promise of the process down on older
      // versions of Node: only for hooks that are asynchronous.
      const result = this.#async ? running.run(call, onStateChange) : onStateChange();
      this.#async ||= result instanceof Promise;
      return result;
    } finally {
      this.#reporting = false;
    }
  }
}
