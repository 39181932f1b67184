/** The test kit: a registry's actors on a folder and a clock of their own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clientOver } from "../client/client";
import type { Client } from "../client/types";
import { jsCodec } from "../codec/index";
import { rejectUnknown } from "../define/check";
import { fromNativePromise } from "../errors/bridge";
import { invalidOption } from "../errors/raised";
import { nativeModule } from "../native/load";
import type { NativeRegistry } from "../native/registry-types";
import { LocalTransport } from "../registry/local-transport";
import { type Actors, hostOf, Registry } from "../registry/registry";
import { type Duration, milliseconds } from "./duration";

export interface TestKitOptions {
  /** `manual`: time moves only by {@link TestKit.advance}. Default `real`. */
  clock?: "real" | "manual";
  /** Where a manual clock starts, in milliseconds since 1970. Default: now. */
  startAt?: number | Date;
  /** An existing folder instead of a temporary one; it is kept at the end. */
  dataDir?: string;
}

/** Something that knows which actor it leads to: any handle. */
export interface Resolvable {
  resolve(): Promise<string>;
}

export class TestKit<A extends Actors> {
  /** Calls the actors without a socket. Stays good over {@link crash}. */
  readonly client: Client<Registry<A>>;
  /** Where everything is stored. */
  readonly dataDir: string;
  readonly #make: (startMs: number | undefined) => Registry<A>;
  readonly #isManual: boolean;
  readonly #isTemporary: boolean;
  #registry: Registry<A>;
  #disposed: Promise<void> | undefined;

  /** @internal Use {@link createTestKit}. */
  constructor(registry: Registry<A>, { clock = "real", startAt, dataDir }: TestKitOptions) {
    this.#isManual = clock === "manual";
    this.#isTemporary = dataDir === undefined;
    this.dataDir = dataDir ?? mkdtempSync(join(tmpdir(), "greenroom-test-"));
    const config = {
      ...registry.config,
      // Not what the registry or the environment says: tests share neither.
      dataDir: this.dataDir,
      endpoint: "http://127.0.0.1",
      host: "127.0.0.1",
      port: 0,
      logging: { level: "silent" as const, ...registry.config.logging },
    };
    this.#make = (startMs) => {
      const deps = { native: nativeModule, codec: jsCodec };
      return new Registry<A>(config, this.#isManual ? { ...deps, manualClock: { startMs } } : deps);
    };
    this.#registry = this.#make(startAt === undefined ? undefined : Number(startAt));
    this.client = clientOver(new LocalTransport(() => this.#open(), { codec: jsCodec, native: nativeModule }));
  }

  /** The registry that runs the actors now; another one after {@link crash}. */
  get registry(): Registry<A> {
    return this.#registry;
  }

  /** The actors' time, in milliseconds since 1970. */
  async now(): Promise<number> {
    return (await this.#open()).clockNow();
  }

  /**
   * Moves the manual clock. Everything that falls due on the way (sleep timers,
   * saves, schedules, cron jobs, timeouts) happens in order, each at its own
   * time, and has come to rest when this resolves.
   */
  async advance(span: Duration): Promise<void> {
    if (!this.#isManual) throw invalidOption("clock", 'must be "manual" for advance()');
    const ms = milliseconds(span);
    const registry = await this.#open();
    await fromNativePromise(() => registry.advanceClock(ms));
  }

  /**
   * Drops an actor from memory, without hooks and without a save: what was not
   * on disk is gone. The next call starts it again.
   */
  async evict(actor: Resolvable | string): Promise<void> {
    const id = typeof actor === "string" ? actor : await actor.resolve();
    const registry = await this.#open();
    await fromNativePromise(() => registry.evict(id));
  }

  /**
   * Ends everything as a crash of the process would, and opens the same folder
   * again. A manual clock goes on where it stood.
   */
  async crash(): Promise<void> {
    const now = this.#isManual ? await this.now() : undefined;
    await hostOf(this.#registry).crash();
    this.#registry = this.#make(now);
    await this.#open();
  }

  /** Shuts the actors down and removes the temporary folder. Idempotent. */
  dispose(): Promise<void> {
    this.#disposed ??= this.#dispose();
    return this.#disposed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #dispose(): Promise<void> {
    await (this.#isManual ? this.#shutdownByHand() : this.#registry.shutdown());
    if (this.#isTemporary) rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** Grace periods are the clock's, too: it moves until everything is over. */
  async #shutdownByHand(): Promise<void> {
    const registry = await this.#open();
    let isOver = false;
    const over = this.#registry.shutdown().finally(() => {
      isOver = true;
    });
    try {
      while (!isOver) await fromNativePromise(() => registry.advanceClock(1_000));
    } catch {
      // It ended in the meantime, and its clock with it.
    }
    await over;
  }

  #open(): Promise<NativeRegistry> {
    return hostOf(this.#registry).open();
  }
}

/**
 * Runs the actors of a registry for a test: in a temporary folder, without a
 * port, beside any number of other kits. The registry itself is not started.
 */
export async function createTestKit<A extends Actors>(
  registry: Registry<A>,
  options: TestKitOptions = {},
): Promise<TestKit<A>> {
  rejectUnknown(options, ["clock", "startAt", "dataDir"], "", invalidOption);
  const { clock } = options;
  if (clock !== undefined && clock !== "real" && clock !== "manual") {
    throw invalidOption("clock", 'must be "real" or "manual"');
  }
  if (options.startAt !== undefined && !(Number(options.startAt) >= 0)) {
    throw invalidOption("startAt", "must be a Date or milliseconds since 1970");
  }
  const kit = new TestKit(registry, options);
  try {
    // Opens the folder now, so that what is wrong with it is said here.
    await kit.now();
  } catch (error) {
    await kit.dispose();
    throw error;
  }
  return kit;
}
