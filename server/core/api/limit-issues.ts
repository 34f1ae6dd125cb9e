import * as z from "zod";
import { stopAtFirstIssue } from "#protocol/base/bounded.ts";
import { takeParsed } from "./parsed-elsewhere.ts";

/** The part of tRPC's internals that holds a router's input schemas. */
interface Definition {
  procedures: Record<string, { _def: { inputs: readonly unknown[] } }>;
}

/** Returns every input schema of a router, each once, with the procedures that read it. */
export function inputsOf(router: object): Map<z.ZodType, string[]> {
  const { procedures } = Reflect.get(router, "_def") as Definition;
  const found = new Map<z.ZodType, string[]>();
  for (const [path, { _def }] of Object.entries(procedures)) {
    for (const schema of _def.inputs) {
      if (!(schema instanceof z.ZodType)) throw new TypeError(`the input of ${path} is no zod schema`);
      found.set(schema, [...(found.get(schema) ?? []), path]);
    }
  }
  return found;
}

/**
 * Makes every procedure stop at the first invalid element of its input, and accept inputs that a thread has already parsed.
 * An issue costs a hundred times as much as the bytes behind it. Half a million issues would block the hub for eight seconds.
 */
export function limitIssues(router: object): void {
  for (const schema of inputsOf(router).keys()) {
    stopAtFirstIssue(schema);
    takeParsed(schema);
  }
}
