/**
 * The default logger of actors: one line per entry on standard error, in logfmt.
 *
 * Level: `RIVET_LOG_LEVEL`, `LOG_LEVEL`, then `warn`. A program that wants more
 * hands its own logger to `setup({ logging: { baseLogger } })`.
 */
import type { ActorLogger, LogLevel } from "./service-types";

const LEVELS: readonly LogLevel[] = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];

export type LogSink = (line: string) => void;

export function defaultLogger(level: LogLevel = environmentLevel(), sink: LogSink = toStderr): ActorLogger {
  return new LineLogger({ level }, {}, sink);
}

/** A log that cannot be written, on a full disk say, must not end the process. */
function toStderr(line: string): void {
  const { stderr } = process;
  stderr.write(line, (error) => {
    if (error != null && stderr.listenerCount("error") === 0) stderr.once("error", () => {});
  });
}

function environmentLevel(): LogLevel {
  const text = (process.env.RIVET_LOG_LEVEL ?? process.env.LOG_LEVEL ?? "").toLowerCase();
  // The native logger's word for it.
  const asked = text === "off" ? "silent" : text;
  return LEVELS.includes(asked as LogLevel) ? (asked as LogLevel) : "warn";
}

class LineLogger implements ActorLogger {
  /** Shared with the loggers made from this one, so that a change reaches them. */
  readonly #shared: { level: string };
  readonly #fields: Record<string, unknown>;
  readonly #sink: LogSink;

  constructor(shared: { level: string }, fields: Record<string, unknown>, sink: LogSink) {
    this.#shared = shared;
    this.#fields = fields;
    this.#sink = sink;
  }

  get level(): string {
    return this.#shared.level;
  }

  set level(level: string) {
    this.#shared.level = level;
  }

  // Fields, not methods: `const { info } = c.log` must work.
  readonly trace = this.#method("trace");
  readonly debug = this.#method("debug");
  readonly info = this.#method("info");
  readonly warn = this.#method("warn");
  readonly error = this.#method("error");
  readonly fatal = this.#method("fatal");

  child(fields: Record<string, unknown>): ActorLogger {
    return new LineLogger(this.#shared, { ...this.#fields, ...fields }, this.#sink);
  }

  #method(level: LogLevel) {
    return (entry: Record<string, unknown> | string, message?: string): void => {
      if (LEVELS.indexOf(level) < LEVELS.indexOf(this.level as LogLevel)) return;
      const fields =
        typeof entry === "string" ? { msg: entry } : { ...entry, ...(message !== undefined && { msg: message }) };
      const { msg, ...rest } = fields as { msg?: unknown };
      this.#sink(`${line({ ts: new Date().toISOString(), level, message: msg, ...this.#fields, ...rest })}\n`);
    };
  }
}

function line(fields: Record<string, unknown>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${quoted(text(value))}`)
    .join(" ");
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack ?? String(value);
  if (typeof value === "bigint") return value.toString();
  try {
    return JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? inner.toString() : inner)) ?? String(value);
  } catch {
    // A logger must not fail on what it is given.
    return String(value);
  }
}

function quoted(value: string): string {
  return /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value);
}
