/**
 * `actor()`: checks a definition once, when it is written, and keeps what the
 * callbacks need in one ready form.
 */
import type { NoSchemas } from "../context/types";
import type { AnyDatabaseProvider } from "../db/types";
import { invalidDefinition } from "../errors/raised";
import { type ActionTable, compileActions } from "./actions";
import { rejectUnknown } from "./check";
import { type ActorOptions, checkOptions } from "./options";
import type { EventSchemaConfig, QueueSchemaConfig } from "./schema";
import { type CompiledSchema, compileSchema, isValidator, type StandardSchema } from "./schema";
import type { ActorConfigInput, ActorDefinition, AnyActorDefinition, InspectorTab } from "./types";

/** Any hook of a definition; its real type is checked where users write it. */
export type Hook = (...args: any[]) => any;

const HOOKS = [
  "createState",
  "createVars",
  "createConnState",
  "onMigrate",
  "onCreate",
  "onWake",
  "onBeforeActorStart",
  "onSleep",
  "onDestroy",
  "onStateChange",
  "onBeforeConnect",
  "onConnect",
  "onDisconnect",
  "onBeforeActionResponse",
  "onRequest",
  "onWebSocket",
] as const;

const VALUES = ["state", "vars", "connState", "db", "types"] as const;
const OTHERS = [
  "run",
  "actions",
  "actionInputSchemas",
  "connParamsSchema",
  "events",
  "queues",
  "options",
  "inspector",
] as const;
const KNOWN: readonly string[] = [...HOOKS, ...VALUES, ...OTHERS];
const EXCLUSIVE = [
  ["state", "createState"],
  ["vars", "createVars"],
  ["connState", "createConnState"],
] as const;

/** @internal A checked definition. */
export interface CompiledActor {
  readonly hooks: { readonly [K in (typeof HOOKS)[number] | "run"]?: Hook };
  readonly state: unknown;
  readonly vars: unknown;
  readonly connState: unknown;
  readonly hasState: boolean;
  readonly hasVars: boolean;
  readonly hasConnState: boolean;
  readonly db: AnyDatabaseProvider;
  readonly actions: ActionTable;
  readonly connParams: StandardSchema | undefined;
  readonly events: ReadonlyMap<string, CompiledSchema>;
  /** Undefined when the definition declares no queues at all. */
  readonly queues: ReadonlyMap<string, CompiledSchema> | undefined;
  readonly options: ActorOptions;
  readonly tabs: readonly InspectorTab[];
}

const compiledActors = new WeakMap<object, CompiledActor>();

/** Defines an actor. Unknown and contradictory options throw here, by name. */
export function actor<
  S = undefined,
  CP = undefined,
  CS = undefined,
  V = undefined,
  I = undefined,
  DB extends AnyDatabaseProvider = undefined,
  E extends EventSchemaConfig = NoSchemas,
  Q extends QueueSchemaConfig = NoSchemas,
  R extends object = NoSchemas,
>(config: ActorConfigInput<S, CP, CS, V, I, DB, E, Q, R>): ActorDefinition<S, CP, CS, V, I, DB, E, Q, R> {
  const definition = { config };
  compiledActors.set(definition, compile(config));
  return definition;
}

/** @internal The checked form of a definition; also of one made by hand. */
export function compiledActor(definition: AnyActorDefinition, name: string): CompiledActor {
  const known = compiledActors.get(definition);
  if (known !== undefined) return known;
  const config: unknown = definition?.config;
  if (typeof config !== "object" || config === null) {
    throw invalidDefinition(`use.${name}`, "must be what actor() returned");
  }
  const compiled = compile(config);
  compiledActors.set(definition, compiled);
  return compiled;
}

