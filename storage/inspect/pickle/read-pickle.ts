import { createPickleBytes, RAN_OUT } from "./pickle-bytes.ts";
import { OPCODES, type PickleMachine } from "./pickle-opcodes.ts";
import { createPickleStack } from "./pickle-stack.ts";
import type { PickleValue } from "./pickle-value.ts";
import { tooMuch } from "../source.ts";

/**
 * Reads a pickle without executing it. A pickle is a program for a stack machine. This machine builds lists,
 * dictionaries, numbers and texts, and records which callable *would have been* called with which arguments. It imports,
 * calls and looks up nothing, so a hostile file has no effect. `torch-values.ts` interprets the records by a list of
 * known names. The opcodes are in `pickle-opcodes.ts`.
 */

const MOST_OPCODES = 4_000_000;
const STOP = 0x2e;

/**
 * Reads one pickle that begins at `start`; null when it does not end within `bytes`.
 * @throws Fault MALFORMED, TOO_MUCH_INSIDE
 */
export function readPickle(bytes: Uint8Array, start = 0): { value: PickleValue; end: number } | null {
  const read = createPickleBytes(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), start);
  try {
    return run({ read, stack: createPickleStack() });
  } catch (error) {
    if (error === RAN_OUT) return null;
    throw error;
  }
}

function run(machine: PickleMachine): { value: PickleValue; end: number } {
  const { read, stack } = machine;
  for (let opcodes = 0; opcodes < MOST_OPCODES; opcodes++) {
    const opcode = read.u8();
    if (opcode === STOP) return { value: stack.pop(), end: read.at() };
    OPCODES[opcode]?.(machine);
  }
  throw tooMuch(`its pickle has more than ${MOST_OPCODES} steps`);
}
