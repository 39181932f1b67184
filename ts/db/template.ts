/** Statements as tagged templates: the values become parameters, never text. */
import type { SqlStatement } from "./types";

class Statement implements SqlStatement {
  readonly sql: string;
  readonly params: unknown[];

  constructor(sql: string, params: unknown[]) {
    this.sql = sql;
    this.params = params;
  }
}

/**
 * A statement, or a part of one: `` sql`select * from t where id = ${id}` ``. A
 * statement inside another becomes part of its text; any other value becomes a
 * parameter.
 */
export function sql(strings: TemplateStringsArray, ...values: unknown[]): SqlStatement {
  let text = strings[0] as string;
  const params: unknown[] = [];
  values.forEach((value, index) => {
    if (value instanceof Statement) {
      text += value.sql;
      params.push(...value.params);
    } else {
      text += "?";
      params.push(value);
    }
    text += strings[index + 1];
  });
  return new Statement(text, params);
}

/** The statement that the arguments of a call stand for; `undefined` for plain text. */
export function statementOf(query: unknown, args: unknown[]): SqlStatement | undefined {
  if (query instanceof Statement) return query;
  return isTemplate(query) ? sql(query, ...args) : undefined;
}

function isTemplate(query: unknown): query is TemplateStringsArray {
  return Array.isArray(query) && Array.isArray((query as { raw?: unknown }).raw as unknown);
}