function compile(input: unknown): CompiledActor {
  if (typeof input !== "object" || input === null) throw invalidDefinition("actor()", "takes an object");
  const config = input as Record<string, unknown>;
  rejectUnknown(config, KNOWN, "");
  for (const [value, create] of EXCLUSIVE) {
    if (config[value] !== undefined && config[create] !== undefined) {
      throw invalidDefinition(value, `and ${create} exclude each other`);
    }
  }
  const run = compileRun(config.run);
  const options = config.options ?? {};
  checkOptions(options);
  return {
    hooks: { ...compileHooks(config), ...(run.run !== undefined && { run: run.run }) },
    state: config.state,
    vars: checkCloneable(config.vars),
    connState: config.connState,
    hasState: config.state !== undefined || config.createState !== undefined,
    hasVars: config.vars !== undefined || config.createVars !== undefined,
    hasConnState: config.connState !== undefined || config.createConnState !== undefined,
    db: compileDatabase(config.db),
    actions: compileActions(config.actions, config.actionInputSchemas),
    connParams: compileValidator("connParamsSchema", config.connParamsSchema),
    events: compileSchemas("events", config.events) ?? new Map(),
    queues: compileSchemas("queues", config.queues),
    options: { ...run.display, ...options },
    tabs: compileTabs(config.inspector),
  };
}

function compileHooks(config: Record<string, unknown>): Record<string, Hook> {
  const hooks: Record<string, Hook> = {};
  for (const name of HOOKS) {
    const hook = config[name];
    if (hook === undefined) continue;
    if (typeof hook !== "function") throw invalidDefinition(name, "must be a function");
    hooks[name] = hook as Hook;
  }
  return hooks;
}

/** `run` is a function or an object that adds a display name and icon to one. */
function compileRun(run: unknown): { run?: Hook; display: ActorOptions } {
  if (run === undefined) return { display: {} };
  if (typeof run === "function") return { run: run as Hook, display: {} };
  if (typeof run !== "object" || run === null) throw invalidDefinition("run", "must be a function");
  rejectUnknown(run, ["name", "icon", "run"], "run.");
  const { name, icon, run: inner } = run as { name?: string; icon?: string; run?: unknown };
  if (typeof inner !== "function") throw invalidDefinition("run.run", "must be a function");
  return { run: inner as Hook, display: { ...(name !== undefined && { name }), ...(icon !== undefined && { icon }) } };
}

/** A `vars` value is copied for every generation, so it must be copyable. */
function checkCloneable(vars: unknown): unknown {
  try {
    structuredClone(vars);
  } catch (error) {
    throw invalidDefinition("vars", `cannot be copied (${(error as Error).message}); use createVars`);
  }
  return vars;
}

function compileDatabase(db: unknown): AnyDatabaseProvider {
  if (db === undefined) return undefined;
  const { createClient, onMigrate } = (db ?? {}) as Record<string, unknown>;
  if (typeof createClient !== "function" || typeof onMigrate !== "function") {
    throw invalidDefinition("db", "must be db() or another provider with createClient and onMigrate");
  }
  return db as AnyDatabaseProvider;
}

function compileSchemas(option: string, schemas: unknown): Map<string, CompiledSchema> | undefined {
  if (schemas === undefined) return undefined;
  if (typeof schemas !== "object" || schemas === null) throw invalidDefinition(option, "must be an object");
  return new Map(Object.entries(schemas).map(([name, schema]) => [name, compileSchema(`${option}.${name}`, schema)]));
}

function compileValidator(option: string, schema: unknown): StandardSchema | undefined {
  if (schema === undefined || isValidator(schema)) return schema;
  throw invalidDefinition(option, "must be a Standard Schema validator");
}

function compileTabs(inspector: unknown): readonly InspectorTab[] {
  if (inspector === undefined) return [];
  if (typeof inspector !== "object" || inspector === null) throw invalidDefinition("inspector", "must be an object");
  rejectUnknown(inspector, ["tabs"], "inspector.");
  const { tabs = [] } = inspector as { tabs?: unknown };
  if (!Array.isArray(tabs)) throw invalidDefinition("inspector.tabs", "must be an array");
  return tabs as InspectorTab[];
}
