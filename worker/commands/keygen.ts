import { resolve } from "node:path";
import { usage, type CommandContext } from "../command-line/command-context.ts";
import { makeKeyFile } from "../standalone/key-file.ts";

/** Implements `tidemark keygen FILE`: creates a key for --encrypt-key. Faults: BAD_INPUT, NO_SPACE, WRITE_FAILED. */
export async function makeKey({ operands, terminal }: Pick<CommandContext, "operands" | "terminal">): Promise<number> {
  const [file, extra] = operands;
  if (file === undefined || extra !== undefined) throw usage("keygen", "it takes one new file: tidemark keygen FILE");
  const path = resolve(file);
  const made = await makeKeyFile(path);
  const sentence = `Made a key in ${path} (fingerprint ${made.fingerprint}). Keep a copy away from this machine: without it nobody can read what it encrypts.`;
  terminal.result(sentence, { type: "key-made", path, ...made });
  return 0;
}
