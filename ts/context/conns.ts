/** Connections as user code sees them, and the table of those in use. */
import { callNative, fromNativePromise } from "../errors/bridge";
import { connStateNotEnabled } from "../errors/raised";
import type { NativeConn } from "../native/types";
import { encodeEvent } from "./actor-context";
import type { ActorRuntime } from "./runtime";
import { StateCell } from "./state-cell";

export class ConnImpl {
  readonly id: string;
  readonly #runtime: ActorRuntime;
  readonly #native: NativeConn;
  readonly #cell: StateCell;
  #params: { value: unknown } | undefined;
  #initialState: Uint8Array | undefined;
  #changed = false;

  constructor(runtime: ActorRuntime, native: NativeConn) {
    this.id = native.id();
    this.#runtime = runtime;
    this.#native = native;
    this.#cell = new StateCell("conn.state", () => this.#storedState(), {
      beforeChange: () => runtime.stateTransactions.checkChange(),
      changed: () => {
        if (this.#changed) return;
        this.#changed = true;
        runtime.conns.changed(this);
      },
    });
  }

  get params(): unknown {
    this.#params ??= { value: this.#runtime.decode(this.#native.params()) };
    return this.#params.value;
  }

  get state(): unknown {
    this.#requireState();
    return this.#cell.view;
  }

  set state(value: unknown) {
    this.#requireState();
    this.#cell.replace(value);
  }

  get isHibernatable(): boolean {
    return this.#native.isHibernatable();
  }

  send(name: string, ...args: unknown[]): void {
    const encoded = encodeEvent(this.#runtime, name, args);
    this.#runtime.emit(() => this.#native.send(name, encoded));
  }

  async disconnect(reason?: string): Promise<void> {
    await fromNativePromise(() => this.#native.disconnect(reason));
  }

  /** The first state, encoded, from `createConnState`. */
  initialize(state: Uint8Array): void {
    this.#initialState = state;
  }

  /** Params after validation, which may have changed them. */
  acceptParams(value: unknown): void {
    this.#params = { value };
  }

  /** Hands a changed state to native code, which stores it if the socket hibernates. */
  flush(): void {
    if (!this.#changed) return;
    this.#changed = false;
    try {
      this.#native.setState(this.#runtime.services.codec.encode(this.#cell.raw, "conn.state"));
    } catch (error) {
      // Reached only by changes behind the proxies' back: they check earlier.
      this.#runtime.log.error({ msg: "connection state could not be stored", connId: this.id, error });
    }
  }

  /** The state of this moment, encoded. */
  encoded(): Uint8Array {
    this.flush();
    return this.#native.state();
  }

  /** Makes an earlier state the state again. */
  restore(bytes: Uint8Array): void {
    this.#changed = false;
    this.#cell.reset();
    this.#native.setState(bytes);
  }

  #storedState(): unknown {
    const bytes = this.#initialState ?? this.#native.state();
    this.#initialState = undefined;
    return this.#runtime.services.codec.decode(bytes);
  }

  #requireState(): void {
    if (!this.#runtime.services.definition.hasConnState) throw connStateNotEnabled();
  }
}

/** Below this size the table is not searched for leftovers. */
const SWEEP_FROM = 64;

/**
 * Keeps one object per connection where the actor is told about disconnects; the
 * entry leaves with the connection. Elsewhere connections have no state, so a
 * fresh object each time will do.
 */
export class ConnTable {
  readonly #runtime: ActorRuntime;
  readonly #kept: Map<string, ConnImpl> | undefined;
  /** Connections whose hooks are running: not in the native list yet. */
  readonly #opening = new Set<string>();
  /** Connections whose state has changed since it was handed to native code. */
  #changed: ConnImpl[] = [];
  #turn: NodeJS.Immediate | undefined;
  #sweepAt = SWEEP_FROM;

  constructor(runtime: ActorRuntime) {
    this.#runtime = runtime;
    this.#kept = hearsDisconnects(runtime.services.definition) ? new Map() : undefined;
  }

  /** The object of a native connection. */
  of(native: NativeConn): ConnImpl {
    if (this.#kept === undefined) return new ConnImpl(this.#runtime, native);
    const id = native.id();
    const known = this.#kept.get(id);
    if (known !== undefined) return known;
    this.#sweep();
    const conn = new ConnImpl(this.#runtime, native);
    this.#kept.set(id, conn);
    return conn;
  }

  all(): ReadonlyMap<string, ConnImpl> {
    const open = callNative(() => this.#runtime.native.conns());
    return new Map(open.map((native) => [native.id(), this.of(native)]));
  }

  /** Runs a hook of an opening connection; a failure forgets the connection. */
  async opening<T>(conn: ConnImpl, hook: () => T | Promise<T>): Promise<T> {
    this.#opening.add(conn.id);
    try {
      return await hook();
    } catch (error) {
      this.forget(conn.id);
      throw error;
    } finally {
      this.#opening.delete(conn.id);
    }
  }

  forget(id: string): void {
    this.#kept?.delete(id);
  }

  /** Entries kept, of open and opening connections. */
  get size(): number {
    return this.#kept?.size ?? 0;
  }

  /** Notes a change; native code hears of it once this turn of the event loop is over. */
  changed(conn: ConnImpl): void {
    this.#changed.push(conn);
    this.#turn ??= setImmediate(() => this.flush());
  }

  /** Hands all changed connection states to native code now. */
  flush(): void {
    if (this.#turn === undefined) return;
    clearImmediate(this.#turn);
    this.#turn = undefined;
    const changed = this.#changed;
    this.#changed = [];
    for (const conn of changed) conn.flush();
  }

  /**
   * Remembers the states of all connections that may outlive the actor's sleep.
   * One that is opening has none yet, and keeps what it will get.
   */
  snapshot(): { bytesOf(id: string): Uint8Array | undefined; restore(): void } {
    const kept = [...(this.#kept?.values() ?? [])].filter((conn) => conn.isHibernatable && !this.#opening.has(conn.id));
    const states = new Map(kept.map((conn) => [conn.id, { conn, bytes: conn.encoded() }]));
    return {
      bytesOf: (id) => states.get(id)?.bytes,
      restore: () => {
        for (const { conn, bytes } of states.values()) conn.restore(bytes);
      },
    };
  }

  /**
   * Connections that fail to open in native code (a hook's timeout) leave without
   * a word; now and then entries are checked against the native list.
   */
  #sweep(): void {
    if (this.#kept === undefined || this.#kept.size < this.#sweepAt) return;
    const open = new Set(this.#runtime.native.conns().map((native) => native.id()));
    for (const id of this.#kept.keys()) {
      if (!open.has(id) && !this.#opening.has(id)) this.#kept.delete(id);
    }
    this.#sweepAt = Math.max(SWEEP_FROM, this.#kept.size * 2);
  }
}

/** Whether native code is to report disconnects of an actor's connections. */
export function hearsDisconnects(definition: ActorRuntime["services"]["definition"]): boolean {
  const { hooks, hasConnState, options } = definition;
  return hooks.onDisconnect !== undefined || hasConnState || options.canHibernateWebSocket === true;
}
