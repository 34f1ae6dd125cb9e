import { readFileSync } from "node:fs";
import { remainsOfEnvFile } from "#protocol/base/env-remains.ts";
import { Fault } from "#protocol/faults/fault.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** Returns the value of a variable; null where it is missing or empty. */
export const textOf = (variables: Variables, name: string): string | null => {
  const text = variables[name]?.trim();
  return text === undefined || text === "" ? null : text;
};

/** Returns a value that has no remains of an env file. @throws Fault BAD_INPUT without the value */
export function assertPlain(name: string, text: string, kind: "text" | "key" | "file of a key"): string {
  const found = remainsOfEnvFile(text, { name, kind });
  if (found !== null) throw new Fault("BAD_INPUT", { subject: name, detail: `its value ${found}; take that out` });
  return text;
}

function readSecretFile(name: string, file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new Fault("READ_FAILED", { op: `${name}_FILE`, subject: file, cause });
  }
}

/** Returns a secret from its variable, or from the file that `NAME_FILE` names. @throws Fault BAD_INPUT, READ_FAILED */
export function readSecret(variables: Variables, name: string): string | null {
  const file = textOf(variables, `${name}_FILE`);
  if (file === null) return textOf(variables, name);
  return assertPlain(`${name}_FILE`, readSecretFile(name, file), "file of a key");
}
