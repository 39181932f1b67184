/** The actions of a definition, flattened: `{ grp: { sub } }` becomes `grp.sub`. */
import { isPlainObject } from "../common/plain";
import { invalidDefinition } from "../errors/raised";
import type { Hook } from "./actor";
import { isValidator, type StandardSchema } from "./schema";

export interface CompiledAction {
  readonly name: string;
  readonly run: Hook;
  /** Checks the array of arguments. */
  readonly input: StandardSchema | undefined;
}

export type ActionTable = ReadonlyMap<string, CompiledAction>;

export function compileActions(actions: unknown, inputSchemas: unknown): ActionTable {
  const schemas = new Map<string, StandardSchema>();
  if (inputSchemas !== undefined) {
    flatten(inputSchemas, "actionInputSchemas", "a Standard Schema validator", (name, schema, option) => {
      if (!isValidator(schema)) return false;
      if (schemas.has(name)) throw invalidDefinition(option, `is a second schema of the action ${name}`);
      schemas.set(name, schema);
      return true;
    });
  }
  const table = new Map<string, CompiledAction>();
  if (actions !== undefined) {
    flatten(actions, "actions", "a function", (name, run, option) => {
      if (typeof run !== "function") return false;
      if (table.has(name)) throw invalidDefinition(option, `is a second action called ${name}`);
      table.set(name, { name, run: run as Hook, input: schemas.get(name) });
      return true;
    });
  }
  for (const name of schemas.keys()) {
    if (!table.has(name)) throw invalidDefinition(`actionInputSchemas.${name}`, "belongs to no action");
  }
  return table;
}

/** Visits the leaves of a nested object; `leaf` says whether a value is one. */
function flatten(
  tree: unknown,
  option: string,
  expected: string,
  leaf: (name: string, value: unknown, option: string) => boolean,
  prefix = "",
): void {
  if (!isPlainObject(tree)) throw invalidDefinition(option, `must be ${expected} or an object of them`);
  for (const [key, value] of Object.entries(tree)) {
    const name = prefix + key;
    if (leaf(name, value, `${option}.${key}`)) continue;
    flatten(value, `${option}.${key}`, expected, leaf, `${name}.`);
  }
}
